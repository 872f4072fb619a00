/** From outside the processes of the cluster. */
import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { eventIdOf, eventOf } from '@platen/contract/domain/event.ts'
import { openStore } from '../server/s3.ts'
import type { Stores } from '../service.ts'
import type { Cluster } from './cluster.ts'

export async function openClusterStores(cluster: Cluster, signal: AbortSignal): Promise<Stores> {
  await using stack = new AsyncDisposableStack()
  const { s3, broker, topicPrefix: prefix, eventKey } = cluster
  const [clock, log] = [systemClock(), openLog({ level: 'error', process: 'test', instance: 'test' })]
  const artifacts = stack.use(await openStore(s3))
  const kafka = stack.use(await connectKafka({ brokers: [broker], clientId: 'test' }, { clock, log }, signal))
  const events = kafkaEventLog(kafka, { prefix })
  const owned = stack.move()
  return {
    artifacts,
    report: (manifest) => events.append(eventOf({ ...manifest, eventId: eventIdOf(manifest, eventKey) }), signal),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
