/**
 * A member of a consumer group that hands out records; callers mark them as done after any time and in any order. kafkajs fetches no more
 * until its handler returns, and the group drops a member whose handler takes too long. So the handler here only buffers records, and
 * pauses a partition whose buffer is full.
 *
 * Delivery is at least once. The consumer commits the offset before which everything is done, at intervals and at the end. After a crash,
 * later records are delivered again. Within one process no record is handed out twice at a time, even if a rebalance fetches it again: see
 * `watermark.ts`.
 */
import { openNotifier } from '@platen/lib/notifier.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import { openSerialQueue } from '@platen/lib/serial-queue.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Consumer, ConsumerCrashEvent, EachBatchPayload } from 'kafkajs'
import type { KnownRecord } from '../client/fingerprint.ts'
import { groupMember } from '../client/member.ts'
import { type KafkaConnection, throwUnavailable } from '../connect.ts'
import { retryTransient } from '../group.ts'
import {
  KAFKA_BACK_OFF,
  KAFKA_COMMIT_EVERY_MS,
  KAFKA_HEARTBEAT_MS,
  KAFKA_JOIN_MS_MAX,
  KAFKA_REQUEST_MS_MAX,
  KAFKA_SESSION_MS,
} from '../limit.ts'
import { type Lag, type Partition, partitionName, type StoredRecord } from '../partition/partition.ts'
import type { Position } from '../partition/watermark.ts'
import { Assignment } from './assignment.ts'
import type { ConsumedRecord, ConsumerSettings, GroupConsumer } from './group-consumer.ts'
import { type PartitionStart, readStarts } from './start.ts'

const SECOND_MS = 1000

/** A consumer without any activity for this long, not even a failed attempt to reach a broker, has stopped for good. */
export const KAFKA_SILENCE_MS_MAX = 60 * SECOND_MS

/** Partitions of a fetch that are received at a time: more than any of our topics has. */
const KAFKA_PARTITIONS_AT_ONCE = 64

/**
 * How long the broker may hold a fetch that finds nothing. A resumed partition joins the next fetch, so this is its longest delay. Each
 * fetch costs both sides a millisecond of CPU time, and a process has up to seven consumers. Not longer than half a heartbeat interval:
 * heartbeats are sent between fetches. A consumer that leaves also waits for its last fetch.
 */
const KAFKA_FETCH_WAIT_MS = KAFKA_HEARTBEAT_MS / 2

/**
 * Joins a group. Resolves when the group has assigned partitions, even if there are none. Throws `Unavailable`, or rejects with the
 * signal's reason.
 */
export async function openConsumer(
  connection: KafkaConnection,
  settings: ConsumerSettings,
  signal: AbortSignal,
): Promise<GroupConsumer> {
  const member = new Member(connection, settings)
  try {
    await member.join(signal)
    return member
  } catch (cause) {
    await member[Symbol.asyncDispose]()
    throw cause
  }
}

class Member implements GroupConsumer {
  readonly #connection: KafkaConnection
  readonly #settings: ConsumerSettings
  readonly #consumer: Consumer
  readonly #closing = new AbortController()
  readonly #assignment: Assignment
  #lastActivityAt: number
  #starting: Promise<void> = Promise.resolve()
  #hasStopped = false
  /** False between a crash and the restart, which begins with no partition paused. */
  #isRunning = false
  #isStarting = false
  #joined = Promise.withResolvers<void>()
  /** When the group last answered, by the clock that kafkajs reads. */
  #heartbeatAt = 0
  readonly #runCommit = openSerialQueue()
  /** Notified when a poll finds nothing. */
  readonly #drained = openNotifier()

  constructor(connection: KafkaConnection, settings: ConsumerSettings) {
    this.#connection = connection
    this.#settings = settings
    this.#assignment = new Assignment(settings)
    this.#lastActivityAt = connection.clock.monotonic()
    this.#consumer = groupMember(
      connection.client({ activity: () => this.#touch(), reconnected: () => this.#onReconnection() }),
      {
        group: settings.group,
        fetchWaitMs: KAFKA_FETCH_WAIT_MS,
        onMissing: (place) => this.#onMissing(place),
        restarts: { clock: connection.clock, closing: this.#closing.signal },
      },
    )
  }

  async join(signal: AbortSignal): Promise<void> {
    const { clock } = this.#connection
    this.#listen()
    const deadline = clock.timeout(KAFKA_JOIN_MS_MAX)
    const ended = AbortSignal.any([signal, deadline, this.#closing.signal])
    const joining = retryTransient(this.#connection, () => this.#startAndJoin(), { signal: ended })
    await raceAbort(joining, ended).catch((cause: unknown) => {
      signal.throwIfAborted()
      const { group } = this.#settings
      if (deadline.aborted) throw new Unavailable(`this process could not join the group ${group} in time`, { cause })
      return throwUnavailable(cause)
    })
    void this.#maintain()
  }

  async #startAndJoin(): Promise<void> {
    this.#joined = Promise.withResolvers()
    // The start may fail first.
    this.#joined.promise.catch(() => undefined)
    await this.#restart()
    await this.#joined.promise
  }

  /** Resolves when it has joined, or when kafkajs retries a failed attempt. */
  async #start(): Promise<void> {
    const { topics } = this.#settings
    const { signal } = this.#closing
    await this.#consumer.connect()
    signal.throwIfAborted()
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true })
    signal.throwIfAborted()
    await this.#consumer.run({
      autoCommit: false,
      // All partitions of a fetch wait for room at the same time, so that none waits behind another.
      ...(this.#settings.isSeeking && { partitionsConsumedConcurrently: KAFKA_PARTITIONS_AT_ONCE }),
      eachBatch: (payload) => this.#receive(payload),
    })
  }

  poll(topic: string): ConsumedRecord | undefined {
    const taken = this.#assignment.take(topic)
    if (taken === undefined) {
      this.#drained.notify()
      return undefined
    }
    this.#resumeIfRoom(taken.partition)
    return this.#deliver(taken.record, taken.partition)
  }

  awaitingSeek(): readonly Partition[] {
    return this.#assignment.waiting()
  }

  seek(topic: string, number: number, position: Position | undefined): void {
    const partition = this.#assignment.find({ topic, partition: number })
    if (partition === undefined) return
    const opened = this.#assignment.reopen(partition)
    if (position === undefined) this.#await(opened)
    else this.#fetchFrom(opened, opened.startAt(position, undefined))
  }

  async commit(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const deadline = this.#connection.clock.timeout(KAFKA_REQUEST_MS_MAX)
    const moved = this.#assignment.uncommitted()
    const ended = AbortSignal.any([signal, deadline])
    await this.#runCommit(() => this.#commitPositions(), ended).catch((cause: unknown) => {
      signal.throwIfAborted()
      return throwUnavailable(cause)
    })
    // kafkajs reports no error if it skips a commit because it is about to restart.
    if (moved.some((position) => this.#assignment.isLeft(position)))
      throw new Unavailable(`the group ${this.#settings.group} did not commit all offsets`)
  }

  isAlive(): boolean {
    return this.#connection.clock.monotonic() - this.#lastActivityAt < KAFKA_SILENCE_MS_MAX
  }

  lag(): readonly Lag[] {
    return this.#assignment.lag()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { clock, log } = this.#connection
    if (this.#closing.signal.aborted) return
    this.#closing.abort(new Error('the consumer was closed'))
    const never = new AbortController().signal
    await this.commit(never).catch((err: unknown) =>
      log.warn({ group: this.#settings.group, err }, 'offset commit on close failed'),
    )
    this.#assignment.assign([])
    // Else a broker that does not answer would delay the exit. The group then notices by itself that the member is gone.
    await raceAbort(this.#leave(), clock.timeout(KAFKA_REQUEST_MS_MAX)).catch(() => undefined)
  }

  /**
   * Waits for the join before it leaves. If kafkajs is stopped while joining, it still joins when the broker answers, and then holds
   * partitions that nobody reads for as long as the process lives.
   */
  async #leave(): Promise<void> {
    await this.#starting.catch(() => undefined)
    await this.#consumer.disconnect()
  }

  #listen(): void {
    const { events } = this.#consumer
    this.#consumer.on(events.FETCH_START, () => this.#touch())
    this.#consumer.on(events.HEARTBEAT, () => this.#onHeartbeat())
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => this.#onAssignment(payload.memberAssignment))
    this.#consumer.on(events.STOP, () => {
      this.#isRunning = false
    })
    this.#consumer.on(events.COMMIT_OFFSETS, ({ payload }) => this.#assignment.committed(payload.topics))
    this.#consumer.on(events.CRASH, (event) => this.#crashed(event))
  }

  #touch(): void {
    this.#lastActivityAt = this.#connection.clock.monotonic()
  }

  #onHeartbeat(): void {
    this.#touch()
    this.#heartbeatAt = this.#connection.clock.now()
  }

  #onAssignment(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#onHeartbeat()
    // While it closes, it joins only in order to leave.
    if (this.#closing.signal.aborted) return
    this.#isRunning = true
    const before = this.#assignment.all().length
    this.#assignment.assign(
      Object.entries(assignment).flatMap(([topic, numbers]) => numbers.map((partition) => ({ topic, partition }))),
    )
    for (const partition of this.#assignment.all()) {
      // Commits of this generation are not known yet.
      partition.committed = undefined
      this.#await(partition)
    }
    const { group } = this.#settings
    this.#connection.log.info({ group, partitions: this.#assignment.all().length, before }, 'partitions assigned')
    this.#joined.resolve()
  }

  /** The broker may have another log than before. */
  #onReconnection(): void {
    if (!this.#isRunning || this.#closing.signal.aborted) return
    for (const partition of this.#assignment.all()) this.#startAgain(partition)
  }

  /** The log lacks the next offset: retention has deleted it, or it is another log. */
  #onMissing(place: Pick<Partition, 'topic' | 'partition'>): void {
    const partition = this.#assignment.find(place)
    if (partition !== undefined) this.#startAgain(partition)
  }

  #startAgain(partition: Partition): void {
    if (this.#settings.isSeeking) this.seek(partition.topic, partition.partition, undefined)
    else this.#await(partition)
  }

  /** Fetches nothing of a partition until its start is known. */
  #await(partition: Partition): void {
    this.#assignment.setNextOffset(partition, undefined)
    this.#pause(partition)
    if (this.#settings.isSeeking) this.#settings.onRecords()
    else void this.#startWaiting()
  }

  /** Starts all waiting partitions at their committed offsets. Never rejects. */
  async #startWaiting(): Promise<void> {
    if (this.#isStarting) return
    this.#isStarting = true
    const { clock, log } = this.#connection
    const { signal } = this.#closing
    const options = { clock, log, dependency: 'kafka', operation: 'fetch_offsets', signal }
    const read = async () => {
      const starts = await readStarts(this.#connection, this.#settings, signal)
      for (const partition of this.#assignment.waiting()) this.#startAt(partition, starts)
      if (this.#assignment.waiting().length > 0)
        throw new Unavailable('Kafka does not know all assigned partitions yet')
    }
    // Fails only because it is closed.
    await retryWhileUnavailable(read, { ...options, waitMsMax: KAFKA_BACK_OFF.msMax }).catch(() => undefined)
    this.#isStarting = false
  }

  #startAt(waiting: Partition, starts: ReadonlyMap<string, PartitionStart>): void {
    const start = starts.get(partitionName(waiting.topic, waiting.partition))
    if (start === undefined) return
    const last = this.#assignment.watermarkOf(waiting).last()
    const partition = last !== undefined && last.offset >= start.end ? this.#replace(waiting, last) : waiting
    this.#fetchFrom(partition, partition.startAt(start.position, start.committed))
  }

  #fetchFrom(partition: Partition, offset: number): void {
    const { topic, partition: number } = partition
    this.#assignment.setNextOffset(partition, offset)
    // If it is not running, all partitions are assigned again before anything is fetched.
    if (this.#isRunning) this.#consumer.seek({ topic, partition: number, offset: String(offset) })
    if (partition.isFull()) this.#pause(partition)
    else this.#resume(partition)
  }

  /** Forgets everything about a partition when its log lacks a record that was read, so it must be another log. */
  #replace(before: Partition, { offset }: KnownRecord): Partition {
    const { topic, partition } = before
    const { group } = this.#settings
    this.#connection.log.warn({ group, topic, partition, offset }, 'kafka lost records, reading again')
    return this.#assignment.replace(before)
  }

  async #receive({ batch }: EachBatchPayload): Promise<void> {
    const partition = this.#assignment.find(batch)
    // Fetched before the partition went to another member.
    if (partition === undefined || this.#closing.signal.aborted) return
    if (!this.#isNext(batch, partition)) return
    const end = Number(batch.highWatermark)
    const missing = partition.missing(batch.messages, end)
    if (missing !== undefined) return this.#startOver(partition, missing)
    const count = partition.add(batch.messages, end)
    if (count > 0) this.#settings.onRecords()
    if (this.#settings.isSeeking) await this.#waitForRoom(partition)
    if (partition.isFull()) this.#pause(partition)
  }

  /**
   * Waits until the reader has taken what was fetched, before kafkajs fetches more. If all partitions were paused, kafkajs would sleep for
   * the time of an empty fetch.
   */
  async #waitForRoom(partition: Partition): Promise<void> {
    if (!partition.isFull()) return
    const over = AbortSignal.any([this.#closing.signal, this.#connection.clock.timeout(KAFKA_FETCH_WAIT_MS)])
    while (partition.isFull() && !over.aborted) await this.#drained.wait(over).catch(() => undefined)
  }

  #isNext(batch: EachBatchPayload['batch'] & { fetchedOffset?: string }, partition: Partition): boolean {
    const next = this.#assignment.nextOffset(partition)
    const isNext = next === Number(batch.fetchedOffset)
    if (isNext) this.#assignment.setNextOffset(partition, Number(batch.lastOffset()) + 1)
    // It was fetched before the seek.
    else if (next !== undefined) this.#startAgain(partition)
    return isNext
  }

  /** Reads another log than before: from the committed offset, unless that belongs to the old log. */
  #startOver(before: Partition, missing: KnownRecord): void {
    const isCommitted = missing.offset === (before.committed ?? 0) - 1
    const partition = this.#replace(before, missing)
    partition.hasOtherLog = true
    if (isCommitted && !this.#settings.isSeeking) this.#fetchFrom(partition, 0)
    else this.#await(partition)
  }

  #deliver(record: StoredRecord, from: Partition): ConsumedRecord {
    // Another log has other records at the same offsets.
    const isValid = this.#assignment.validity(from)
    return {
      ...record,
      done: () => {
        if (!isValid()) return
        const partition = this.#assignment.find(record)
        if (partition === undefined) return this.#assignment.watermarkOf(record).done(record.offset)
        partition.done(record)
        this.#resumeIfRoom(partition)
      },
      requeue: () => {
        if (!isValid()) return
        const partition = this.#assignment.find(record)
        if (partition === undefined) this.#assignment.watermarkOf(record).release(record.offset)
        else partition.requeue(record)
        this.#settings.onRecords()
      },
    }
  }

  #resumeIfRoom(partition: Partition): void {
    const next = this.#assignment.nextOffset(partition)
    // During the pause, the topic may have been created again, with more records than were read of the old one.
    if (next !== undefined && partition.isPaused && !partition.isFull())
      this.#fetchFrom(partition, partition.checkFrom(next))
  }

  #pause(partition: Partition): void {
    partition.isPaused = true
    if (this.#isRunning) this.#consumer.pause([{ topic: partition.topic, partitions: [partition.partition] }])
  }

  #resume(partition: Partition): void {
    partition.isPaused = false
    if (this.#isRunning) this.#consumer.resume([{ topic: partition.topic, partitions: [partition.partition] }])
  }

  /** Commits at intervals, and restarts a stopped consumer, until closed. */
  async #maintain(): Promise<void> {
    const [{ clock, log }, { signal }] = [this.#connection, this.#closing]
    while (!signal.aborted) {
      await clock.sleep(KAFKA_COMMIT_EVERY_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      // The next round retries. Uncommitted records are at worst delivered again.
      await this.#maintainOnce(signal).catch((err: unknown) =>
        log.debug({ group: this.#settings.group, err }, 'consumer maintenance failed'),
      )
    }
  }

  async #maintainOnce(signal: AbortSignal): Promise<void> {
    if (this.#isClockBehind()) {
      const { group } = this.#settings
      this.#connection.log.warn({ group }, 'clock was set back, joining again')
      await this.#consumer.stop()
      this.#hasStopped = true
    }
    if (this.#hasStopped) await this.#restart()
    else await this.commit(signal)
  }

  /**
   * kafkajs sends a heartbeat when the last one is old enough by the wall clock. If that clock is set back by an hour, it sends none for an
   * hour, and the group gives the partitions to others. A restarted consumer begins with the current clock.
   */
  #isClockBehind(): boolean {
    return this.#isRunning && this.#connection.clock.now() < this.#heartbeatAt - KAFKA_SESSION_MS / 2
  }

  async #commitPositions(): Promise<void> {
    // Read again here, since revoked partitions must not be committed. kafkajs adds the generation in the same turn of the event loop.
    const offsets = this.#assignment.offsetsToCommit()
    if (offsets.length > 0) await this.#consumer.commitOffsets(offsets)
  }

  #crashed({ payload: { error, restart } }: ConsumerCrashEvent): void {
    this.#touch()
    const [{ log, isNews }, { group }, isClosing] = [this.#connection, this.#settings, this.#closing.signal.aborted]
    if (isNews(`${group} ${error.message}`) && (restart || !isClosing))
      log.warn({ group, err: error }, 'consumer crashed, restarting')
    if (restart) return
    // For a caller that still waits for the join.
    this.#joined.reject(error)
    this.#hasStopped = !isClosing
  }

  /** Also used after errors that kafkajs does not retry: brokers report such errors while they start and stop, too. */
  async #restart(): Promise<void> {
    this.#hasStopped = false
    this.#starting = this.#start()
    await this.#starting.catch((cause: unknown) => {
      this.#hasStopped = true
      throw cause
    })
  }
}
