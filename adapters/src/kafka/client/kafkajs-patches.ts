/** Patches for defects of kafkajs that neither a setting nor a caller can avoid. Decision 25 says what each would cost. */
import kafkajs, { type Cluster, type PartitionAssigner } from 'kafkajs'

/** kafkajs has no types for what is behind a cluster. */
interface RequestQueue {
  readonly pending: readonly unknown[]
  /** Checks them again after a while. */
  scheduleCheckPendingRequests: (this: RequestQueue) => void
}

interface Connecting {
  readonly connectionPoolBuilder: {
    build(): Promise<{ readonly pool: readonly { readonly requestQueue: RequestQueue }[] }>
  }
}

/**
 * After every response kafkajs sets a timer to check for waiting requests, even if there are none. Its delay is then negative, and Node
 * warns about that a thousand times a second on each connection. Waiting requests are also checked after the next response. Applies to the
 * whole process. Safe to call several times.
 */
export async function patchRequestTimers(): Promise<void> {
  const [connection] = (await newCluster().connectionPoolBuilder.build()).pool
  const prototype: RequestQueue = Object.getPrototypeOf(connection?.requestQueue)
  const { scheduleCheckPendingRequests: schedule } = prototype
  if (schedule.name === 'scheduleWherePending') return
  prototype.scheduleCheckPendingRequests = function scheduleWherePending(this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this)
  }
}

/** Returns a cluster that is never connected. No public call returns one, but an assigner of partitions gets one. */
function newCluster(): Connecting {
  const clusters: Cluster[] = []
  const assigner: PartitionAssigner = (config) => {
    clusters.push(config.cluster)
    return kafkajs.PartitionAssigners.roundRobin(config)
  }
  new kafkajs.Kafka({ brokers: ['unused:1'] }).consumer({ groupId: 'unused', partitionAssigners: [assigner] })
  // The types do not say that the pinned version makes connections in this way.
  return clusters[0] as unknown as Connecting
}

export interface Place {
  readonly topic: string
  readonly partition: number
}

/**
 * When the log lacks the next offset, kafkajs commits -2, its number for "the first". Programs that compute the lag from it, as KEDA, then
 * see more records than there ever were. And if the log is an older copy, the committed offset would be lost. With this patch nothing is
 * committed: `onMissing` is called, and must pause the partition or seek. Changes the cluster of one consumer only.
 */
export function keepCommittedOffsets(cluster: Cluster, onMissing: (place: Place) => void): void {
  const findBroker = cluster.findBroker.bind(cluster)
  cluster.findBroker = async (node) => {
    const broker = await findBroker(node)
    if (Object.hasOwn(broker, 'offsetCommit')) return broker
    const commit = broker.offsetCommit.bind(broker)
    broker.offsetCommit = async (request) => {
      const missing = request.topics.flatMap(({ topic, partitions }) =>
        partitions.flatMap(({ partition, offset }) => (Number(offset) < 0 ? [{ topic, partition }] : [])),
      )
      if (missing.length === 0) return await commit(request)
      for (const place of missing) onMissing(place)
    }
    return broker
  }
}
