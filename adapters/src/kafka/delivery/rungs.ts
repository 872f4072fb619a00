/**
 * Kafka as a timer. A topic in which everything waits equally long is in the order in which it is due, so its head alone has to be
 * watched: it goes to the topic of what is due, or, where more is left than the rung waits, to the longest rung that fits into that.
 * What is left below the shortest is waited out in memory. Nothing waits behind what stands in another rung.
 *
 * What is waited for is a duration, told by the reminder and never longer than its rung: a clock that jumps, here or where it was sent,
 * makes nothing wait for as long as it jumped.
 *
 * A reminder is done where it stood when it is durable where it goes: killed in between, it stands in both, and is there twice.
 */
import { bell, firstOf } from '@platen/contract/bell.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { repeatWhileUnavailable } from '@platen/contract/repeat.ts'
import { WEBHOOK_RUNG_HELD_MAX, WEBHOOK_RUNG_SLACK_MS } from '@platen/contract/webhook-limit.ts'
import type { KafkaConnection } from '../connect.ts'
import type { ConsumedRecord, GroupConsumer } from '../consumer/consumer.ts'
import { buryRecord } from '../dead-letter.ts'
import { type Reminder, reminderReader, VERSION } from './reminder.ts'
import { DUE_TOPIC, RUNGS, type Rung, WEBHOOK_DEAD_TOPIC } from './topic.ts'

/** What a reminder says, but for what the rungs make of it. */
export interface Notice extends Omit<Reminder, 'version' | 'dueAt' | 'ripeAt'> {
  /** Milliseconds until it is due: a moment would be another one for a clock that was set meanwhile. Below 0 where it is overdue. */
  readonly waitMs: number
}

export interface Sender {
  readonly connection: Pick<KafkaConnection, 'send' | 'log'>
  readonly clock: Pick<Clock, 'now'>
  /** Before the names of topics. */
  readonly prefix: string
  /** Told of each reminder that was buried, for a counter. */
  readonly buried?: (() => void) | undefined
}

/** Puts reminders where they wait until they are due. Resolves when they are durable. */
export async function remind(sender: Sender, notices: readonly Notice[], signal: AbortSignal): Promise<void> {
  const { connection, clock, prefix } = sender
  const now = clock.now()
  const byRung = Map.groupBy(notices, ({ waitMs }) => rungFor(waitMs))
  const sends = [...byRung].map(([rung, group]) => {
    const records = group.map(({ waitMs, ...notice }) => {
      const dueAt = now + Math.ceil(waitMs)
      const reminder: Reminder = {
        ...notice,
        version: VERSION,
        dueAt,
        ripeAt: Math.min(now + (rung?.waitMs ?? 0), dueAt),
      }
      return { key: notice.id, value: JSON.stringify(reminder) }
    })
    return connection.send(prefix + (rung?.topic ?? DUE_TOPIC), records, signal)
  })
  await Promise.all(sends)
}

/** Puts aside a reminder that nobody can work with, and passes its offset. Throws `Unavailable`; then it is to be done again. */
export async function buryReminder(
  { connection, prefix, buried }: Sender,
  { record, reason }: { readonly record: ConsumedRecord; readonly reason: string },
  signal: AbortSignal,
): Promise<void> {
  await buryRecord(connection, { record, reason, deadTopic: prefix + WEBHOOK_DEAD_TOPIC }, signal)
  record.done()
  buried?.()
  const { topic, partition, offset } = record
  connection.log.warn({ topic, partition, offset, reason }, 'record buried')
}

/** The longest rung that is not longer than the wait, but for a little; undefined for what is due. */
export function rungFor(waitMs: number): Rung | undefined {
  if (waitMs <= 0) return undefined
  return RUNGS.findLast((rung) => rung.waitMs <= waitMs + WEBHOOK_RUNG_SLACK_MS) ?? RUNGS[0]
}

interface Held {
  readonly reminder: Reminder
  readonly record: ConsumedRecord
  readonly rung: Rung
  /** When it is looked at, and when it is due, by the clock that measures durations. */
  readonly at: number
  readonly dueAt: number
}

export interface Timer extends Sender {
  readonly connection: KafkaConnection
  readonly clock: Clock
}

/** Passes on what ripens. */
export class Rungs {
  readonly #timer: Timer
  readonly #poll: GroupConsumer['poll']
  readonly #arrived = bell()
  readonly #read = reminderReader()
  #held: Held[] = []

  constructor(timer: Timer, poll: GroupConsumer['poll']) {
    this.#timer = timer
    this.#poll = poll
  }

  /** Something may be there to be taken. */
  arrived(): void {
    this.#arrived.ring()
  }

  /** Runs until the signal aborts, with whose reason it then rejects. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock } = this.#timer
    for (;;) {
      await this.#fill(signal)
      const now = clock.monotonic()
      const ripe = this.#held.filter(({ at }) => at <= now)
      if (ripe.length > 0) {
        await this.#passOn(ripe, signal)
        continue
      }
      const next = Math.min(...this.#held.map(({ at }) => at))
      const waits = [(over: AbortSignal) => this.#arrived.rung(over)]
      if (this.#held.length > 0) waits.push((over) => clock.sleep(next - clock.monotonic(), over))
      await firstOf(waits, signal)
    }
  }

  async #fill(signal: AbortSignal): Promise<void> {
    const { prefix } = this.#timer
    for (const rung of RUNGS) {
      let room = WEBHOOK_RUNG_HELD_MAX - this.#held.filter((held) => held.rung === rung).length
      for (; room > 0; room--) {
        const record = this.#poll(prefix + rung.topic)
        if (record === undefined) break
        const reminder = this.#read(record.value)
        if ('fault' in reminder) await this.#bury(record, reminder.fault, signal)
        else this.#held.push({ reminder, record, rung, ...this.#timeOf(reminder, rung) })
      }
    }
  }

  #timeOf({ ripeAt, dueAt }: Reminder, { waitMs }: Rung): Pick<Held, 'at' | 'dueAt'> {
    const { clock } = this.#timer
    const now = clock.now()
    const at = clock.monotonic() + Math.min(Math.max(ripeAt - now, 0), waitMs)
    return { at, dueAt: at + Math.max(dueAt - Math.max(ripeAt, now), 0) }
  }

  async #passOn(ripe: readonly Held[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#timer
    const [now, at] = [clock.now(), clock.monotonic()]
    const shortestMs = Math.min(...RUNGS.map(({ waitMs }) => waitMs))
    // Too soon for any rung: looked at again when it is due.
    const isShort = ({ dueAt }: Held) => dueAt > at && dueAt - at < shortestMs
    const goes = ripe.filter((held) => !isShort(held))
    if (goes.length > 0) {
      const notices = goes.map(({ reminder: { dueAt: toldDueAt, ripeAt: _ripeAt, ...notice }, dueAt }) => ({
        ...notice,
        waitMs: dueAt > at ? dueAt - at : Math.min(toldDueAt - now, 0),
      }))
      await this.#repeat(() => remind(this.#timer, notices, signal), signal)
      for (const { record } of goes) record.done()
    }
    const gone = new Set(ripe)
    const stay = this.#held.filter((held) => !gone.has(held))
    this.#held = [...stay, ...ripe.filter(isShort).map((held) => ({ ...held, at: held.dueAt }))]
  }

  async #bury(record: ConsumedRecord, reason: string, signal: AbortSignal): Promise<void> {
    await this.#repeat(() => buryReminder(this.#timer, { record, reason }, signal), signal)
  }

  #repeat(step: () => Promise<void>, signal: AbortSignal): Promise<void> {
    // In the time of the broker, whatever time deliveries are due in.
    const { clock, log } = this.#timer.connection
    return repeatWhileUnavailable(step, { clock, log, signal })
  }
}
