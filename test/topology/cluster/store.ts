/** Opens the stores of a cluster from outside its processes. */
import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { eventOf } from '@platen/contract/event.ts'
import type { Stores } from '../service.ts'
import { type Cluster, SERVICE_BUCKET } from './cluster.ts'

/** Opens the stores as the processes do. */
export async function openClusterStores(cluster: Cluster, signal: AbortSignal): Promise<Stores> {
  await using stack = new AsyncDisposableStack()
  const { s3, broker, topicPrefix: prefix, eventKey } = cluster
  const [clock, ids, log] = [systemClock(), systemIds(), openLog({ level: 'error', process: 'test', instance: 'test' })]
  const namespace = { bucket: SERVICE_BUCKET, prefix: '', installation: 'platen' }
  const artifacts = stack.use(await openS3ArtifactStore({ ...s3, namespace, isPathStyle: true, clock, ids }, signal))
  const kafka = stack.use(await connectKafka({ brokers: [broker], clientId: 'test' }, { clock, log }, signal))
  const events = kafkaEventLog(kafka, { prefix })
  const owned = stack.move()
  return {
    artifacts,
    report: (manifest) => events.append(eventOf(manifest, eventKey), signal),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
