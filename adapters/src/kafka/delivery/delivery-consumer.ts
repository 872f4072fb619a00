/**
 * Gives out due deliveries. A reminder only counts if it agrees with the stored object. So each delivery is looked up before it is given
 * out, several at a time and in order. Only one reminder of a delivery is processed at a time; the result of the first decides whether the
 * others still count.
 *
 * Two processes can hold the same delivery in one case only: a process joined or left, and the partition of a delivery in hand went to
 * another process. Both may then call the receiver, and the last write wins.
 */
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import { NewerFormat } from '@platen/contract/domain/format.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import {
  type FirstAttemptLimits,
  firstAttemptLimits,
  ofFirstAttempt,
  openFirstAttempt,
} from '@platen/contract/port/first-attempt.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import type { KafkaConnection } from '../connect.ts'
import type { ConsumedRecord, GroupConsumer } from '../consumer/group-consumer.ts'
import { DELIVERY_SHOWN_AGAIN_MS, WEBHOOK_OBJECTS_AT_ONCE } from '../limit.ts'
import { dropReminder, type NewReminder, type ReminderSender, sendReminders } from './delay-topics.ts'
import { show } from './delivery-shown.ts'
import { type AttemptRequest, type DeliveryStore, UnreadableObject } from './delivery-store.ts'
import {
  afterAttempt,
  afterDeferral,
  initialProgress,
  type MadeAttempt,
  type Progress,
  remainingMs,
  verdictOn,
} from './progress.ts'
import { type AttemptRequestKey, type Reminder, reminderReader, type Unread } from './reminder.ts'
import { DUE_TOPIC } from './topic.ts'

const SECOND_MS = 1000
/**
 * After this time a reminder checks a delivery whose first attempt is under way: if its process has died, another one makes the attempt.
 * Longer than a call and its record may take.
 */
const FIRST_ATTEMPT_CHECKED_AFTER_MS = 30 * SECOND_MS

interface DeliveryConsumerPorts extends ReminderSender {
  readonly connection: Pick<KafkaConnection, 'send' | 'log' | 'clock'>
  readonly store: DeliveryStore
  /** Absent = deliveries are not listed. */
  readonly list?: Pick<DeliveryListView, 'put'> | undefined
}

/**
 * The step of a reminder that is never given out. A process that gets a reminder that is out of date shows the delivery in the list again.
 * So the list shows how each delivery ended, even after an outage of the list.
 */
const OUT_OF_DATE = Number.MAX_SAFE_INTEGER

/** A delivery being processed, because of a reminder or because it is new. */
interface Held {
  readonly reminder: Pick<Reminder, 'id' | 'render' | 'step' | 'dueAt' | 'ask'>
  readonly record: Pick<ConsumedRecord, 'done'>
}

interface HeldReminder extends Held {
  readonly record: ConsumedRecord
}

interface Lookup {
  hasEnded: boolean
  due?: DueDelivery | undefined
}

interface RequestedAttempt {
  readonly name: AttemptRequestKey
  readonly ask: AttemptRequest
}

export class DeliveryConsumer {
  readonly #ports: DeliveryConsumerPorts
  readonly #poll: GroupConsumer['poll']
  readonly #changed = openNotifier()
  readonly #read = reminderReader()
  /** By delivery: the reminders that wait until the current one is released. */
  readonly #held = new Map<string, HeldReminder[]>()
  readonly #lookups: Lookup[] = []
  readonly #new: DueDelivery[] = []
  readonly #limits: FirstAttemptLimits
  #isConsumed = false
  /** Why a look-up failed; `consume` throws it. */
  #failure: unknown

  constructor(ports: DeliveryConsumerPorts, poll: GroupConsumer['poll']) {
    this.#ports = ports
    this.#limits = firstAttemptLimits(ports.connection.clock)
    this.#poll = poll
  }

  onRecords(): void {
    this.#changed.notify()
  }

  async *consume(signal: AbortSignal): AsyncGenerator<DueDelivery> {
    this.#failure = undefined
    this.#isConsumed = true
    try {
      for (;;) {
        signal.throwIfAborted()
        if (this.#failure !== undefined) throw this.#failure
        this.#fetch()
        const due = this.#new.shift() ?? this.#lookedUp()
        if (due === undefined) await this.#changed.wait(signal)
        else yield due
      }
    } catch (cause) {
      // An aborted signal ends consuming normally; everything else is an error.
      if (!signal.aborted) throw cause
    } finally {
      this.#isConsumed = false
      this.#new.length = 0
    }
  }

  /**
   * Gives out a delivery before it is stored, if it is new and somebody consumes. Returns undefined when its result is stored, else the
   * milliseconds until a reminder of the stored delivery is due. Throws `Unavailable`.
   */
  async attemptFirst(delivery: Delivery): Promise<number | undefined> {
    const { id, render } = delivery
    if (this.#held.has(id)) return FIRST_ATTEMPT_CHECKED_AFTER_MS
    const isNew = this.#isConsumed && (await this.#ports.store.announce(delivery, neverAborted()))
    if (!isNew || !this.#isConsumed || this.#held.has(id)) return 0
    this.#held.set(id, [])
    const { clock } = this.#ports
    const now = clock.now()
    const first = openFirstAttempt()
    const held = { reminder: { id, render, step: 0, dueAt: now }, record: { done: () => undefined } }
    this.#new.push(ofFirstAttempt(first, this.#dueOfSchedule(held, initialProgress(delivery, now))))
    this.#changed.notify()
    const settled = await first.settled(this.#limits)
    if (settled === 'taken_back') this.#release(held)
    return { stored: undefined, begun: FIRST_ATTEMPT_CHECKED_AFTER_MS, taken_back: 0 }[settled]
  }

  #lookedUp(): DueDelivery | undefined {
    while (this.#lookups[0]?.hasEnded === true) {
      const due = this.#lookups.shift()?.due
      if (due !== undefined) return due
    }
    return undefined
  }

  #fetch(): void {
    while (this.#lookups.length < WEBHOOK_OBJECTS_AT_ONCE) {
      const record = this.#poll(this.#ports.prefix + DUE_TOPIC)
      if (record === undefined) return
      const read = this.#read(record.value)
      if (!('value' in read)) {
        void this.#start(this.#drop(record, read))
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
    void this.#start(this.#lookUp(held))
  }

  /** `finding` must not reject. */
  async #start(finding: Promise<DueDelivery | undefined>): Promise<void> {
    const lookup: Lookup = { hasEnded: false }
    this.#lookups.push(lookup)
    lookup.due = await finding
    lookup.hasEnded = true
    this.#changed.notify()
  }

  /** Starts the next waiting reminder of the delivery. */
  #release({ reminder: { id } }: Held): void {
    const next = this.#held.get(id)?.shift()
    if (next === undefined) this.#held.delete(id)
    else this.#hold(next)
    this.#changed.notify()
  }

  #done(held: Held): void {
    held.record.done()
    this.#release(held)
  }

  /** If the look-up fails, the record goes back to its partition. */
  async #lookUp(held: HeldReminder): Promise<DueDelivery | undefined> {
    try {
      const due = await this.#dueOf(held)
      if (due === undefined) this.#done(held)
      return due
    } catch (cause) {
      const why = unreadOf(cause)
      if (why !== undefined) {
        await this.#drop(held.record, why)
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

  async #drop(record: ConsumedRecord, why: Unread): Promise<undefined> {
    try {
      await dropReminder(this.#ports, { record, why }, neverAborted())
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
    return verdict === 'give' ? this.#dueOfSchedule(held, progress) : undefined
  }

  #dueOfSchedule(held: Held, progress: Progress): DueDelivery {
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

  /** Shows the delivery in the list, or sends a reminder to do so later. A scheduled delivery is shown with its next attempt. */
  async #show(progress: Progress): Promise<void> {
    const isShown = await show(progress, this.#ports.list, neverAborted())
    if (isShown || progress.status === 'scheduled') return
    const { id, render } = progress.delivery
    await this.#remind({ id, render, waitMs: DELIVERY_SHOWN_AGAIN_MS, step: OUT_OF_DATE })
  }

  async #remindOf(progress: Progress): Promise<void> {
    const { delivery, status, step } = progress
    const { id, render } = delivery
    if (status === 'scheduled') await this.#remind({ id, render, waitMs: this.#remainingMs(progress), step })
  }

  /** Another clock may have written the wait. */
  #remainingMs(written: Progress | AttemptRequest): number {
    return remainingMs(written, this.#ports.clock.now())
  }

  #remind(notice: NewReminder): Promise<void> {
    return sendReminders(this.#ports, [notice], neverAborted())
  }
}

/**
 * A started operation must be finished, and each call of the store and of Kafka ends by itself. A new signal per call, since listeners on a
 * shared one are searched linearly.
 */
export function neverAborted(): AbortSignal {
  return new AbortController().signal
}

/** Returns undefined if the error does not say that a stored object is unreadable. */
function unreadOf(cause: unknown): Unread | undefined {
  if (cause instanceof NewerFormat) return { newer: cause }
  return cause instanceof UnreadableObject ? { fault: cause.message } : undefined
}

function deliveryFields({ reminder }: Held, progress: Progress): Pick<DueDelivery, 'delivery' | 'attempts' | 'dueAt'> {
  return { delivery: progress.delivery, attempts: progress.attempts, dueAt: reminder.dueAt }
}
