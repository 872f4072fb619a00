/**
 * Gives out due deliveries and takes them back. A reminder only counts if it agrees with the stored object. So each one is looked up
 * before it is given out, several at a time and in order. Only one reminder of a delivery is processed at a time. The others wait here,
 * as the result of the first decides whether they still count.
 *
 * Two processes can hold the same delivery in one case only: its partition went to the other process while the delivery was in hand
 * here, because a process joined or left. Both may then call the receiver, and the last write wins.
 */
import { NewerFormat } from '@platen/contract/format.ts'
import { openNotifier } from '@platen/contract/notifier.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { ConsumedRecord, GroupConsumer } from '../consumer/group-consumer.ts'
import { DELIVERY_SHOWN_AGAIN_MS, WEBHOOK_OBJECTS_AT_ONCE } from '../limit.ts'
import { type NewReminder, type ReminderSender, removeReminder, sendReminders } from './delay-topics.ts'
import { show } from './delivery-shown.ts'
import { type AttemptRequest, type DeliveryStore, UnreadableObject } from './delivery-store.ts'
import { afterAttempt, afterDeferral, type MadeAttempt, type Progress, remainingMs, verdictOn } from './progress.ts'
import { type AttemptRequestKey, type Reminder, reminderReader, type Unread } from './reminder.ts'
import { DUE_TOPIC } from './topic.ts'

export interface DeliveryConsumerPorts extends ReminderSender {
  readonly store: DeliveryStore
  /** Absent = nobody lists deliveries. */
  readonly list?: Pick<DeliveryListView, 'put'> | undefined
}

/**
 * The step of a reminder that is never given out. Whoever gets it, or any other one that is out of date, shows the delivery in the list
 * again. So the list shows how each delivery ended, however long it was away.
 */
const OUT_OF_DATE = Number.MAX_SAFE_INTEGER

/** A reminder being processed. */
interface HeldReminder {
  readonly reminder: Reminder
  readonly record: ConsumedRecord
}

/** A requested attempt and its key. */
interface RequestedAttempt {
  readonly name: AttemptRequestKey
  readonly ask: AttemptRequest
}

/** The consumer of the due topic. */
export class DeliveryConsumer {
  readonly #ports: DeliveryConsumerPorts
  readonly #poll: GroupConsumer['poll']
  readonly #changed = openNotifier()
  readonly #read = reminderReader()
  /** By delivery: the reminders that wait until the current one is released. */
  readonly #held = new Map<string, HeldReminder[]>()
  /** Look-ups under way, in the order of delivery; undefined if nothing is to do. None rejects. */
  readonly #lookups: Promise<DueDelivery | undefined>[] = []
  /** Why a look-up failed, for the consumer. */
  #failure: unknown

  constructor(ports: DeliveryConsumerPorts, poll: GroupConsumer['poll']) {
    this.#ports = ports
    this.#poll = poll
  }

  /** Records may have arrived. */
  onRecords(): void {
    this.#changed.notify()
  }

  async *consume(signal: AbortSignal): AsyncGenerator<DueDelivery> {
    this.#failure = undefined
    try {
      for (;;) {
        signal.throwIfAborted()
        if (this.#failure !== undefined) throw this.#failure
        this.#fetch()
        const lookup = this.#lookups.shift()
        if (lookup === undefined) {
          await this.#changed.wait(signal)
          continue
        }
        const due = await raceAbort(lookup, signal).catch((cause: unknown) => {
          // The next consumer gets it.
          if (signal.aborted) this.#lookups.unshift(lookup)
          throw cause
        })
        if (due !== undefined) yield due
      }
    } catch (cause) {
      // An aborted signal ends consuming normally; everything else is an error.
      if (!signal.aborted) throw cause
    }
  }

  #fetch(): void {
    while (this.#lookups.length < WEBHOOK_OBJECTS_AT_ONCE) {
      const record = this.#poll(this.#ports.prefix + DUE_TOPIC)
      if (record === undefined) return
      const read = this.#read(record.value)
      if (!('value' in read)) {
        this.#lookups.push(this.#remove(record, read))
        continue
      }
      const held = { reminder: read.value, record }
      const others = this.#held.get(read.value.id)
      if (others === undefined) this.#hold(held)
      else others.push(held)
    }
  }

  #hold(held: HeldReminder): void {
    const { id } = held.reminder
    if (!this.#held.has(id)) this.#held.set(id, [])
    this.#lookups.push(this.#lookUp(held))
  }

  /** Starts the next waiting reminder of the same delivery. */
  #release({ reminder: { id } }: HeldReminder): void {
    const next = this.#held.get(id)?.shift()
    if (next === undefined) this.#held.delete(id)
    else this.#hold(next)
    this.#changed.notify()
  }

  #done(held: HeldReminder): void {
    held.record.done()
    this.#release(held)
  }

  /** Looks up the delivery of a reminder. If the look-up fails, the record goes back to its partition. */
  async #lookUp(held: HeldReminder): Promise<DueDelivery | undefined> {
    try {
      const due = await this.#dueOf(held)
      if (due === undefined) this.#done(held)
      return due
    } catch (cause) {
      const why = unreadOf(cause)
      if (why !== undefined) {
        await this.#remove(held.record, why)
        this.#release(held)
        return undefined
      }
      this.#fail(held.record, cause)
      this.#release(held)
      return undefined
    }
  }

  #fail(record: ConsumedRecord, cause: unknown): void {
    this.#failure = cause
    record.requeue()
  }

  async #remove(record: ConsumedRecord, why: Unread): Promise<undefined> {
    try {
      await removeReminder(this.#ports, { record, why }, neverAborted())
    } catch (cause) {
      this.#fail(record, cause)
    }
  }

  async #dueOf(held: HeldReminder): Promise<DueDelivery | undefined> {
    const { store } = this.#ports
    const { id, render, ask: name } = held.reminder
    const [progress, ask] = await Promise.all([
      store.read(id, render, neverAborted()),
      name && store.readRequest(id, name.number, neverAborted()),
    ])
    if (progress === undefined) return undefined
    const due = await this.#dueIn(held, progress, ask)
    if (due === undefined) await this.#show(progress)
    return due
  }

  async #dueIn(
    held: HeldReminder,
    progress: Progress,
    ask: AttemptRequest | undefined,
  ): Promise<DueDelivery | undefined> {
    const { store } = this.#ports
    const { id, render, ask: name, step } = held.reminder
    if (name === undefined) return await this.#scheduledOf(held, progress)
    if (ask === undefined || ask.nonce !== name.nonce) return undefined
    if (progress.answered.includes(name.nonce)) {
      await store.removeRequest(id, name.number, neverAborted())
      return undefined
    }
    const verdict = verdictOn(step, ask.step)
    if (verdict === 'give') return this.#redeliveryOf(held, progress, { name, ask })
    if (verdict === 'remind')
      await this.#remind({ id, render, waitMs: this.#remainingMs(ask), step: ask.step, ask: name })
    return undefined
  }

  async #scheduledOf(held: HeldReminder, progress: Progress): Promise<DueDelivery | undefined> {
    if (progress.status !== 'scheduled') return undefined
    const verdict = verdictOn(held.reminder.step, progress.step)
    if (verdict === 'remind') await this.#remindOf(progress)
    if (verdict !== 'give') return undefined
    const { store, clock } = this.#ports
    return {
      ...deliveryFields(held, progress),
      isRedelivery: false,
      record: async (attempt, next) => {
        await this.#writeAttempt(progress, { attempt, next })
        this.#done(held)
      },
      defer: async (waitMs, reason) => {
        const after = afterDeferral(progress, { waitMs, reason, now: clock.now() })
        await store.write(after, neverAborted())
        await this.#remindOf(after)
        await this.#show(after)
        this.#done(held)
      },
    }
  }

  #redeliveryOf(held: HeldReminder, progress: Progress, { name, ask }: RequestedAttempt): DueDelivery {
    const { store, clock } = this.#ports
    const { id, render } = held.reminder
    return {
      ...deliveryFields(held, progress),
      isRedelivery: true,
      record: async (attempt, next) => {
        await this.#writeAttempt(progress, { attempt, next, nonce: name.nonce })
        await store.removeRequest(id, name.number, neverAborted())
        this.#done(held)
      },
      defer: async (waitMs, reason) => {
        const later = { ...ask, step: ask.step + 1, dueAt: clock.now() + waitMs, waitMs }
        if (reason !== undefined) await store.write({ ...progress, reason }, neverAborted())
        await store.writeRequest(id, name.number, { ask: later, signal: neverAborted() })
        await this.#remind({ id, render, waitMs: this.#remainingMs(later), step: later.step, ask: name })
        this.#done(held)
      },
    }
  }

  async #writeAttempt(progress: Progress, made: Omit<MadeAttempt, 'now'>): Promise<void> {
    const { store, clock } = this.#ports
    const after = afterAttempt(progress, { ...made, now: clock.now() })
    await store.write(after, neverAborted())
    if (after.step !== progress.step) await this.#remindOf(after)
    await this.#show(after)
  }

  /** Shows the delivery in the list, or reminds somebody to do so later. If it is scheduled, its next attempt does. */
  async #show(progress: Progress): Promise<void> {
    const isShown = await show(progress, this.#ports.list, neverAborted())
    if (isShown || progress.status === 'scheduled') return
    const { id, render } = progress.delivery
    await this.#remind({ id, render, waitMs: DELIVERY_SHOWN_AGAIN_MS, step: OUT_OF_DATE })
  }

  /** Sends the reminder of the next attempt in the schedule. */
  async #remindOf(progress: Progress): Promise<void> {
    const { delivery, status, step } = progress
    const { id, render } = delivery
    if (status === 'scheduled') await this.#remind({ id, render, waitMs: this.#remainingMs(progress), step })
  }

  /** The rest of a stored wait, which another clock may have written. */
  #remainingMs(written: Progress | AttemptRequest): number {
    return remainingMs(written, this.#ports.clock.now())
  }

  #remind(notice: NewReminder): Promise<void> {
    return sendReminders(this.#ports, [notice], neverAborted())
  }
}

/**
 * Returns a new signal that never aborts. Each call of the store and of Kafka ends by itself, and a started operation must be finished.
 * A new signal per call, as listeners on a shared one are searched linearly.
 */
function neverAborted(): AbortSignal {
  return new AbortController().signal
}

/** Why the stored objects of a delivery cannot be read; undefined for any other error. */
function unreadOf(cause: unknown): Unread | undefined {
  if (cause instanceof NewerFormat) return { newer: cause.format }
  return cause instanceof UnreadableObject ? { fault: cause.message } : undefined
}

function deliveryFields(
  { reminder }: HeldReminder,
  progress: Progress,
): Pick<DueDelivery, 'delivery' | 'attempts' | 'dueAt'> {
  return { delivery: progress.delivery, attempts: progress.attempts, dueAt: reminder.dueAt }
}
