/** Makes a kafkajs consumer, with the timeouts that all our groups use. */
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
  /** Whether it joins again by itself after a failure. */
  readonly shouldRestart: () => boolean
}

/** Makes a consumer that is not connected yet. */
export function groupMember(client: Kafka, { group, fetchWaitMs, shouldRestart }: MemberSettings): Consumer {
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
      restartOnFailure: async () => shouldRestart(),
    },
  })
}
