/** What a render that is kept takes of Redis, in the ledger and in the list, and what calls take there with a thousand kept and a million. */
import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { LIST_CHECKPOINT_KEY, redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Ended } from '@platen/contract/domain/render.ts'
import { listedEnded } from '@platen/contract/port/listed-render.ts'
import type { RenderQuery } from '@platen/contract/port/render-list.ts'
import { aManifest, aRecord, aRenderId, NEVER } from '../../../fixture/build.ts'
import { redisSettings, startRedis } from '../../../topology/server/redis.ts'
import type { Figure } from '../../measure.ts'
import { grouped, rounded, tableOf } from './table.ts'

const SIZES = [1000, 100_000, 1_000_000]
const AT_ONCE = 1000
const CALLS = 200
const CALL_MS_MAX = 60_000
/** An account's list may take a GiB, beyond which its oldest renders leave it. A million fit. */
const SPAN_MS = 20 * 24 * 3_600_000
/** With a thousand times as many, a tree is twice as high. */
const RATIO_MAX = 2
const BYTES_RATIO_MAX = 1.2

const SCOPE = aRecord()

const ROWS = {
  ledgerBytes: 'bytes of the ledger for each',
  listBytes: 'bytes of the list for each',
  put: 'list a render, µs',
  complete: 'complete one in the ledger, µs',
  find: 'find one in the ledger, µs',
  newest: 'the newest 100, µs',
  far: '100 behind half of all, µs',
  reference: '100 of a reference, µs',
  few: 'the failed, of which there are none, µs',
  remove: 'take one out of the list, µs',
} as const
type Costs = Record<keyof typeof ROWS, number>

export async function* views(): AsyncGenerator<Figure> {
  const columns: Costs[] = []
  for (const count of SIZES) columns.push(await costsWith(count))
  const names = Object.keys(ROWS) as (keyof Costs)[]
  const cells = names.map((name) => [ROWS[name], ...columns.map((costs) => rounded(costs[name]))])
  process.stdout.write(tableOf(['renders kept, in Redis', ...SIZES.map(grouped)], cells))
  for (const name of names) {
    const [few, many] = [columns[0]?.[name] ?? Number.NaN, columns.at(-1)?.[name] ?? Number.NaN]
    yield {
      name: `Redis, ${grouped(SIZES.at(-1) ?? 0)} renders kept ÷ ${grouped(SIZES[0] ?? 0)}: ${ROWS[name]}`,
      detail: `${rounded(many)} ÷ ${rounded(few)}`,
      value: many / few,
      target: { atMost: name.endsWith('Bytes') ? BYTES_RATIO_MAX : RATIO_MAX },
    }
  }
}

async function costsWith(count: number): Promise<Costs> {
  await using server = await startRedis()
  await using redis = await connectRedis(
    { ...redisSettings(server), isAutoPipelined: true, callMsMax: CALL_MS_MAX, clock: systemClock() },
    NEVER,
  )
  const [ledger, list] = [redisRenderLedger(redis), redisRenderList(redis)]
  const put = (manifest: Ended) => list.put(SCOPE, listedEnded(manifest), NEVER)
  const kept = Array.from({ length: count }, (_, at) => Date.now() - SPAN_MS + Math.trunc((at * SPAN_MS) / count))
  const bytesOf = async (fill: (manifests: readonly Ended[]) => Promise<unknown>) => {
    const before = await memoryOf(redis)
    for (let at = 0; at < count; at += AT_ONCE)
      await fill(kept.slice(at, at + AT_ONCE).map((acceptedAt, number) => renderAt(acceptedAt, number)))
    return ((await memoryOf(redis)) - before) / count
  }
  const ledgerBytes = await bytesOf((manifests) => ledger.completeAll(manifests, NEVER))
  const listBytes = await bytesOf((manifests) => Promise.all(manifests.map(put)))
  const checkpoints = redisCheckpoints(redis, LIST_CHECKPOINT_KEY)
  const begun = await checkpoints.begin(0, { first: 0, partitions: 1 }, NEVER)
  await checkpoints.advance(begun, { to: 1, isCaughtUp: true, period: '2026-11', charged: new Map() }, NEVER)
  const newer = Array.from({ length: CALLS }, (_, number) => renderAt(Date.now(), number))
  const page = (query: Partial<RenderQuery>) => async () => {
    await list.page({ scope: SCOPE, limit: 100, ...query }, NEVER)
  }
  const ofEach = (call: (manifest: Ended) => Promise<unknown>) => usOf(redis, newer, call)
  return {
    ledgerBytes,
    listBytes,
    newest: await ofEach(page({})),
    far: await ofEach(page({ before: Date.now() - SPAN_MS / 2 })),
    reference: await ofEach(page({ reference: 'customer-7' })),
    few: await ofEach(page({ status: 'failed' })),
    put: await ofEach(put),
    complete: await ofEach((manifest) => ledger.complete(manifest, NEVER)),
    find: await ofEach(({ render }) => ledger.find(render.id, NEVER)),
    remove: await ofEach(({ render }) => list.remove(SCOPE, render.id, NEVER)),
  }
}

/** Each customer has a tenth of the renders. */
function renderAt(acceptedAt: number, number: number): Ended {
  const reference = `customer-${number % 10}`
  const record = aRecord({ id: aRenderId(acceptedAt), acceptedAt, reference, metadata: { order: `${acceptedAt}` } })
  const { outcome } = aManifest({ record })
  return aManifest({ record, outcome: { ...outcome, finishedAt: acceptedAt + 1000 } })
}

/** What Redis itself says that its scripts took for each of these calls, which are made one after the other. */
async function usOf(
  redis: RedisConnection,
  manifests: readonly Ended[],
  call: (manifest: Ended) => Promise<unknown>,
): Promise<number> {
  await redis.call((client) => client.config('RESETSTAT'), NEVER)
  for (const manifest of manifests) await call(manifest)
  const stats = await redis.call((client) => client.info('commandstats'), NEVER)
  return Number(/^cmdstat_evalsha:.*usec=(\d+)/m.exec(stats)?.[1]) / manifests.length
}

async function memoryOf(redis: RedisConnection): Promise<number> {
  const memory = await redis.call((client) => client.info('memory'), NEVER)
  return Number(/^used_memory:(\d+)/m.exec(memory)?.[1])
}
