/**
 * A member of a consumer group that hands records over and has them back when they are done, however long that takes and in whatever
 * order. kafkajs fetches no more until what it has given has been dealt with, and is given up by its group when that takes too long:
 * so here its handler only puts records down where they are taken from, and stops the fetching of a partition that has enough there.
 *
 * Delivery is at least once. What is committed is the offset before which everything is done, now and then and at the end; what lies
 * behind it is delivered again after a crash. Within one process no record is in two hands, also when a rebalance brings again
 * what is in hand: see `watermark.ts`.
 */
import {
  KAFKA_COMMIT_EVERY_MS,
  KAFKA_FETCH_WAIT_MS,
  KAFKA_JOIN_MS_MAX,
  KAFKA_REQUEST_MS_MAX,
  KAFKA_SILENCE_MS_MAX,
} from '@platen/contract/kafka-limit.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { Consumer, ConsumerCommitOffsetsEvent, ConsumerCrashEvent, EachBatchPayload } from 'kafkajs'
import { groupMember } from '../client/member.ts'
import { type KafkaConnection, throwUnavailable } from '../connect.ts'
import { type Lag, openPartition, type Partition, partitionName, type StoredRecord } from '../partition/partition.ts'
import { openWatermark, type Watermark } from '../partition/watermark.ts'

export interface ConsumerSettings {
  /** Full names, prefix and all. Every member of a group has to consume the same topics. */
  readonly group: string
  readonly topics: readonly string[]
  /** Called when `poll` may give something it did not give before. */
  onRecords(): void
  /** What is known of partitions, by name: given by who joins the group again in this process and still has records in hand. */
  readonly watermarks?: Map<string, Watermark>
  /** Does whoever consumes say by `seek` where each partition begins? Nothing of it is fetched before, whatever is committed. */
  readonly isSeeking?: boolean
}

/** A record in hand. */
export interface ConsumedRecord extends StoredRecord {
  /** It is to be delivered to nobody any more. Kept in memory until the next commit; also when the consumer is closed. */
  done(): void
  /** It is not done and stands at the head of its partition again, for whoever polls; where the partition is another's by now, it is theirs. */
  requeue(): void
}

/** Closing it commits what is done, forgets what nobody has taken, and leaves the group, so that others need not wait for it to be missed. */
export interface GroupConsumer extends AsyncDisposable {
  /** The next record of a topic that is at hand: one partition's in their order, the partitions in turn. Never waits. */
  poll(topic: string): ConsumedRecord | undefined
  /**
   * Resolves when what has been done until now is committed, but for partitions that have gone to another member, which reads again
   * what was not. Throws `Unavailable`.
   */
  commit(signal: AbortSignal): Promise<void>
  /** Where `isSeeking`: the partitions that wait for `seek`. `arrived` is called when there may be more of them. */
  awaitingSeek(): readonly { readonly topic: string; readonly partition: number }[]
  /** Begins a partition anew at an offset, or without one lets it wait again. What was fetched of it is forgotten. */
  seek(topic: string, partition: number, offset: number | undefined): void
  /** False when nothing was heard of it for so long that only a new one helps. One that cannot reach a broker tries on, and is alive. */
  isAlive(): boolean
  lag(): readonly Lag[]
}

/** Joins a group. Resolves when partitions have been shared out, be it none. Throws `Unavailable`, or rejects with the signal's reason. */
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
  /** Those assigned to this member, by name. */
  #partitions = new Map<string, Partition>()
  /** Where `isSeeking`, what is to be fetched next of each partition, by name; undefined = it waits for `seek`. */
  readonly #offsets = new Map<string, number | undefined>()
  /** Where polling goes on: the partitions take turns. */
  #nextPartition = 0
  #lastActivityAt: number
  #starting: Promise<void> = Promise.resolve()
  #hasStopped = false
  /** Not between a crash and the start that follows, which begins with nothing paused. */
  #isRunning = false
  readonly #joined = Promise.withResolvers<void>()
  #committing = Promise.resolve()

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
        // Else a consumer that fails while it is closed comes back after it.
        shouldRestart: () => !this.#closing.signal.aborted,
      },
    )
  }

  async join(signal: AbortSignal): Promise<void> {
    const { clock } = this.#connection
    // Nobody may be waiting for it any more.
    this.#joined.promise.catch(() => undefined)
    this.#listen()
    const deadline = clock.timeout(KAFKA_JOIN_MS_MAX)
    this.#starting = this.#start()
    const joining = this.#starting.then(() => this.#joined.promise)
    await raceAbort(joining, AbortSignal.any([signal, deadline])).catch((cause: unknown) => {
      signal.throwIfAborted()
      const { group } = this.#settings
      if (deadline.aborted) throw new Unavailable(`the group ${group} did not let this process in`, { cause })
      return throwUnavailable(cause)
    })
    void this.#maintain()
  }

  /** Resolves when it has joined, or has failed to and tries again. */
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
    // Where it is not running, all partitions are shared out anew before anything is fetched.
    if (this.#isRunning) this.#consumer.seek({ topic, partition, offset: String(offset) })
    this.#resume(opened)
  }

  async commit(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const deadline = this.#connection.clock.timeout(KAFKA_REQUEST_MS_MAX)
    const moved = this.#uncommitted()
    this.#committing = this.#committing.catch(() => undefined).then(() => this.#commitPositions())
    await raceAbort(this.#committing, AbortSignal.any([signal, deadline])).catch((cause: unknown) => {
      signal.throwIfAborted()
      return throwUnavailable(cause)
    })
    // kafkajs says nothing where it does not commit because it is about to start again.
    const left = moved.filter((each) => this.#isOurs(each.partition) && (each.partition.committed ?? 0) < each.position)
    if (left.length > 0) throw new Unavailable(`the group ${this.#settings.group} did not commit`)
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
    // A broker that does not answer would else hold up the end of the process; the group then misses this member by itself.
    await raceAbort(this.#leave(), clock.timeout(KAFKA_REQUEST_MS_MAX)).catch(() => undefined)
  }

  /**
   * kafkajs forgets a consumer that is stopped while it joins: it joins all the same when the broker answers, and holds partitions that
   * nobody reads for as long as the process lives. So it is let join first, also where nobody waits for that any more.
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

  /** The group has shared out its partitions anew. */
  #onAssignment(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#touch()
    // It is let join to leave again.
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
      // What this generation has committed is not known, and what was paused still is.
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
    // Fetched before the partition went to another.
    if (partition === undefined || this.#closing.signal.aborted) return
    if (this.#settings.isSeeking && !this.#isNext(batch)) return
    const count = partition.add(batch.messages, Number(batch.highWatermark))
    if (partition.isFull()) this.#pause(partition)
    if (count > 0) this.#settings.onRecords()
  }

  /** Does it follow what was fetched of its partition, or stand where that is to begin? */
  #isNext(batch: EachBatchPayload['batch'] & { fetchedOffset?: string }): boolean {
    const name = partitionName(batch.topic, batch.partition)
    const next = this.#offsets.get(name)
    const isNext = next === Number(batch.fetchedOffset)
    if (isNext) this.#offsets.set(name, Number(batch.lastOffset()) + 1)
    // Fetched before it was told where to begin, or the log has nothing there any more: whoever says so looks again.
    else if (next !== undefined) this.seek(batch.topic, batch.partition, undefined)
    return isNext
  }

  #deliver(record: StoredRecord, from: Partition): ConsumedRecord {
    const name = partitionName(record.topic, record.partition)
    // What was begun anew by a `seek` is given again all there is, whatever was in hand before.
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

  /** Commits now and then, and starts again where it has stopped, until it is closed. */
  async #maintain(): Promise<void> {
    const [{ clock, log }, { signal }] = [this.#connection, this.#closing]
    while (!signal.aborted) {
      await clock.sleep(KAFKA_COMMIT_EVERY_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      // The next time will do: what is not committed is at worst delivered again.
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
    // Looked at again: those that have gone meanwhile are not ours to commit. kafkajs adds the generation in the same turn.
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
    const [{ log }, { group }] = [this.#connection, this.#settings]
    this.#touch()
    if (restart) return log.warn({ group, err: error }, 'consumer restarted')
    // For whoever waits for it to join; once it has, nobody does.
    this.#joined.reject(error)
    this.#hasStopped = !this.#closing.signal.aborted
    if (this.#hasStopped) log.error({ group, err: error }, 'consumer stopped')
  }

  /** After what kafkajs takes for a fault that no retry mends: brokers say such things too while they come and go. */
  async #restart(): Promise<void> {
    this.#hasStopped = false
    this.#starting = this.#start()
    await this.#starting.catch((cause: unknown) => {
      this.#hasStopped = true
      throw cause
    })
  }
}
