/** A delivery log that lives as long as the process, for unit tests. */
import type { Instant } from '@platen/contract/brand.ts'
import type { Attempt, Delivery, DeliveryRecord, DeliveryStatus } from '@platen/contract/delivery.ts'
import { WEBHOOK_ATTEMPTS_KEPT_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/limit.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DeliveryLog, DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { raceFirst } from '@platen/contract/race.ts'

interface Entry {
  readonly delivery: Delivery
  status: DeliveryStatus
  reason: string | undefined
  attempts: number
  dueAt: Instant | undefined
  asked: number
  nextAt: Instant | undefined
  isTaken: boolean
  made: readonly Attempt[]
}

/** Makes an empty log. */
export function memoryDeliveryLog(clock: Clock): DeliveryLog {
  const entries = new Map<string, Entry>()
  const changed = openNotifier()

  async function* consume(signal: AbortSignal): AsyncGenerator<DueDelivery> {
    while (!signal.aborted) {
      const entry = earliest(entries.values())
      const waitMs = (entry?.nextAt ?? Number.POSITIVE_INFINITY) - clock.now()
      if (entry !== undefined && waitMs <= 0) {
        entry.isTaken = true
        yield dueIn(entry, { clock, changed })
        continue
      }
      const waits = [(over: AbortSignal) => changed.wait(over)]
      if (entry !== undefined) waits.push((over) => clock.sleep(waitMs, over))
      await raceFirst(waits, signal).catch((reason: unknown) => {
        if (!signal.aborted) throw reason
      })
    }
  }

  return {
    consume,
    async schedule(deliveries, signal) {
      signal.throwIfAborted()
      const now = clock.now()
      for (const delivery of deliveries) {
        if (entries.has(delivery.id)) continue
        const due = { status: 'scheduled', reason: undefined, attempts: 0, dueAt: now, asked: 0, nextAt: now } as const
        entries.set(delivery.id, { delivery, ...due, isTaken: false, made: [] })
      }
      changed.notify()
    },
    async find(id, signal) {
      signal.throwIfAborted()
      const entry = entries.get(id)
      return entry === undefined ? undefined : recordOf(entry)
    },
    async listByRender(render, signal) {
      signal.throwIfAborted()
      const found = [...entries.values()].filter(({ delivery }) => delivery.render === render)
      return found.sort((one, other) => (one.delivery.id < other.delivery.id ? -1 : 1)).map(recordOf)
    },
    async redeliver(id, signal) {
      signal.throwIfAborted()
      const entry = entries.get(id)
      if (entry === undefined || entry.asked >= WEBHOOK_REDELIVERIES_MAX) return false
      entry.asked += 1
      entry.nextAt = Math.min(entry.nextAt ?? clock.now(), clock.now())
      changed.notify()
      return true
    },
    async forget(render, signal) {
      signal.throwIfAborted()
      for (const [id, { delivery }] of entries) if (delivery.render === render) entries.delete(id)
    },
  }
}

function earliest(entries: Iterable<Entry>): Entry | undefined {
  const open = [...entries].filter(({ isTaken, nextAt }) => !isTaken && nextAt !== undefined)
  return open.sort((one, other) => Number(one.nextAt) - Number(other.nextAt))[0]
}

function dueIn(entry: Entry, { clock, changed }: { clock: Clock; changed: Notifier }): DueDelivery {
  const isRedelivery = entry.asked > 0
  return {
    delivery: entry.delivery,
    attempts: entry.attempts,
    isRedelivery,
    dueAt: entry.nextAt ?? clock.now(),
    async record(attempt, next) {
      entry.made = [...entry.made, attempt].slice(-WEBHOOK_ATTEMPTS_KEPT_MAX)
      if (isRedelivery) entry.asked -= 1
      else entry.attempts += 1
      if (next !== undefined) {
        entry.status = next.status
        entry.dueAt = next.status === 'scheduled' ? clock.now() + next.waitMs : undefined
        entry.reason = next.status === 'scheduled' ? undefined : next.reason
      }
      entry.nextAt = entry.asked > 0 ? clock.now() : entry.dueAt
      entry.isTaken = false
      changed.notify()
    },
    async defer(waitMs, reason) {
      entry.nextAt = clock.now() + waitMs
      entry.reason = reason ?? entry.reason
      entry.isTaken = false
      changed.notify()
    },
  }
}

function recordOf({ delivery, status, nextAt, reason, made }: Entry): DeliveryRecord {
  return {
    delivery,
    status,
    ...(status === 'scheduled' && nextAt !== undefined && { dueAt: nextAt }),
    ...(reason !== undefined && { reason }),
    attempts: made,
  }
}
