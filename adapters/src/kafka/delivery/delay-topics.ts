/**
 * Kafka as a timer. All records of a delay topic wait equally long, so they are in the order in which they are due, and only the head must
 * be watched. After its wait, a due record goes to the due topic. Any other record goes to the longest delay topic that fits into its
 * remaining time. If that is shorter than the shortest delay topic, it waits in memory. No record waits behind one of another topic.
 *
 * A reminder waits for a duration that never exceeds the wait of its topic. So if a clock jumps, here or at the sender, the record does not
 * wait for as long as the clock jumped.
 *
 * A reminder is done in its old topic when it is durable in the new one. If the process is killed in between, it is in both.
 */
import { FORMAT } from '@platen/contract/domain/format.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { raceFirst } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import type { KafkaConnection } from '../connect.ts'
import type { ConsumedRecord, GroupConsumer } from '../consumer/group-consumer.ts'
import { leaveRecord } from '../consumer/leave-record.ts'
import { deadLetterRecord } from '../dead-letter.ts'
import { type Reminder, reminderReader, type Unread } from './reminder.ts'
import { DELAY_TOPICS, type DelayTopic, DUE_TOPIC, WEBHOOK_DEAD_TOPIC } from './topic.ts'

/**
 * A wait that is this much shorter than a delay topic still uses that topic. Recording an attempt takes time, which must not move it to the
 * next shorter one.
 */
const WEBHOOK_DELAY_SLACK_MS = 250

/** Reminders of one delay topic held in memory, from its head on: enough that those due together are forwarded together. */
const WEBHOOK_DELAY_HELD_MAX = 256

/** Without the fields that depend on the delay topic. */
export interface NewReminder extends Omit<Reminder, 'dueAt' | 'ripeAt'> {
  /** Milliseconds until it is due; below 0 when overdue. A duration, as an instant would change with the clock. */
  readonly waitMs: number
}

export interface ReminderSender {
  readonly connection: Pick<KafkaConnection, 'send' | 'log'>
  readonly clock: Pick<Clock, 'now'>
  readonly prefix: string
  /** Called for each dead letter, for a counter. */
  readonly deadLettered?: (() => void) | undefined
}

/** Resolves when the reminders are durable in the topics in which they wait. */
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
        dueAt,
        ripeAt: Math.min(now + (delayTopic?.waitMs ?? 0), dueAt),
      }
      return { key: notice.id, value: JSON.stringify({ version: FORMAT, ...reminder }) }
    })
    return connection.send(prefix + (delayTopic?.topic ?? DUE_TOPIC), records, signal)
  })
  await Promise.all(sends)
}

/**
 * Handles a reminder that this process cannot read. One of a newer format stays where it is. Any other is dead-lettered, and its record is
 * done. Throws `Unavailable`; the caller must then call again.
 */
export async function dropReminder(
  sender: ReminderSender,
  { record, why }: { readonly record: ConsumedRecord; readonly why: Unread },
  signal: AbortSignal,
): Promise<void> {
  const { connection, prefix, deadLettered } = sender
  if ('newer' in why) return leaveRecord(record, why.newer, connection.log)
  const { fault: reason } = why
  await deadLetterRecord(connection, { record, reason, deadTopic: prefix + WEBHOOK_DEAD_TOPIC }, signal)
  record.done()
  deadLettered?.()
  const { topic, partition, offset } = record
  connection.log.error({ topic, partition, offset, reason }, 'record dead-lettered')
}

/** Returns the longest delay topic that exceeds the wait by at most a small slack; undefined if the reminder is due. */
export function delayTopicFor(waitMs: number): DelayTopic | undefined {
  if (waitMs <= 0) return undefined
  return DELAY_TOPICS.findLast((topic) => topic.waitMs <= waitMs + WEBHOOK_DELAY_SLACK_MS) ?? DELAY_TOPICS[0]
}

interface WaitingReminder {
  readonly reminder: Reminder
  readonly record: ConsumedRecord
  readonly delayTopic: DelayTopic
  /** When to examine it, and when it is due; both by the monotonic clock. */
  readonly at: number
  readonly dueAt: number
}

export interface DelayPorts extends ReminderSender {
  readonly connection: KafkaConnection
  readonly clock: Clock
}

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

  onRecords(): void {
    this.#arrival.notify()
  }

  /** Runs until the signal aborts, then rejects with its reason. */
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
        const read = this.#read(record.value)
        if ('value' in read) this.#hold(read.value, record, delayTopic)
        else await this.#retry(() => dropReminder(this.#ports, { record, why: read }, signal), signal)
      }
    }
  }

  #hold(reminder: Reminder, record: ConsumedRecord, delayTopic: DelayTopic): void {
    this.#waiting.push({ reminder, record, delayTopic, ...this.#timeOf(reminder, delayTopic) })
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
    // Waits in memory: the rest is shorter than any delay topic.
    const isShort = ({ dueAt }: WaitingReminder) => dueAt > at && dueAt - at < shortestMs
    const goes = ripe.filter((held) => !isShort(held))
    if (goes.length > 0) {
      const notices = goes.map(({ reminder: { dueAt: writtenDueAt, ripeAt: _ripeAt, ...notice }, dueAt }) => ({
        ...notice,
        waitMs: dueAt > at ? dueAt - at : Math.min(writtenDueAt - now, 0),
      }))
      await this.#retry(() => sendReminders(this.#ports, notices, signal), signal)
      for (const { record } of goes) record.done()
    }
    const gone = new Set(ripe)
    const stay = this.#waiting.filter((held) => !gone.has(held))
    this.#waiting = [...stay, ...ripe.filter(isShort).map((held) => ({ ...held, at: held.dueAt }))]
  }

  #retry(step: () => Promise<void>, signal: AbortSignal): Promise<void> {
    // Not the clock of the deliveries.
    const { clock, log } = this.#ports.connection
    return retryWhileUnavailable(step, { clock, log, dependency: 'kafka', operation: 'send', signal })
  }
}
