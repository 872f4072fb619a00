/**
 * Batches the records of many callers into few requests, since a request costs broker and client far more than a record. Records that
 * arrive while a request for their topic is under way go with the next one. Nothing waits to fill a batch, so a single record is sent at
 * once.
 */
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Message } from 'kafkajs'
import { KAFKA_ENQUEUE_MS_MAX } from '../limit.ts'

const SECOND_MS = 1000
const KIB = 1024

/** After this time a send fails and its outcome is unknown. A caller that must not give up sends again. */
export const KAFKA_SEND_MS_MAX = 6 * SECOND_MS

/** Sends in progress of one process. Above that, the broker does not keep up, and more sends would only wait. */
export const KAFKA_SENDS_MAX = 10_000

/** Maximum size of one request for a topic, unless one record alone is larger: half of what brokers accept by default. */
export const KAFKA_BATCH_BYTES_MAX = 512 * KIB

/** Rejects with the error that the caller of `send` gets. */
type SendBatch = (topic: string, messages: readonly Message[]) => Promise<void>

/** Sends all given messages in one request, together with those of other callers if the size allows. */
type Send = (topic: string, messages: readonly Message[], signal: AbortSignal) => Promise<void>

interface PendingSend {
  readonly messages: readonly Message[]
  readonly bytes: number
  readonly sent: PromiseWithResolvers<void>
}

interface TopicQueue {
  /** In order of arrival. */
  readonly waiting: Set<PendingSend>
  isSending: boolean
}

/**
 * Batches sends per topic. A send that takes longer than `KAFKA_SEND_MS_MAX` fails with `Unavailable`. A send that is aborted before its
 * request began is not sent. A request that takes longer than the limit does not block the next one.
 *
 * While brokers do not answer, one send per topic waits to find out when they do again. All others are refused at once.
 */
export function batchSends(sendBatch: SendBatch, clock: Pick<Clock, 'timeout'>): Send {
  const queues = new Map<string, TopicQueue>()
  let underWay = 0
  /** True when a request took longer than API callers may wait, and none succeeded since. */
  let isUnresponsive = false

  /** Never rejects. */
  const request = async (topic: string, batch: readonly PendingSend[]) => {
    try {
      await sendBatch(
        topic,
        batch.flatMap(({ messages }) => messages),
      )
      isUnresponsive = false
      for (const { sent } of batch) sent.resolve()
    } catch (cause) {
      for (const { sent } of batch) sent.reject(cause)
    }
  }

  const pump = async (topic: string, queue: TopicQueue) => {
    if (queue.isSending) return
    queue.isSending = true
    for (let batch = nextBatch(queue.waiting); batch.length > 0; batch = nextBatch(queue.waiting)) {
      const [late, deadline] = [clock.timeout(KAFKA_ENQUEUE_MS_MAX), clock.timeout(KAFKA_SEND_MS_MAX)]
      const sending = request(topic, batch)
      await raceAbort(sending, late).catch(() => {
        isUnresponsive = true
      })
      await raceAbort(sending, deadline).catch(() => undefined)
    }
    queue.isSending = false
  }

  return async (topic, messages, sendSignal) => {
    sendSignal.throwIfAborted()
    if (underWay >= KAFKA_SENDS_MAX) throw new Unavailable(`${KAFKA_SENDS_MAX} sends to Kafka are pending already`)
    const queue = queues.get(topic) ?? { waiting: new Set(), isSending: false }
    queues.set(topic, queue)
    if (isUnresponsive && queue.isSending) throw new Unavailable('Kafka does not answer')
    const deadline = clock.timeout(KAFKA_SEND_MS_MAX)
    const sent = Promise.withResolvers<void>()
    sent.promise.catch(() => undefined)
    const waiting = { messages, bytes: bytesOf(messages), sent }
    queue.waiting.add(waiting)
    void pump(topic, queue)
    underWay++
    try {
      // Not by `AbortSignal.any`: a listener on its signal costs seven times as much.
      await raceAbort(raceAbort(sent.promise, sendSignal), deadline)
    } catch (error) {
      sendSignal.throwIfAborted()
      throw deadline.aborted ? new Unavailable(`Kafka did not answer within ${KAFKA_SEND_MS_MAX} ms`) : error
    } finally {
      queue.waiting.delete(waiting)
      underWay--
    }
  }
}

function nextBatch(waiting: Set<PendingSend>): readonly PendingSend[] {
  const batch: PendingSend[] = []
  let bytes = 0
  for (const first of waiting) {
    // A send larger than the limit goes alone.
    if (batch.length > 0 && bytes + first.bytes > KAFKA_BATCH_BYTES_MAX) break
    waiting.delete(first)
    batch.push(first)
    bytes += first.bytes
  }
  return batch
}

/** More than the overhead of a record and its headers. */
const FRAME_BYTES = 200

function bytesOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { key, value }) => sum + FRAME_BYTES + (key?.length ?? 0) + (value?.length ?? 0), 0)
}
