import { newerFormat } from '@platen/contract/domain/format.ts'
import { raceAbort } from '@platen/lib/race.ts'
import type { RedisConnection } from '../connect.ts'
import { DIRECTORY_FIELDS_PER_CALL } from '../limit.ts'
import { openScript, type Script } from '../script.ts'
import { type Delta, deltaOf } from './delta.ts'
import { KINDS, type Kind } from './value.ts'

/** The braces put all keys into one hash slot of a Cluster. */
const PREFIX = 'platen:{directory}'

const LOG_KEY = `${PREFIX}:log`

const META_KEY = `${PREFIX}:meta`

/** Returns the key of a kind's hash, or of its values staged under a revision id. */
export function hashKey(kind: Kind, staged?: string): string {
  return staged === undefined ? `${PREFIX}:${kind}` : `${PREFIX}:staged:${staged}:${kind}`
}

/** The API reports which revision it enforces; processes that sign webhooks report their seal keys. */
type Reports = 'readers' | 'seal-keys'

/** directory.lua defines the requests. */
export function directoryScript(redis: RedisConnection, reports: Reports = 'readers'): Script['run'] {
  const script = openScript(redis, { file: './directory/directory.lua' })
  const fixed = [META_KEY, ...KINDS.map((kind) => hashKey(kind)), LOG_KEY, `${PREFIX}:${reports}`]
  return ({ keys, request }, signal) => script.run({ keys: [...fixed, ...keys], request }, signal)
}

/** A revision id names one revision and is never used again. */
export interface Meta {
  readonly schema: number
  readonly revision: number
  readonly revisionId: string
  readonly entry: string
}

/** Undefined if nothing is published. */
export async function readMeta(redis: RedisConnection, signal: AbortSignal): Promise<Meta | undefined> {
  const names = ['schema', 'revision', 'mark', 'entry'] as const
  const [schema, revision, revisionId, entry] = await redis.call((client) => client.hmget(META_KEY, ...names), signal)
  if (!revisionId || !entry) return undefined
  return { schema: Number(schema), revision: Number(revision) || 0, revisionId, entry }
}

/** Returns why settings of this format cannot be read here. */
export function unreadable({ schema }: Pick<Meta, 'schema'>): string | undefined {
  const newer = newerFormat(schema)
  return newer && `the published settings cannot be read: ${newer.message}`
}

/** Publishers with a lower epoch are refused. 0 = none is known, as after Redis was emptied. */
export async function readEpoch(redis: RedisConnection, signal: AbortSignal): Promise<number> {
  return Number(await redis.call((client) => client.hget(META_KEY, 'epoch'), signal)) || 0
}

interface Field {
  readonly kind: Kind
  readonly name: string
  readonly text: string
}

/** Scans all fields in batches. A field changed meanwhile may come in its old or new version, or twice. */
export async function* scanFields(redis: RedisConnection, signal: AbortSignal): AsyncGenerator<readonly Field[]> {
  for (const kind of KINDS) {
    let cursor = '0'
    do {
      const from = cursor
      const [next, flat] = await redis.call(
        (client) => client.hscan(hashKey(kind), from, 'COUNT', DIRECTORY_FIELDS_PER_CALL),
        signal,
      )
      const fields: Field[] = []
      for (let i = 0; i + 1 < flat.length; i += 2) fields.push({ kind, name: flat[i] ?? '', text: flat[i + 1] ?? '' })
      yield fields
      cursor = next
    } while (cursor !== '0')
  }
}

/** Reads in batches; null for a missing field. */
export async function* readFields(
  redis: RedisConnection,
  { kind, names }: { readonly kind: Kind; readonly names: Iterable<string> },
  signal: AbortSignal,
): AsyncGenerator<readonly [name: string, text: string | null]> {
  for (const piece of piecesOf(names)) {
    const texts = await redis.call((client) => client.hmget(hashKey(kind), ...piece), signal)
    for (const [i, name] of piece.entries()) yield [name, texts[i] ?? null]
  }
}

function* piecesOf(names: Iterable<string>): Generator<readonly string[]> {
  let piece: string[] = []
  for (const name of names) {
    piece.push(name)
    if (piece.length < DIRECTORY_FIELDS_PER_CALL) continue
    yield piece
    piece = []
  }
  if (piece.length > 0) yield piece
}

export function countFields(redis: RedisConnection, kind: Kind, signal: AbortSignal): Promise<number> {
  return redis.call((client) => client.hlen(hashKey(kind)), signal)
}

/** Reads the deltas after a log entry, as far as the log still has them. */
export async function readDeltas(
  redis: RedisConnection,
  after: string,
  signal: AbortSignal,
): Promise<readonly Delta[]> {
  const entries = await redis.call((client) => client.xrange(LOG_KEY, `(${after}`, '+'), signal)
  return entries.map(deltaOf)
}

/** Waits at most `waitMs` for deltas after a log entry; may return none. Blocks the connection, so give it a separate one. */
export async function waitForDeltas(
  client: Awaited<ReturnType<RedisConnection['openClient']>>,
  { after, waitMs }: { readonly after: string; readonly waitMs: number },
  signal: AbortSignal,
): Promise<readonly Delta[]> {
  const streams = await raceAbort(client.xread('BLOCK', waitMs, 'STREAMS', LOG_KEY, after), signal)
  return (streams?.[0]?.[1] ?? []).map(deltaOf)
}
