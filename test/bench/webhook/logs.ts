/** The logs that the dispatcher of the benchmark reads and writes, as each topology opens them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { openKafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { webhookTopics } from '@platen/adapters/kafka/delivery/topic.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { prepareTopics, renderTopics } from '@platen/adapters/kafka/topic.ts'
import { connectRedis, type RedisSettings } from '@platen/adapters/redis/connect.ts'
import { redisDeliveryList } from '@platen/adapters/redis/render-list/delivery-list.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import { EVENT_READERS } from '@platen/process/data-plane.ts'
import { NEVER, SILENT } from '../../fixture/build.ts'
import type { S3Server } from '../../topology/server/s3.ts'

export interface Logs extends AsyncDisposable {
  readonly events: Pick<EventLog, 'append' | 'follow'>
  readonly deliveries: DeliveryLog
}

export interface Servers {
  readonly broker: string
  readonly s3: Pick<S3Server, 'endpoint' | 'region' | 'credentials'>
  readonly redis: RedisSettings
}

const BUCKET = 'platen'

/** On SQLite, in a folder of its own. */
export async function openEmbeddedLogs(): Promise<Logs> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-webhook-bench-'))
  const database = await openDatabase({ path: join(folder, 'platen.db'), signal: NEVER })
  return {
    events: sqliteEventLog(database),
    deliveries: await openSqliteDeliveryLog(database, { clock: systemClock() }, NEVER),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

/** On Kafka, S3 and Redis, as an events process opens them. */
export async function openClusterLogs({ broker, s3, redis: location }: Servers): Promise<Logs> {
  await using stack = new AsyncDisposableStack()
  const [clock, ids, settings] = [systemClock(), systemIds(), { prefix: '' }]
  const connection = stack.use(
    await connectKafka({ brokers: [broker], clientId: 'bench' }, { clock, log: SILENT }, NEVER),
  )
  await prepareTopics(connection, [...renderTopics(settings, EVENT_READERS), ...webhookTopics(settings)], {
    settings,
    signal: NEVER,
  })
  const artifacts = stack.use(await openObjects(s3))
  const redis = stack.use(await connectRedis({ ...location, clock, isAutoPipelined: true }, NEVER))
  const ports = { connection, artifacts, clock, ids, list: redisDeliveryList(redis) }
  const deliveries = stack.use(await openKafkaDeliveryLog(ports, { ...settings, bucket: BUCKET }, NEVER))
  const owned = stack.move()
  return {
    events: kafkaEventLog(connection, settings),
    deliveries,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The objects of the same S3. */
export function openObjects(s3: Servers['s3']): Promise<ArtifactStore & Disposable> {
  const namespace = { bucket: BUCKET, prefix: '', installation: 'bench' }
  return openS3ArtifactStore({ ...s3, namespace, isPathStyle: true, clock: systemClock(), ids: systemIds() }, NEVER)
}
