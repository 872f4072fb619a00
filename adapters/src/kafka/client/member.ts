import type { Clock } from '@platen/lib/clock.ts'
import kafkajs, { type Consumer, type Kafka } from 'kafkajs'
import { KAFKA_BACK_OFF, KAFKA_HEARTBEAT_MS, KAFKA_SESSION_MS } from '../limit.ts'
import { keepCommittedOffsets, type Place } from './kafkajs-patches.ts'

const KIB = 1024
/** Maximum bytes of one fetch, per partition and in all. A larger single record comes alone. */
const KAFKA_FETCH_PARTITION_BYTES = 64 * KIB
const KAFKA_FETCH_BYTES = 1024 * KIB

interface MemberSettings {
  readonly group: string
  /** How long the broker may hold a fetch that finds nothing. */
  readonly fetchWaitMs: number
  /** Called when the log lacks the next offset of a partition. It must pause the partition or seek. */
  readonly onMissing: (place: Place) => void
  /** Present = it joins again by itself after a failure, until `closing` aborts. */
  readonly restarts?: { readonly clock: Clock; readonly closing: AbortSignal }
}

/** Makes a consumer that is not connected yet, with the timeouts that all our groups use. */
export function groupMember(client: Kafka, { group, fetchWaitMs, onMissing, restarts }: MemberSettings): Consumer {
  return client.consumer({
    groupId: group,
    partitionAssigners: [
      (config) => {
        keepCommittedOffsets(config.cluster, onMissing)
        return kafkajs.PartitionAssigners.roundRobin(config)
      },
    ],
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

/** kafkajs would restart a consumer that fails at once, for example because its topic is missing, ten times a second. */
async function mayRestart(
  { name }: Error,
  { clock, closing }: NonNullable<MemberSettings['restarts']>,
): Promise<boolean> {
  const hasRetried = name === 'KafkaJSNumberOfRetriesExceeded'
  if (!hasRetried) await clock.sleep(KAFKA_BACK_OFF.msMax, closing).catch(() => undefined)
  return !closing.aborted
}
