/**
 * Records that are sent by many at once, in few requests: what comes while a request for a topic is under way goes with the next one.
 * Nobody waits for company, so one that comes alone is sent at once. For broker and client a request costs far more than a record.
 */
import {
  KAFKA_BATCH_BYTES_MAX,
  KAFKA_ENQUEUE_MS_MAX,
  KAFKA_SEND_MS_MAX,
  KAFKA_SENDS_MAX,
} from '@platen/contract/kafka-limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { Message } from 'kafkajs'

/** Makes one request. Rejects as the caller of `send` is to see it. */
export type SendBatch = (topic: string, messages: readonly Message[]) => Promise<void>

/** Sends messages that belong together: all of them are in one request, or the request is theirs alone. */
export type Send = (topic: string, messages: readonly Message[], signal: AbortSignal) => Promise<void>

interface PendingSend {
  readonly messages: readonly Message[]
  readonly bytes: number
  readonly sent: PromiseWithResolvers<void>
}

interface TopicQueue {
  /** In the order they came. */
  readonly waiting: Set<PendingSend>
  isSending: boolean
}

/**
 * Gathers what is sent. A send takes `KAFKA_SEND_MS_MAX` at most, then it is `Unavailable`; what was given up before its request began is
 * not sent. A request that takes longer than that holds up no other.
 *
 * Where brokers do not answer, one send of a topic at a time waits to see whether they do again, and the others are refused at once.
 */
export function batchSends(sendBatch: SendBatch, clock: Pick<Clock, 'timeout'>): Send {
  const queues = new Map<string, TopicQueue>()
  let underWay = 0
  /** Has a request been under way for as long as callers of the API are let wait, and none succeeded since? */
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
    if (underWay >= KAFKA_SENDS_MAX) throw new Unavailable(`Kafka has ${KAFKA_SENDS_MAX} sends to answer already`)
    const queue = queues.get(topic) ?? { waiting: new Set(), isSending: false }
    queues.set(topic, queue)
    if (isUnresponsive && queue.isSending) throw new Unavailable('Kafka does not answer')
    const deadline = clock.timeout(KAFKA_SEND_MS_MAX)
    const signal = AbortSignal.any([sendSignal, deadline])
    const sent = Promise.withResolvers<void>()
    sent.promise.catch(() => undefined)
    const waiting = { messages, bytes: bytesOf(messages), sent }
    queue.waiting.add(waiting)
    void pump(topic, queue)
    underWay++
    try {
      await raceAbort(sent.promise, signal)
    } catch (error) {
      sendSignal.throwIfAborted()
      throw deadline.aborted ? new Unavailable(`Kafka did not answer within ${KAFKA_SEND_MS_MAX} ms`) : error
    } finally {
      queue.waiting.delete(waiting)
      underWay--
    }
  }
}

/** What goes with the next request: all that waits, as long as brokers take it in one piece. */
function nextBatch(waiting: Set<PendingSend>): readonly PendingSend[] {
  const batch: PendingSend[] = []
  let bytes = 0
  for (const first of waiting) {
    // One that is larger alone goes alone.
    if (batch.length > 0 && bytes + first.bytes > KAFKA_BATCH_BYTES_MAX) break
    waiting.delete(first)
    batch.push(first)
    bytes += first.bytes
  }
  return batch
}

/** More than a header takes of its own, and the record around it. */
const FRAME_BYTES = 200

function bytesOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { key, value }) => sum + FRAME_BYTES + (key?.length ?? 0) + (value?.length ?? 0), 0)
}
