/** A member of a consumer group as kafkajs has it, with the times that all of ours go by. */
import {
  KAFKA_FETCH_BYTES,
  KAFKA_FETCH_PARTITION_BYTES,
  KAFKA_HEARTBEAT_MS,
  KAFKA_RETRY_MS_MAX,
  KAFKA_RETRY_MS_MIN,
  KAFKA_SESSION_MS,
} from '@platen/contract/kafka-limit.ts'
import type { Consumer, Kafka } from 'kafkajs'

export interface MemberSettings {
  /** Full name, prefix and all. */
  readonly group: string
  /** How long the broker may hold a fetch that finds nothing. */
  readonly fetchWaitMs: number
  /** Whether it joins again by itself when it has failed. */
  readonly shouldRestart: () => boolean
}

/** Not yet connected. */
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
      initialRetryTime: KAFKA_RETRY_MS_MIN,
      maxRetryTime: KAFKA_RETRY_MS_MAX,
      retries: 5,
      restartOnFailure: async () => shouldRestart(),
    },
  })
}
