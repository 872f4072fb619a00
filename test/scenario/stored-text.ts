/** Searches everything that a service stores for a text, as it is and in base64. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { redisOf } from '../cluster/harness.ts'
import type { Cluster } from '../topology/cluster/cluster.ts'
import { recordsOf } from '../topology/cluster/record.ts'
import type { ClusterService } from '../topology/cluster/service.ts'
import type { TestedService } from '../topology/service.ts'

export function isOfCluster(tested: TestedService): tested is ClusterService {
  return 'redis' in tested
}

/** Where a text is stored: topics of Kafka, keys of Redis and files of S3, or tables and files of a data folder. */
export function placesOf(text: string, service: TestedService, signal: AbortSignal): Promise<readonly string[]> {
  return isOfCluster(service) ? placesInCluster(text, service, signal) : placesIn(text, storedIn(service.dataDir))
}

/** The same of a cluster. */
export function placesInCluster(text: string, cluster: Servers, signal: AbortSignal): Promise<readonly string[]> {
  return placesIn(text, storedByCluster(cluster, signal))
}

type Servers = Pick<Cluster, 'redis' | 's3' | 'broker' | 'topicPrefix'>
type Stored = readonly [place: string, bytes: Buffer]

async function placesIn(text: string, all: AsyncIterable<Stored> | Iterable<Stored>): Promise<readonly string[]> {
  const needles = spellingsOf(text)
  const places: string[] = []
  for await (const [place, bytes] of all) if (needles.some((needle) => bytes.includes(needle))) places.push(place)
  return places
}

/** Base64 has three spellings of a text, by the bytes before it. The first and last characters depend on their neighbours. */
function spellingsOf(text: string): readonly string[] {
  const shifted = [0, 1, 2].map((shift) => Buffer.from('x'.repeat(shift) + text).toString('base64'))
  return [text, ...shifted.map((spelling) => spelling.replaceAll('=', '').slice(4, -1))]
}

async function* storedByCluster(cluster: Servers, signal: AbortSignal): AsyncGenerator<Stored> {
  for (const { topic, key, headers, value } of await recordsOf(cluster))
    yield [topic, Buffer.concat([Buffer.from(`${key} ${headers.join(' ')} `), value])]
  await using redis = await redisOf(cluster, signal)
  await redis.call((client) => client.config('SET', 'rdbcompression', 'no'), signal)
  for (const key of await redis.call((client) => client.keys('*'), signal))
    yield [key, (await redis.call((client) => client.dumpBuffer(key), signal)) ?? Buffer.of()]
  // The log of the server has the URLs of requests, and so the file names in links.
  for (const [path, bytes] of filesIn(cluster.s3.folder)) if (!path.endsWith('server.log')) yield [path, bytes]
}

/** Rows and not the file of a database: SQLite overwrites the space of deleted rows only later. */
function* storedIn(dataDir: string): Generator<Stored> {
  for (const [path, bytes] of filesIn(dataDir)) if (!path.includes('platen.db')) yield [path, bytes]
  const database = new DatabaseSync(join(dataDir, 'platen.db'), { readOnly: true })
  const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()
  for (const { name } of tables)
    yield [String(name), Buffer.from(JSON.stringify(database.prepare(`SELECT * FROM ${String(name)}`).all()))]
  database.close()
}

function* filesIn(folder: string): Generator<Stored> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) yield [path, readFileSync(path)]
  }
}
