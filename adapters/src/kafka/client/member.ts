/** Makes a kafkajs consumer, with the timeouts that all our groups use. */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Consumer, Kafka } from 'kafkajs'
import {
  KAFKA_BACK_OFF,
  KAFKA_FETCH_BYTES,
  KAFKA_FETCH_PARTITION_BYTES,
  KAFKA_HEARTBEAT_MS,
  KAFKA_SESSION_MS,
} from '../limit.ts'

export interface MemberSettings {
  /** Full name, with the prefix. */
  readonly group: string
  /** How long the broker may hold a fetch that finds nothing. */
  readonly fetchWaitMs: number
  /** Present = it joins again by itself after a failure, until `closing` aborts. */
  readonly restarts?: { readonly clock: Clock; readonly closing: AbortSignal }
}

/** Makes a consumer that is not connected yet. */
export function groupMember(client: Kafka, { group, fetchWaitMs, restarts }: MemberSettings): Consumer {
  return client.consumer({
    groupId: group,
    sessionTimeout: KAFKA_SESSION_MS,
    rebalanceTimeout: KAFKA_SESSION_MS,
    heartbeatInterval: KAFKA_HEARTBEAT_MS,
    maxWaitTimeInMs: fetchWaitMs,
    maxBytesPerPartition: KAFKA_FETCH_PARTITION_BYTES,
    maxBytes: KAFKA_FETCH_BYTES,
    allowAutoTopicCreation: false,
    retry: {
      initialRetryTime: KAFKA_BACK_OFF.msMin,
      maxRetryTime: KAFKA_BACK_OFF.msMax,
      retries: 5,
      restartOnFailure: async (error) => restarts !== undefined && (await mayRestart(error, restarts)),
    },
  })
}

/**
 * Whether a consumer that failed is started again. kafkajs would start one that fails at once, as where its topic is missing, ten times a
 * second.
 */
async function mayRestart(
  { name }: Error,
  { clock, closing }: NonNullable<MemberSettings['restarts']>,
): Promise<boolean> {
  const hasRetried = name === 'KafkaJSNumberOfRetriesExceeded'
  if (!hasRetried) await clock.sleep(KAFKA_BACK_OFF.msMax, closing).catch(() => undefined)
  return !closing.aborted
}
