/**
 * The durable render queue: a row until it is done. What is about to be taken is held in memory, a little of each line, so that
 * `poll` never waits; what was delivered is known in memory only, so that all that is not done is delivered again after a restart.
 */
import { CONSUMER_PREFETCH, DEAD_LETTERS_KEPT_MS } from '@platen/contract/limit.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { QueuedRender, RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { LANES, type Lane, type RenderRecord } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import { type Database, integerIn, textIn } from './database.ts'

const ENQUEUE = `INSERT INTO queue (id, engine, lane, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING sequence`
const FETCH = `SELECT sequence, record FROM queue WHERE engine = ? AND lane = ? AND sequence > ? ORDER BY sequence LIMIT ?`
const DONE = `DELETE FROM queue WHERE id = ?`
const BURY = `INSERT INTO dead_letter (id, record, reason) SELECT id, record, ? FROM queue WHERE id = ? ON CONFLICT DO NOTHING`
/** With every letter that comes go those past their time: there are few. */
const FORGET = `DELETE FROM dead_letter WHERE buried_at < unixepoch('subsec') * 1000 - ?`

/** The queue in an open database; one a database, as it alone knows what is in hand. Enqueuing a record again changes nothing. */
export function sqliteRenderQueue(database: Database): RenderQueue {
  const queues = ENGINES.flatMap((engine) => LANES.map((lane) => new LaneQueue(database, engine, lane)))

  const append = async (record: RenderRecord) => {
    const { id, engine, lane } = record
    const [rows = []] = await database.run([{ sql: ENQUEUE, values: [id, engine, lane, JSON.stringify(record)] }])
    const queue = queues.find((queue) => queue.engine === engine && queue.lane === lane)
    if (rows[0] !== undefined) queue?.append({ sequence: integerIn(rows[0], 'sequence'), record })
  }

  return {
    async enqueue(record, signal) {
      signal.throwIfAborted()
      // The line hears of the record even where the caller stops waiting first: else nobody would ever take it.
      await raceAbort(append(record), signal)
    },
    async consume(engine, signal) {
      signal.throwIfAborted()
      return consumer(
        database,
        queues.filter((queue) => queue.engine === engine),
      )
    },
  }
}

interface Entry {
  readonly sequence: number
  readonly record: RenderRecord
}

/** One line, from the cursor on in the database and before it in memory. */
class LaneQueue {
  readonly engine: Engine
  readonly lane: Lane
  readonly notifiers = new Set<Notifier>()
  readonly #database: Database
  /** Fetched and in no hand, in order. Beyond `CONSUMER_PREFETCH` only by what closed consumers gave back. */
  #buffered: Entry[] = []
  readonly #inHand = new Map<Entry, Notifier>()
  /** Everything up to this sequence has been fetched. */
  #cursor = 0
  /** Is there nothing in the database behind the cursor? */
  #isDrained = false
  #isFetching = false

  constructor(database: Database, engine: Engine, lane: Lane) {
    this.#database = database
    this.engine = engine
    this.lane = lane
  }

  /** A record is durable in the database: takes it over if it is the very next, else leaves it there for later. */
  append(entry: Entry): void {
    // A fetch may have brought it before this was told.
    if (entry.sequence <= this.#cursor) return
    if (this.#isDrained && !this.#isFetching && this.#buffered.length < CONSUMER_PREFETCH) {
      this.#cursor = entry.sequence
      this.#buffered.push(entry)
      this.#notify()
      return
    }
    this.#isDrained = false
    this.fetch()
  }

  /** The next record at hand, which is in this consumer's hand from now on. */
  shift(consumer: Notifier): RenderRecord | undefined {
    const entry = this.#buffered.shift()
    if (entry !== undefined) this.#inHand.set(entry, consumer)
    this.fetch()
    return entry?.record
  }

  /** A consumer is no more: what it has in hand goes back to where it stood in the line. */
  leave(consumer: Notifier): void {
    this.notifiers.delete(consumer)
    for (const [entry, holder] of this.#inHand) if (holder === consumer) this.#buffered.push(entry)
    for (const entry of this.#buffered) this.#inHand.delete(entry)
    this.#buffered.sort((a, b) => a.sequence - b.sequence)
    this.#notify()
  }

  /** A record is gone from the database: it is given to nobody any more, whoever had it when. */
  remove(id: RenderId): void {
    this.#buffered = this.#buffered.filter(({ record }) => record.id !== id)
    for (const entry of this.#inHand.keys()) if (entry.record.id === id) this.#inHand.delete(entry)
  }

  /** Sees to it that something is at hand while there is something to be had. */
  fetch(): void {
    if (this.#isFetching || this.#isDrained || this.#buffered.length > CONSUMER_PREFETCH / 2) return
    this.#isFetching = true
    // What is appended while this waits clears the flag again.
    this.#isDrained = true
    void this.#read().then(
      (entries) => this.#fetched(entries),
      // The database has failed or is closed: whoever consumes learns that from `done`, and there is nothing left to fetch.
      () => undefined,
    )
  }

  async #read(): Promise<Entry[]> {
    const values = [this.engine, this.lane, this.#cursor, CONSUMER_PREFETCH]
    const [rows = []] = await this.#database.run([{ sql: FETCH, values }])
    return rows.map((row) => ({ sequence: integerIn(row, 'sequence'), record: JSON.parse(textIn(row, 'record')) }))
  }

  #fetched(entries: readonly Entry[]): void {
    this.#isFetching = false
    this.#buffered.push(...entries)
    this.#cursor = entries.at(-1)?.sequence ?? this.#cursor
    if (entries.length === CONSUMER_PREFETCH) this.#isDrained = false
    if (entries.length > 0) this.#notify()
    this.fetch()
  }

  #notify(): void {
    for (const notifier of this.notifiers) notifier.notify()
  }
}

function consumer(database: Database, queues: readonly LaneQueue[]): RenderConsumer {
  const arrival = openNotifier()
  let isClosed = false
  for (const queue of queues) {
    queue.notifiers.add(arrival)
    queue.fetch()
  }

  const deliver = (queue: LaneQueue, record: RenderRecord): QueuedRender => ({
    record,
    async done(signal) {
      await database.run([{ sql: DONE, values: [record.id] }], signal)
      queue.remove(record.id)
    },
    async deadLetter(reason, signal) {
      const bury = { sql: BURY, values: [reason, record.id] }
      const forget = { sql: FORGET, values: [DEAD_LETTERS_KEPT_MS] }
      await database.run([bury, forget, { sql: DONE, values: [record.id] }], signal)
      queue.remove(record.id)
    },
  })

  return {
    poll(lane) {
      const queue = isClosed ? undefined : queues.find((queue) => queue.lane === lane)
      const record = queue?.shift(arrival)
      return queue !== undefined && record !== undefined ? deliver(queue, record) : undefined
    },
    waitForRecord: (signal) => arrival.wait(signal),
    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const queue of queues) queue.leave(arrival)
    },
  }
}
