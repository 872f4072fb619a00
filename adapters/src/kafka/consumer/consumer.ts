/**
 * A member of a consumer group that hands out records and takes them back as done, after any time and in any order. kafkajs fetches no
 * more until its handler returns, and the group drops a member whose handler takes too long. So the handler here only puts records into
 * a buffer, and pauses a partition whose buffer is full.
 *
 * Delivery is at least once. The consumer commits the offset before which everything is done, at intervals and at the end. Records after
 * that offset are delivered again after a crash. Within one process no record is handed out twice at a time, even if a rebalance
 * fetches it again: see `watermark.ts`.
 */
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { openSerialQueue } from '@platen/contract/serial-queue.ts'
import type { Consumer, ConsumerCommitOffsetsEvent, ConsumerCrashEvent, EachBatchPayload } from 'kafkajs'
import { groupMember } from '../client/member.ts'
import { type KafkaConnection, throwUnavailable } from '../connect.ts'
import {
  KAFKA_COMMIT_EVERY_MS,
  KAFKA_FETCH_WAIT_MS,
  KAFKA_JOIN_MS_MAX,
  KAFKA_REQUEST_MS_MAX,
  KAFKA_SILENCE_MS_MAX,
} from '../limit.ts'
import { type Lag, openPartition, type Partition, partitionName, type StoredRecord } from '../partition/partition.ts'
import { openWatermark, type Watermark } from '../partition/watermark.ts'

export interface ConsumerSettings {
  /** Full names, with the prefix. Every member of a group must consume the same topics. */
  readonly group: string
  readonly topics: readonly string[]
  /** Called when `poll` may return more than before. */
  onRecords(): void
  /** Watermarks by partition name, for a process that joins the group again while it still has records in hand. */
  readonly watermarks?: Map<string, Watermark>
  /** Does the consumer set the start of each partition by `seek`? Nothing is fetched before that, whatever is committed. */
  readonly isSeeking?: boolean
}

/** A record that was handed out. */
export interface ConsumedRecord extends StoredRecord {
  /** The record will not be delivered again. Kept in memory until the next commit. Also works after the consumer was closed. */
  done(): void
  /** Puts the record back to the head of its partition. If the partition belongs to another member by now, that member gets it. */
  requeue(): void
}

/** Closing it commits what is done, drops buffered records, and leaves the group, so that no member waits for its session to time out. */
export interface GroupConsumer extends AsyncDisposable {
  /** Returns the next buffered record of a topic: in order within a partition, the partitions in turn. Never waits. */
  poll(topic: string): ConsumedRecord | undefined
  /**
   * Resolves when everything that is done now is committed. Leaves out partitions that went to another member; that member reads the
   * uncommitted records again. Throws `Unavailable`.
   */
  commit(signal: AbortSignal): Promise<void>
  /** With `isSeeking`: the partitions that wait for `seek`. `onRecords` is called when there may be more of them. */
  awaitingSeek(): readonly { readonly topic: string; readonly partition: number }[]
  /** Restarts a partition at an offset; without an offset it waits for `seek` again. Drops its buffered records. */
  seek(topic: string, partition: number, offset: number | undefined): void
  /** False after a silence so long that only a new process helps. A consumer that cannot reach a broker retries, and is alive. */
  isAlive(): boolean
  lag(): readonly Lag[]
}

/** Joins a group. Resolves when partitions are assigned, or none. Throws `Unavailable`, or rejects with the signal's reason. */
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
  readonly #watermarks: Map<string, Watermark>
  readonly #closing = new AbortController()
  /** The partitions assigned to this member, by name. */
  #partitions = new Map<string, Partition>()
  /** With `isSeeking`, the next offset to fetch of each partition, by name; undefined = it waits for `seek`. */
  readonly #offsets = new Map<string, number | undefined>()
  /** The partition at which the next poll begins: they take turns. */
  #nextPartition = 0
  #lastActivityAt: number
  #starting: Promise<void> = Promise.resolve()
  #hasStopped = false
  /** False between a crash and the restart, which begins with no partition paused. */
  #isRunning = false
  readonly #joined = Promise.withResolvers<void>()
  readonly #runCommit = openSerialQueue()

  constructor(connection: KafkaConnection, settings: ConsumerSettings) {
    this.#connection = connection
    this.#settings = settings
    this.#watermarks = settings.watermarks ?? new Map()
    this.#lastActivityAt = connection.clock.monotonic()
    this.#consumer = groupMember(
      connection.client(() => this.#touch()),
      {
        group: settings.group,
        fetchWaitMs: KAFKA_FETCH_WAIT_MS,
        // Else a consumer that fails while it is being closed would start again.
        shouldRestart: () => !this.#closing.signal.aborted,
      },
    )
  }

  async join(signal: AbortSignal): Promise<void> {
    const { clock } = this.#connection
    // The caller may have stopped waiting by then.
    this.#joined.promise.catch(() => undefined)
    this.#listen()
    const deadline = clock.timeout(KAFKA_JOIN_MS_MAX)
    this.#starting = this.#start()
    const joining = this.#starting.then(() => this.#joined.promise)
    await raceAbort(joining, AbortSignal.any([signal, deadline])).catch((cause: unknown) => {
      signal.throwIfAborted()
      const { group } = this.#settings
      if (deadline.aborted) throw new Unavailable(`this process could not join the group ${group} in time`, { cause })
      return throwUnavailable(cause)
    })
    void this.#maintain()
  }

  /** Resolves when it has joined, or when a failed attempt is being retried. */
  async #start(): Promise<void> {
    const { topics } = this.#settings
    const { signal } = this.#closing
    await this.#consumer.connect()
    signal.throwIfAborted()
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true })
    signal.throwIfAborted()
    await this.#consumer.run({ autoCommit: false, eachBatch: async (payload) => this.#receive(payload) })
  }

  poll(topic: string): ConsumedRecord | undefined {
    const partitions = [...this.#partitions.values()]
    for (let i = 0; i < partitions.length; i++) {
      const index = (this.#nextPartition + i) % partitions.length
      const partition = partitions[index]
      const record = partition?.topic === topic ? partition.shift() : undefined
      if (partition === undefined || record === undefined) continue
      this.#nextPartition = index + 1
      this.#resumeIfRoom(partition)
      return this.#deliver(record, partition)
    }
    return undefined
  }

  awaitingSeek(): readonly Partition[] {
    return [...this.#partitions].filter(([name]) => this.#offsets.get(name) === undefined).map(([, each]) => each)
  }

  seek(topic: string, partition: number, offset: number | undefined): void {
    const name = partitionName(topic, partition)
    const before = this.#partitions.get(name)
    if (before === undefined) return
    before.revoke()
    const opened = openPartition(topic, partition, this.#watermarkOf(name))
    this.#partitions.set(name, opened)
    this.#offsets.set(name, offset)
    if (offset === undefined) {
      this.#pause(opened)
      return this.#settings.onRecords()
    }
    // If it is not running, all partitions are assigned anew before anything is fetched.
    if (this.#isRunning) this.#consumer.seek({ topic, partition, offset: String(offset) })
    this.#resume(opened)
  }

  async commit(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const deadline = this.#connection.clock.timeout(KAFKA_REQUEST_MS_MAX)
    const moved = this.#uncommitted()
    const ended = AbortSignal.any([signal, deadline])
    await this.#runCommit(() => this.#commitPositions(), ended).catch((cause: unknown) => {
      signal.throwIfAborted()
      return throwUnavailable(cause)
    })
    // kafkajs reports no error if it skips a commit because it is about to restart.
    const left = moved.filter((each) => this.#isOurs(each.partition) && (each.partition.committed ?? 0) < each.position)
    if (left.length > 0) throw new Unavailable(`the group ${this.#settings.group} did not commit all offsets`)
  }

  isAlive(): boolean {
    return this.#connection.clock.monotonic() - this.#lastActivityAt < KAFKA_SILENCE_MS_MAX
  }

  lag(): readonly Lag[] {
    return [...this.#partitions.values()].map((partition) => ({
      topic: partition.topic,
      partition: partition.partition,
      records: partition.lag(),
    }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { clock, log } = this.#connection
    if (this.#closing.signal.aborted) return
    this.#closing.abort(new Error('the consumer was closed'))
    const never = new AbortController().signal
    await this.commit(never).catch((err: unknown) =>
      log.warn({ group: this.#settings.group, err }, 'offset commit on close failed'),
    )
    for (const partition of this.#partitions.values()) partition.revoke()
    this.#partitions = new Map()
    // Else a broker that does not answer would delay the end of the process. The group then notices the missing member by itself.
    await raceAbort(this.#leave(), clock.timeout(KAFKA_REQUEST_MS_MAX)).catch(() => undefined)
  }

  /**
   * Lets the consumer join before it leaves. If kafkajs is stopped while joining, it still joins when the broker answers, and then holds
   * partitions that nobody reads for as long as the process lives.
   */
  async #leave(): Promise<void> {
    await this.#starting.catch(() => undefined)
    await this.#consumer.disconnect()
  }

  #listen(): void {
    const { events } = this.#consumer
    this.#consumer.on(events.FETCH_START, () => this.#touch())
    this.#consumer.on(events.HEARTBEAT, () => this.#touch())
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => this.#onAssignment(payload.memberAssignment))
    this.#consumer.on(events.STOP, () => {
      this.#isRunning = false
    })
    this.#consumer.on(events.COMMIT_OFFSETS, (event) => this.#committed(event))
    this.#consumer.on(events.CRASH, (event) => this.#crashed(event))
  }

  #touch(): void {
    this.#lastActivityAt = this.#connection.clock.monotonic()
  }

  /** Called after each rebalance. */
  #onAssignment(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#touch()
    // While closing, it only joins in order to leave.
    if (this.#closing.signal.aborted) return
    this.#isRunning = true
    const { group, isSeeking = false } = this.#settings
    const before = this.#partitions
    this.#partitions = new Map()
    for (const [topic, numbers] of Object.entries(assignment)) {
      for (const number of numbers) {
        const name = partitionName(topic, number)
        const kept = isSeeking ? undefined : before.get(name)
        this.#partitions.set(name, kept ?? openPartition(topic, number, this.#watermarkOf(name)))
        if (isSeeking) this.#offsets.delete(name)
      }
    }
    for (const [name, partition] of before) if (this.#partitions.get(name) !== partition) partition.revoke()
    for (const partition of this.#partitions.values()) {
      // The commits of this generation are not known, and partitions that were paused still are.
      partition.committed = undefined
      this.#resume(partition)
      if (partition.isFull() || isSeeking) this.#pause(partition)
    }
    this.#connection.log.info({ group, partitions: this.#partitions.size, before: before.size }, 'partitions assigned')
    this.#joined.resolve()
    if (isSeeking) this.#settings.onRecords()
  }

  #watermarkOf(name: string): Watermark {
    if (this.#settings.isSeeking) return openWatermark()
    const known = this.#watermarks.get(name) ?? openWatermark()
    this.#watermarks.set(name, known)
    return known
  }

  #receive({ batch }: EachBatchPayload): void {
    const partition = this.#partitions.get(partitionName(batch.topic, batch.partition))
    // Fetched before the partition went to another member.
    if (partition === undefined || this.#closing.signal.aborted) return
    if (this.#settings.isSeeking && !this.#isNext(batch)) return
    const count = partition.add(batch.messages, Number(batch.highWatermark))
    if (partition.isFull()) this.#pause(partition)
    if (count > 0) this.#settings.onRecords()
  }

  /** Does the batch begin at the next offset expected of its partition? */
  #isNext(batch: EachBatchPayload['batch'] & { fetchedOffset?: string }): boolean {
    const name = partitionName(batch.topic, batch.partition)
    const next = this.#offsets.get(name)
    const isNext = next === Number(batch.fetchedOffset)
    if (isNext) this.#offsets.set(name, Number(batch.lastOffset()) + 1)
    // Fetched before the seek, or the log has deleted that offset: the consumer must determine the start again.
    else if (next !== undefined) this.seek(batch.topic, batch.partition, undefined)
    return isNext
  }

  #deliver(record: StoredRecord, from: Partition): ConsumedRecord {
    const name = partitionName(record.topic, record.partition)
    // After a `seek` all records are delivered again, so handles from before it no longer count.
    const isPast = () => this.#settings.isSeeking === true && !this.#isOurs(from)
    return {
      ...record,
      done: () => {
        if (isPast()) return
        const partition = this.#partitions.get(name)
        if (partition === undefined) return this.#watermarkOf(name).done(record.offset)
        partition.done(record)
        this.#resumeIfRoom(partition)
      },
      requeue: () => {
        if (isPast()) return
        const partition = this.#partitions.get(name)
        if (partition === undefined) this.#watermarkOf(name).release(record.offset)
        else partition.requeue(record)
        this.#settings.onRecords()
      },
    }
  }

  #resumeIfRoom(partition: Partition): void {
    if (partition.isPaused && !partition.isFull()) this.#resume(partition)
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
      await (this.#hasStopped ? this.#restart() : this.commit(signal)).catch((err: unknown) =>
        log.debug({ group: this.#settings.group, err }, 'consumer maintenance failed'),
      )
    }
  }

  #uncommitted(): { partition: Partition; position: number }[] {
    return [...this.#partitions.values()].flatMap((partition) => {
      const position = partition.position()
      return position === undefined ? [] : [{ partition, position }]
    })
  }

  async #commitPositions(): Promise<void> {
    // Read again, as revoked partitions must not be committed. kafkajs adds the generation in the same turn of the event loop.
    const offsets = this.#uncommitted().map(({ partition, position }) => ({
      topic: partition.topic,
      partition: partition.partition,
      offset: String(position),
    }))
    if (offsets.length > 0) await this.#consumer.commitOffsets(offsets)
  }

  #committed({ payload }: ConsumerCommitOffsetsEvent): void {
    for (const { topic, partitions } of payload.topics) {
      for (const { partition, offset } of partitions) {
        const assigned = this.#partitions.get(partitionName(topic, partition))
        if (assigned !== undefined) assigned.committed = Number(offset)
      }
    }
  }

  #isOurs(partition: Partition): boolean {
    return this.#partitions.get(partitionName(partition.topic, partition.partition)) === partition
  }

  #crashed({ payload: { error, restart } }: ConsumerCrashEvent): void {
    this.#touch()
    const [{ log }, { group }, isClosing] = [this.#connection, this.#settings, this.#closing.signal.aborted]
    if (restart || !isClosing) log.warn({ group, err: error }, 'consumer crashed, restarting')
    if (restart) return
    // For a caller that waits for the join; after that nobody waits.
    this.#joined.reject(error)
    this.#hasStopped = !isClosing
  }

  /** Restarts after an error that kafkajs does not retry: brokers also report such errors while they start and stop. */
  async #restart(): Promise<void> {
    this.#hasStopped = false
    this.#starting = this.#start()
    await this.#starting.catch((cause: unknown) => {
      this.#hasStopped = true
      throw cause
    })
  }
}
