/** An event log that lives as long as the process, for unit tests: it forgets nothing. */
import { type Bell, bell } from '@platen/contract/bell.ts'
import type { RenderEvent } from '@platen/contract/event.ts'
import type { EventDelivery, EventLog } from '@platen/contract/port/event-log.ts'

/** An empty log. */
export function memoryEventLog(): EventLog {
  const events: RenderEvent[] = []
  const known = new Set<string>()
  const positions = new Map<string, number>()
  const bells = new Set<Bell>()

  const done = async (reader: string, position: number) =>
    void positions.set(reader, Math.max(position, positions.get(reader) ?? 0))

  async function* follow(reader: string, signal: AbortSignal): AsyncGenerator<EventDelivery> {
    const own = bell()
    bells.add(own)
    try {
      for (let at = positions.get(reader) ?? 0; !signal.aborted; ) {
        const event = events[at]
        if (event !== undefined) {
          const position = ++at
          yield { event, done: () => done(reader, position) }
        } else {
          await own.rung(signal).catch((reason: unknown) => {
            if (!signal.aborted) throw reason
          })
        }
      }
    } finally {
      bells.delete(own)
    }
  }

  return {
    follow,
    async append(event, signal) {
      signal.throwIfAborted()
      if (known.has(event.id)) return
      known.add(event.id)
      events.push(event)
      for (const each of bells) each.ring()
    },
  }
}
