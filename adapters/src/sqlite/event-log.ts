/**
 * The event log of the embedded service. A reader that has read all older events gets each new one from memory when it is durable, since
 * the same process appends it.
 */

import type { RenderEvent } from '@platen/contract/domain/event.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { raceAbort } from '@platen/lib/race.ts'
import type { Row } from './connection.ts'
import { type Database, integerIn, prune, textIn } from './database.ts'

/** Events a reader fetches at once: each look may wait for the flush of a commit. */
export const EVENT_PREFETCH = 256

const APPEND = `INSERT INTO event (id, dated, event) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING position`
const POSITION = `SELECT position FROM event_reader WHERE reader = ?`
const FETCH = `SELECT position, event FROM event WHERE position > ? ORDER BY position LIMIT ?`
const DONE = `INSERT INTO event_reader (reader, position) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`
const PRUNE = `DELETE FROM event WHERE position IN (SELECT position FROM event WHERE dated < ? LIMIT ?) RETURNING position`

export interface SqliteEventLog extends EventLog {
  /** Removes the events of renders that ended before `before`, done or not. Safe to interrupt. */
  prune(before: Instant, signal: AbortSignal): Promise<void>
}

/** One log per database, since only it wakes its readers. A second append of the same id changes nothing. */
export function sqliteEventLog(database: Database): SqliteEventLog {
  const tails = new Set<Tail>()

  async function* follow(reader: string, signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
    const tail = openTail()
    tails.add(tail)
    try {
      const [[start] = []] = await database.run([{ sql: POSITION, values: [reader] }], signal)
      let read = start === undefined ? 0 : integerIn(start, 'position')
      const unread = function* (events: readonly StoredEvent[]): Generator<ReceivedEvent> {
        for (const { position, event } of events) {
          if (position <= read) continue
          yield { event, done: async () => void (await database.run([{ sql: DONE, values: [reader, position] }])) }
          signal.throwIfAborted()
          read = position
        }
      }
      for (;;) {
        tail.begin()
        const [rows = []] = await database.run([{ sql: FETCH, values: [read, EVENT_PREFETCH] }], signal)
        yield* unread(rows.map(storedIn))
        if (rows.length === EVENT_PREFETCH) continue
        // All later events were appended since the tail began.
        while (tail.isComplete()) {
          yield* unread(tail.take())
          await tail.arrival.wait(signal)
        }
      }
    } catch (cause) {
      // An aborted signal ends following normally; everything else is an error.
      if (!signal.aborted) throw cause
    } finally {
      tails.delete(tail)
    }
  }

  const insert = async (event: RenderEvent) => {
    const values = [event.id, event.manifest.outcome.finishedAt, JSON.stringify(event)]
    const [[row] = []] = await database.run([{ sql: APPEND, values }])
    // The event was in the log before.
    if (row === undefined) return
    for (const tail of tails) tail.add({ position: integerIn(row, 'position'), event })
  }

  return {
    follow,
    async append(event, signal) {
      signal.throwIfAborted()
      // Readers are notified of the event even if the caller stops waiting first.
      await raceAbort(insert(event), signal)
    },
    prune: (before, signal) => prune(database, { sql: PRUNE, before }, signal),
  }
}

interface StoredEvent {
  readonly position: number
  readonly event: RenderEvent
}

function storedIn(row: Row): StoredEvent {
  return { position: integerIn(row, 'position'), event: JSON.parse(textIn(row, 'event')) }
}

/** The events appended since a reader took them last, in order. */
interface Tail {
  /** Empties the tail. From now on it is complete. */
  begin(): void
  add(stored: StoredEvent): void
  readonly arrival: Notifier
  /** False when there were more events than it holds. Then it holds none. */
  isComplete(): boolean
  take(): readonly StoredEvent[]
}

function openTail(): Tail {
  const arrival = openNotifier()
  let events: StoredEvent[] = []
  let isComplete = true
  const take = () => {
    const taken = events
    events = []
    return taken
  }
  return {
    arrival,
    isComplete: () => isComplete,
    take,
    begin() {
      take()
      isComplete = true
    },
    add(stored) {
      if (isComplete) events.push(stored)
      if (events.length > EVENT_PREFETCH) {
        take()
        isComplete = false
      }
      arrival.notify()
    },
  }
}
