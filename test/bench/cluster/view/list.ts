/** How long one page of a list of renders takes, in both topologies, among a million renders of one tenant, and what they take of Redis. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { LIST_CHECKPOINT_KEY, redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteRenderList } from '@platen/adapters/sqlite/render-ledger/render-list.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import type { Ended } from '@platen/contract/domain/render.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { listedEnded } from '@platen/contract/port/listed-render.ts'
import type { RenderList, RenderQuery } from '@platen/contract/port/render-list.ts'
import { aFailure, aManifest, aRecord, aRenderId, NEVER } from '../../../fixture/build.ts'
import { redisSettings, startRedis } from '../../../topology/server/redis.ts'
import { type Figure, quantile } from '../../measure.ts'

const RENDERS = 1_000_000
const AT_ONCE = 1000
/** One render of so many differs in status, engine and template. */
const RARE = 20_000
const PAGE = 100
const ROUNDS = 40
/** The goal of a page. */
const PAGE_MS_MAX = 20
/** What docs/sizing.md counts on. */
const REDIS_BYTES_MAX = 1000

const code = (text: string) => text as TemplateCode
const { account, environment } = aRecord()
const SCOPE = { account, environment }

/** What callers ask for. `few` matches one render in `RARE`; each reference is one of ten thousand, or of all but nobody. */
const QUERIES: Readonly<Record<string, Partial<RenderQuery>>> = {
  'no filter': {},
  'status, most': { status: 'succeeded' },
  'status, few': { status: 'failed' },
  'engine, most': { engine: 'react_pdf' },
  'engine, few': { engine: 'html' },
  'template, most': { template: code('invoice') },
  'template, few': { template: code('letter') },
  'reference of a hundred': { reference: 'customer-7' },
  'reference and template, none': { reference: 'customer-7', template: code('none') },
  'template most and status few': { template: code('invoice'), status: 'failed' },
}

export async function* list(scale: number): AsyncGenerator<Figure> {
  const count = Math.ceil(RENDERS * scale)
  yield* inSqlite(count)
  yield* inRedis(count)
}

/** The render at a place, a second after the one before. */
function renderAt(at: number, newest: number, count: number): Ended {
  const acceptedAt = newest - (count - at) * 1000
  const isRare = at % RARE === 0
  const record = aRecord({
    id: aRenderId(acceptedAt),
    acceptedAt,
    engine: isRare ? 'html' : 'react_pdf',
    template: { ...aRecord().template, code: code(isRare ? 'letter' : 'invoice') },
    reference: `customer-${at % 10_000}`,
    metadata: { order: `2026-${at}` },
  })
  const outcome = at % RARE === 1 ? aFailure() : aManifest({ record }).outcome
  return aManifest({ record, outcome: { ...outcome, finishedAt: acceptedAt + 1000 } })
}

async function fill(count: number, put: (manifest: Ended) => Promise<void>): Promise<void> {
  const newest = Date.now()
  for (let at = 0; at < count; at += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - at)
    await Promise.all(Array.from({ length }, (_, i) => put(renderAt(at + i, newest, count))))
  }
}

async function* pages(place: string, count: number, renders: RenderList): AsyncGenerator<Figure> {
  const newest = Date.now()
  for (const [name, filters] of Object.entries(QUERIES)) {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      // Half of the pages begin with the newest render, the others anywhere.
      const before = round % 2 === 0 ? newest : newest - Math.floor((round / ROUNDS) * count) * 1000
      const begunAt = performance.now()
      await renders.page({ scope: SCOPE, limit: PAGE, ...filters, before }, NEVER)
      times.push(performance.now() - begunAt)
    }
    const [median, p95] = [quantile(times, 0.5), quantile(times, 0.95)]
    yield {
      name: `${place}, ${count} renders, ${name}: p95 of a page, ms`,
      detail: `p50 ${median.toFixed(1)} ms`,
      value: p95,
      target: { atMost: PAGE_MS_MAX },
    }
  }
}

async function* inSqlite(count: number): AsyncGenerator<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-bench-'))
  try {
    await using database = await openDatabase({ path: join(folder, 'platen.db'), signal: NEVER })
    const ledger = sqliteRenderLedger(database, systemClock())
    await fill(count, (manifest) => ledger.complete(manifest, NEVER))
    yield* pages('embedded', count, sqliteRenderList(database, systemClock()))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function* inRedis(count: number): AsyncGenerator<Figure> {
  await using server = await startRedis()
  const ports = { clock: systemClock(), log: openLog({ level: 'error', process: 'test', instance: 'test' }) }
  await using redis = await connectRedis(
    { ...redisSettings(server), isAutoPipelined: true, callMsMax: 60_000, ...ports },
    NEVER,
  )
  const renders = redisRenderList(redis)
  const before = await bytesOf(redis)
  await fill(count, (manifest) => renders.put(manifest.render, listedEnded(manifest), NEVER))
  const bytes = (await bytesOf(redis)) - before
  const checkpoints = redisCheckpoints(redis, LIST_CHECKPOINT_KEY)
  const begun = await checkpoints.begin(0, { first: 0, partitions: 1 }, NEVER)
  await checkpoints.advance(begun, { to: 1, isCaughtUp: true, period: '2026-11', charged: new Map() }, NEVER)
  yield* pages('cluster', count, renders)
  const estimated = Number(await redis.call((client) => client.get(`platen:list:{${account}}:live:bytes`), NEVER))
  yield {
    name: `bytes of Redis for each of ${count} listed renders`,
    detail: `estimated ${(estimated / count).toFixed(0)}`,
    value: bytes / count,
    target: { atMost: REDIS_BYTES_MAX },
  }
}

async function bytesOf(redis: RedisConnection): Promise<number> {
  const memory = await redis.call((client) => client.info('memory'), NEVER)
  return Number(/^used_memory:(\d+)/m.exec(memory)?.[1])
}
