/**
 * The durable render queue: each record is a row until it is done. The next few records of each lane are buffered in memory, so that `poll`
 * never waits. Only memory knows what was delivered, so everything that is not done is delivered again after a restart.
 */
import { DEAD_LETTERS_KEPT_MS } from '@platen/contract/domain/limit.ts'
import { LANES, type Lane, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import type { QueuedRender, RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { recordOfText, textOfRecord } from '@platen/contract/stored/record-text.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { type Database, integerIn, textIn } from './database.ts'

/** Records that a consumer prefetches per lane. Small, because no other pod can take what one pod holds. */
const CONSUMER_PREFETCH = 16

const ENQUEUE = `INSERT INTO queue (id, engine, lane, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING sequence`
const FETCH = `SELECT sequence, record FROM queue WHERE engine = ? AND lane = ? AND sequence > ? ORDER BY sequence LIMIT ?`
const DONE = `DELETE FROM queue WHERE id = ?`
const DEAD_LETTER = `INSERT INTO dead_letter (id, record, reason) SELECT id, record, ? FROM queue WHERE id = ? ON CONFLICT DO NOTHING`
/** Each new dead letter also removes the expired ones: there are few. */
const FORGET = `DELETE FROM dead_letter WHERE buried_at < unixepoch('subsec') * 1000 - ?`

/** One queue per database, since only it knows what is in hand. Enqueuing a record again changes nothing. */
export function sqliteRenderQueue(database: Database): RenderQueue {
  const queues = ENGINES.flatMap((engine) => LANES.map((lane) => new LaneQueue(database, engine, lane)))

  const append = async (record: RenderRecord) => {
    const { id, engine, lane } = record
    const [rows = []] = await database.run([{ sql: ENQUEUE, values: [id, engine, lane, textOfRecord(record)] }])
    const queue = queues.find((queue) => queue.engine === engine && queue.lane === lane)
    if (rows[0] !== undefined) queue?.append({ sequence: integerIn(rows[0], 'sequence'), record })
  }

  return {
    async enqueue(record, signal) {
      signal.throwIfAborted()
      // The lane learns of the record even if the caller stops waiting first. Else nobody would ever take it.
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

/** The queue of one engine and lane: up to the cursor in memory, after it in the database. */
class LaneQueue {
  readonly engine: Engine
  readonly lane: Lane
  readonly notifiers = new Set<Notifier>()
  readonly #database: Database
  /** Fetched records that are in no hand, in order. Exceeds `CONSUMER_PREFETCH` only by records that closed consumers returned. */
  #buffered: Entry[] = []
  readonly #inHand = new Map<Entry, Notifier>()
  /** Everything up to this sequence number was fetched. */
  #cursor = 0
  /** Is nothing in the database after the cursor? */
  #isDrained = false
  #isFetching = false

  constructor(database: Database, engine: Engine, lane: Lane) {
    this.#database = database
    this.engine = engine
    this.lane = lane
  }

  /** Called when a record is durable. Buffers it if it is the very next one, else leaves it in the database for later. */
  append(entry: Entry): void {
    // A fetch may have returned it before this call.
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

  /** Takes the next buffered record into this consumer's hand. */
  shift(consumer: Notifier): RenderRecord | undefined {
    const entry = this.#buffered.shift()
    if (entry !== undefined) this.#inHand.set(entry, consumer)
    this.fetch()
    return entry?.record
  }

  /** Called when a consumer closes: returns its records in hand to their positions. */
  leave(consumer: Notifier): void {
    this.notifiers.delete(consumer)
    for (const [entry, holder] of this.#inHand) if (holder === consumer) this.#buffered.push(entry)
    for (const entry of this.#buffered) this.#inHand.delete(entry)
    this.#buffered.sort((a, b) => a.sequence - b.sequence)
    this.#notify()
  }

  /** Called when a record is deleted from the database, whoever had it. */
  remove(id: RenderId): void {
    this.#buffered = this.#buffered.filter(({ record }) => record.id !== id)
    for (const entry of this.#inHand.keys()) if (entry.record.id === id) this.#inHand.delete(entry)
  }

  /** Fetches records if the buffer runs low and the database may have more. */
  fetch(): void {
    if (this.#isFetching || this.#isDrained || this.#buffered.length > CONSUMER_PREFETCH / 2) return
    this.#isFetching = true
    // An append during the fetch clears the flag again.
    this.#isDrained = true
    void this.#read().then(
      (entries) => this.#fetched(entries),
      // The database has failed or is closed: `done` tells consumers, and nothing is left to fetch.
      () => undefined,
    )
  }

  async #read(): Promise<Entry[]> {
    const values = [this.engine, this.lane, this.#cursor, CONSUMER_PREFETCH]
    const [rows = []] = await this.#database.run([{ sql: FETCH, values }])
    return rows.map((row) => ({ sequence: integerIn(row, 'sequence'), record: recordOfText(textIn(row, 'record')) }))
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
      const deadLetter = { sql: DEAD_LETTER, values: [reason, record.id] }
      const forget = { sql: FORGET, values: [DEAD_LETTERS_KEPT_MS] }
      await database.run([deadLetter, forget, { sql: DONE, values: [record.id] }], signal)
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
