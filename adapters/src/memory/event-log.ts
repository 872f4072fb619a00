/** An event log that lives as long as the process, for unit tests. It forgets nothing. */
import type { RenderEvent } from '@platen/contract/event.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'

/** Makes an empty log. */
export function memoryEventLog(): EventLog {
  const events: RenderEvent[] = []
  const known = new Set<string>()
  const positions = new Map<string, number>()
  const notifiers = new Set<Notifier>()

  const done = async (reader: string, position: number) =>
    void positions.set(reader, Math.max(position, positions.get(reader) ?? 0))

  async function* follow(reader: string, signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
    const arrival = openNotifier()
    notifiers.add(arrival)
    try {
      for (let at = positions.get(reader) ?? 0; !signal.aborted; ) {
        const event = events[at]
        if (event !== undefined) {
          const position = ++at
          yield { event, done: () => done(reader, position) }
        } else {
          await arrival.wait(signal).catch((reason: unknown) => {
            if (!signal.aborted) throw reason
          })
        }
      }
    } finally {
      notifiers.delete(arrival)
    }
  }

  return {
    follow,
    async append(event, signal) {
      signal.throwIfAborted()
      if (known.has(event.id)) return
      known.add(event.id)
      events.push(event)
      for (const each of notifiers) each.notify()
    },
  }
}
