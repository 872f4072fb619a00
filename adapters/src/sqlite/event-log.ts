/** The event log in the database of the embedded service. */
import type { Instant } from '@platen/contract/brand.ts'
import type { RenderEvent } from '@platen/contract/event.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { type Database, integerIn, prune, textIn } from './database.ts'
import { EVENT_PREFETCH } from './limit.ts'

const APPEND = `INSERT INTO event (id, dated, event) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
const POSITION = `SELECT position FROM event_reader WHERE reader = ?`
const FETCH = `SELECT position, event FROM event WHERE position > ? ORDER BY position LIMIT ?`
const DONE = `INSERT INTO event_reader (reader, position) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`
const PRUNE = `DELETE FROM event WHERE position IN (SELECT position FROM event WHERE dated < ? LIMIT ?) RETURNING position`

export interface SqliteEventLog extends EventLog {
  /** Removes the events of renders that ended before `before`, done or not. Safe to interrupt. */
  prune(before: Instant, signal: AbortSignal): Promise<void>
}

/** Makes the log in an open database. One per database, as only it wakes its readers. A second append of the same id changes nothing. */
export function sqliteEventLog(database: Database): SqliteEventLog {
  const notifiers = new Set<Notifier>()

  async function* follow(reader: string, signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
    const arrival = openNotifier()
    notifiers.add(arrival)
    try {
      const [[start] = []] = await database.run([{ sql: POSITION, values: [reader] }], signal)
      let position = start === undefined ? 0 : integerIn(start, 'position')
      for (;;) {
        const [rows = []] = await database.run([{ sql: FETCH, values: [position, EVENT_PREFETCH] }], signal)
        for (const row of rows) {
          const at = integerIn(row, 'position')
          yield {
            event: JSON.parse(textIn(row, 'event')),
            done: async () => void (await database.run([{ sql: DONE, values: [reader, at] }])),
          }
          signal.throwIfAborted()
          position = at
        }
        if (rows.length < EVENT_PREFETCH) await arrival.wait(signal)
      }
    } catch (cause) {
      // An aborted signal ends following normally; everything else is an error.
      if (!signal.aborted) throw cause
    } finally {
      notifiers.delete(arrival)
    }
  }

  const insert = async (event: RenderEvent) => {
    const values = [event.id, event.manifest.outcome.finishedAt, JSON.stringify(event)]
    await database.run([{ sql: APPEND, values }])
    for (const notifier of notifiers) notifier.notify()
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
