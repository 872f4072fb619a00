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
import { openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceFirst } from '@platen/contract/race.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import { WEBHOOK_DELAY_HELD_MAX, WEBHOOK_DELAY_SLACK_MS } from '@platen/contract/webhook-limit.ts'
import type { KafkaConnection } from '../connect.ts'
import type { ConsumedRecord, GroupConsumer } from '../consumer/consumer.ts'
import { deadLetterRecord } from '../dead-letter.ts'
import { type Reminder, reminderReader, VERSION } from './reminder.ts'
import { DELAY_TOPICS, type DelayTopic, DUE_TOPIC, WEBHOOK_DEAD_TOPIC } from './topic.ts'

/** What a reminder says, but for what the rungs make of it. */
export interface NewReminder extends Omit<Reminder, 'version' | 'dueAt' | 'ripeAt'> {
  /** Milliseconds until it is due: a moment would be another one for a clock that was set meanwhile. Below 0 where it is overdue. */
  readonly waitMs: number
}

export interface ReminderSender {
  readonly connection: Pick<KafkaConnection, 'send' | 'log'>
  readonly clock: Pick<Clock, 'now'>
  /** Before the names of topics. */
  readonly prefix: string
  /** Told of each reminder that was buried, for a counter. */
  readonly buried?: (() => void) | undefined
}

/** Puts reminders where they wait until they are due. Resolves when they are durable. */
export async function sendReminders(
  sender: ReminderSender,
  notices: readonly NewReminder[],
  signal: AbortSignal,
): Promise<void> {
  const { connection, clock, prefix } = sender
  const now = clock.now()
  const byTopic = Map.groupBy(notices, ({ waitMs }) => delayTopicFor(waitMs))
  const sends = [...byTopic].map(([delayTopic, group]) => {
    const records = group.map(({ waitMs, ...notice }) => {
      const dueAt = now + Math.ceil(waitMs)
      const reminder: Reminder = {
        ...notice,
        version: VERSION,
        dueAt,
        ripeAt: Math.min(now + (delayTopic?.waitMs ?? 0), dueAt),
      }
      return { key: notice.id, value: JSON.stringify(reminder) }
    })
    return connection.send(prefix + (delayTopic?.topic ?? DUE_TOPIC), records, signal)
  })
  await Promise.all(sends)
}

/** Puts aside a reminder that nobody can work with, and passes its offset. Throws `Unavailable`; then it is to be done again. */
export async function buryReminder(
  { connection, prefix, buried }: ReminderSender,
  { record, reason }: { readonly record: ConsumedRecord; readonly reason: string },
  signal: AbortSignal,
): Promise<void> {
  await deadLetterRecord(connection, { record, reason, deadTopic: prefix + WEBHOOK_DEAD_TOPIC }, signal)
  record.done()
  buried?.()
  const { topic, partition, offset } = record
  connection.log.warn({ topic, partition, offset, reason }, 'record dead-lettered')
}

/** The longest rung that is not longer than the wait, but for a little; undefined for what is due. */
export function delayTopicFor(waitMs: number): DelayTopic | undefined {
  if (waitMs <= 0) return undefined
  return DELAY_TOPICS.findLast((topic) => topic.waitMs <= waitMs + WEBHOOK_DELAY_SLACK_MS) ?? DELAY_TOPICS[0]
}

interface WaitingReminder {
  readonly reminder: Reminder
  readonly record: ConsumedRecord
  readonly delayTopic: DelayTopic
  /** When it is looked at, and when it is due, by the clock that measures durations. */
  readonly at: number
  readonly dueAt: number
}

export interface DelayPorts extends ReminderSender {
  readonly connection: KafkaConnection
  readonly clock: Clock
}

/** Passes on what ripens. */
export class DelayTopicConsumer {
  readonly #ports: DelayPorts
  readonly #poll: GroupConsumer['poll']
  readonly #arrival = openNotifier()
  readonly #read = reminderReader()
  #waiting: WaitingReminder[] = []

  constructor(timer: DelayPorts, poll: GroupConsumer['poll']) {
    this.#ports = timer
    this.#poll = poll
  }

  /** Something may be there to be taken. */
  onRecords(): void {
    this.#arrival.notify()
  }

  /** Runs until the signal aborts, with whose reason it then rejects. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock } = this.#ports
    for (;;) {
      await this.#fill(signal)
      const now = clock.monotonic()
      const ripe = this.#waiting.filter(({ at }) => at <= now)
      if (ripe.length > 0) {
        await this.#forward(ripe, signal)
        continue
      }
      const next = Math.min(...this.#waiting.map(({ at }) => at))
      const waits = [(over: AbortSignal) => this.#arrival.wait(over)]
      if (this.#waiting.length > 0) waits.push((over) => clock.sleep(next - clock.monotonic(), over))
      await raceFirst(waits, signal)
    }
  }

  async #fill(signal: AbortSignal): Promise<void> {
    const { prefix } = this.#ports
    for (const delayTopic of DELAY_TOPICS) {
      let room = WEBHOOK_DELAY_HELD_MAX - this.#waiting.filter((held) => held.delayTopic === delayTopic).length
      for (; room > 0; room--) {
        const record = this.#poll(prefix + delayTopic.topic)
        if (record === undefined) break
        const reminder = this.#read(record.value)
        if ('fault' in reminder) await this.#deadLetter(record, reminder.fault, signal)
        else this.#waiting.push({ reminder, record, delayTopic, ...this.#timeOf(reminder, delayTopic) })
      }
    }
  }

  #timeOf({ ripeAt, dueAt }: Reminder, { waitMs }: DelayTopic): Pick<WaitingReminder, 'at' | 'dueAt'> {
    const { clock } = this.#ports
    const now = clock.now()
    const at = clock.monotonic() + Math.min(Math.max(ripeAt - now, 0), waitMs)
    return { at, dueAt: at + Math.max(dueAt - Math.max(ripeAt, now), 0) }
  }

  async #forward(ripe: readonly WaitingReminder[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports
    const [now, at] = [clock.now(), clock.monotonic()]
    const shortestMs = Math.min(...DELAY_TOPICS.map(({ waitMs }) => waitMs))
    // Too soon for any rung: looked at again when it is due.
    const isShort = ({ dueAt }: WaitingReminder) => dueAt > at && dueAt - at < shortestMs
    const goes = ripe.filter((held) => !isShort(held))
    if (goes.length > 0) {
      const notices = goes.map(({ reminder: { dueAt: toldDueAt, ripeAt: _ripeAt, ...notice }, dueAt }) => ({
        ...notice,
        waitMs: dueAt > at ? dueAt - at : Math.min(toldDueAt - now, 0),
      }))
      await this.#retry(() => sendReminders(this.#ports, notices, signal), signal)
      for (const { record } of goes) record.done()
    }
    const gone = new Set(ripe)
    const stay = this.#waiting.filter((held) => !gone.has(held))
    this.#waiting = [...stay, ...ripe.filter(isShort).map((held) => ({ ...held, at: held.dueAt }))]
  }

  async #deadLetter(record: ConsumedRecord, reason: string, signal: AbortSignal): Promise<void> {
    await this.#retry(() => buryReminder(this.#ports, { record, reason }, signal), signal)
  }

  #retry(step: () => Promise<void>, signal: AbortSignal): Promise<void> {
    // In the time of the broker, whatever time deliveries are due in.
    const { clock, log } = this.#ports.connection
    return retryWhileUnavailable(step, { clock, log, signal })
  }
}
