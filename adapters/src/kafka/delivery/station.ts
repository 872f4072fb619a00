/**
 * What is due, from the topic to a hand and back. A reminder is worth something only where it agrees with what the archive says, so
 * each is looked up before it is given out, several at a time and in their order. Of one delivery one reminder at a time: the others
 * wait here, as what becomes of the first decides what they are worth.
 *
 * Two processes hold the same delivery in one case alone: its partition went to the other while it was in a hand here, as it does when
 * a process joins or leaves. The receiver may then be called by both, and what is written last stands.
 */
import { abortable, bell } from '@platen/contract/bell.ts'
import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { WEBHOOK_OBJECTS_AT_ONCE } from '@platen/contract/webhook-limit.ts'
import type { ConsumedRecord, GroupConsumer } from '../consumer/consumer.ts'
import { type Archive, type Ask, Unreadable } from './archive.ts'
import { afterAttempt, afterDeferral, leftOf, type Made, type Progress, verdictOn } from './progress.ts'
import { type AskName, type Reminder, reminderReader } from './reminder.ts'
import { buryReminder, type Notice, remind, type Sender } from './rungs.ts'
import { DUE_TOPIC } from './topic.ts'

export interface StationPorts extends Sender {
  readonly archive: Archive
}

/** A reminder in hand. */
interface Hold {
  readonly reminder: Reminder
  readonly record: ConsumedRecord
}

/** What is asked for, and where it stands among that. */
interface Asked {
  readonly name: AskName
  readonly ask: Ask
}

/** What a log has in hand and gives out. */
export class Station {
  readonly #ports: StationPorts
  readonly #poll: GroupConsumer['poll']
  readonly #changed = bell()
  readonly #read = reminderReader()
  /** By the delivery: those that wait until the one in hand is let go. */
  readonly #held = new Map<string, Hold[]>()
  /** Being looked up, in the order in which they are given out; undefined for what there is nothing to do about. None rejects. */
  readonly #looking: Promise<DueDelivery | undefined>[] = []
  /** Why something could not be looked up, for whoever consumes. */
  #failure: unknown

  constructor(ports: StationPorts, poll: GroupConsumer['poll']) {
    this.#ports = ports
    this.#poll = poll
  }

  /** Something may be there to be taken. */
  arrived(): void {
    this.#changed.ring()
  }

  async *consume(signal: AbortSignal): AsyncGenerator<DueDelivery> {
    this.#failure = undefined
    try {
      for (;;) {
        signal.throwIfAborted()
        if (this.#failure !== undefined) throw this.#failure
        this.#take()
        const looking = this.#looking.shift()
        if (looking === undefined) {
          await this.#changed.rung(signal)
          continue
        }
        const due = await abortable(looking, signal).catch((cause: unknown) => {
          // Whoever consumes next is given it.
          if (signal.aborted) this.#looking.unshift(looking)
          throw cause
        })
        if (due !== undefined) yield due
      }
    } catch (cause) {
      // Being told to stop is how consuming ends; everything else is an error.
      if (!signal.aborted) throw cause
    }
  }

  #take(): void {
    while (this.#looking.length < WEBHOOK_OBJECTS_AT_ONCE) {
      const record = this.#poll(this.#ports.prefix + DUE_TOPIC)
      if (record === undefined) return
      const reminder = this.#read(record.value)
      if ('fault' in reminder) {
        this.#looking.push(this.#bury(record, reminder.fault))
        continue
      }
      const hold = { reminder, record }
      const others = this.#held.get(reminder.id)
      if (others === undefined) this.#hold(hold)
      else others.push(hold)
    }
  }

  #hold(hold: Hold): void {
    const { id } = hold.reminder
    if (!this.#held.has(id)) this.#held.set(id, [])
    this.#looking.push(this.#look(hold))
  }

  /** The next one of the same delivery has its turn. */
  #letGo({ reminder: { id } }: Hold): void {
    const next = this.#held.get(id)?.shift()
    if (next === undefined) this.#held.delete(id)
    else this.#hold(next)
    this.#changed.ring()
  }

  #done(hold: Hold): void {
    hold.record.done()
    this.#letGo(hold)
  }

  /** What a reminder is worth. What cannot be looked up now stands in its partition again. */
  async #look(hold: Hold): Promise<DueDelivery | undefined> {
    try {
      const due = await this.#dueOf(hold)
      if (due === undefined) this.#done(hold)
      return due
    } catch (cause) {
      if (cause instanceof Unreadable) {
        await this.#bury(hold.record, cause.message)
        this.#letGo(hold)
        return undefined
      }
      this.#fail(hold.record, cause)
      this.#letGo(hold)
      return undefined
    }
  }

  #fail(record: ConsumedRecord, cause: unknown): void {
    this.#failure = cause
    record.giveBack()
  }

  async #bury(record: ConsumedRecord, reason: string): Promise<undefined> {
    try {
      await buryReminder(this.#ports, { record, reason }, never())
    } catch (cause) {
      this.#fail(record, cause)
    }
  }

  async #dueOf(hold: Hold): Promise<DueDelivery | undefined> {
    const { archive } = this.#ports
    const { id, render, ask: name, step } = hold.reminder
    const [progress, ask] = await Promise.all([
      archive.read(id, render, never()),
      name && archive.asked(id, name.number, never()),
    ])
    if (progress === undefined) return undefined
    if (name === undefined) return await this.#scheduledOf(hold, progress)
    if (ask === undefined || ask.nonce !== name.nonce) return undefined
    if (progress.answered.includes(name.nonce)) {
      await archive.removeAsk(id, name.number, never())
      return undefined
    }
    const verdict = verdictOn(step, ask.step)
    if (verdict === 'give') return this.#askedOf(hold, progress, { name, ask })
    if (verdict === 'remind') await this.#remind({ id, render, waitMs: this.#leftOf(ask), step: ask.step, ask: name })
    return undefined
  }

  async #scheduledOf(hold: Hold, progress: Progress): Promise<DueDelivery | undefined> {
    if (progress.status !== 'scheduled') return undefined
    const verdict = verdictOn(hold.reminder.step, progress.step)
    if (verdict === 'remind') await this.#remindOf(progress)
    if (verdict !== 'give') return undefined
    const { archive, clock } = this.#ports
    return {
      ...givenOf(hold, progress),
      isRedelivery: false,
      record: async (attempt, next) => {
        await this.#writeAttempt(progress, { attempt, next })
        this.#done(hold)
      },
      defer: async (waitMs, reason) => {
        const after = afterDeferral(progress, { waitMs, reason, now: clock.now() })
        await archive.write(after, never())
        await this.#remindOf(after)
        this.#done(hold)
      },
    }
  }

  #askedOf(hold: Hold, progress: Progress, { name, ask }: Asked): DueDelivery {
    const { archive, clock } = this.#ports
    const { id, render } = hold.reminder
    return {
      ...givenOf(hold, progress),
      isRedelivery: true,
      record: async (attempt, next) => {
        await this.#writeAttempt(progress, { attempt, next, nonce: name.nonce })
        await archive.removeAsk(id, name.number, never())
        this.#done(hold)
      },
      defer: async (waitMs, reason) => {
        const later = { ...ask, step: ask.step + 1, dueAt: clock.now() + waitMs, waitMs }
        if (reason !== undefined) await archive.write({ ...progress, reason }, never())
        await archive.writeAsk(id, name.number, { ask: later, signal: never() })
        await this.#remind({ id, render, waitMs: this.#leftOf(later), step: later.step, ask: name })
        this.#done(hold)
      },
    }
  }

  async #writeAttempt(progress: Progress, made: Omit<Made, 'now'>): Promise<void> {
    const { archive, clock } = this.#ports
    const after = afterAttempt(progress, { ...made, now: clock.now() })
    await archive.write(after, never())
    if (after.step !== progress.step) await this.#remindOf(after)
  }

  /** Of what is next in the schedule. */
  async #remindOf(progress: Progress): Promise<void> {
    const { delivery, status, step } = progress
    const { id, render } = delivery
    if (status === 'scheduled') await this.#remind({ id, render, waitMs: this.#leftOf(progress), step })
  }

  /** What is left of a wait that was written down, maybe by another clock. */
  #leftOf(written: Progress | Ask): number {
    return leftOf(written, this.#ports.clock.now())
  }

  #remind(notice: Notice): Promise<void> {
    return remind(this.#ports, [notice], never())
  }
}

/**
 * Each call of the store and of Kafka ends by itself, and what has begun is to be ended. One of its own for each call, as the listeners
 * on a shared one are searched each time.
 */
function never(): AbortSignal {
  return new AbortController().signal
}

function givenOf({ reminder }: Hold, progress: Progress): Pick<DueDelivery, 'delivery' | 'attempts' | 'dueAt'> {
  return { delivery: progress.delivery, attempts: progress.attempts, dueAt: reminder.dueAt }
}
