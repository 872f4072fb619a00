/** A cluster without Redis, in each way it can be without it: it goes on, nobody is restarted, and what Redis lost is missed by nobody. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { liveOf } from '../../fixture/manifests.ts'
import { poll } from '../../time/poll.ts'
import type { TestCluster } from '../../topology/cluster/test-cluster.ts'
import { type FaultProxy, openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import type { ServerProcess } from '../../topology/server/process.ts'
import { type RedisServer, startRedis } from '../../topology/server/redis.ts'
import { ended, endedByWaiting, type RenderAnswer, render, statusOf, submit } from '../../topology/service.ts'
import { aCluster, aTenant, LETTER, redisOf } from '../harness.ts'

const APIS = [0, 1]
/** A minute, of each mode. */
const LIMIT = 20
/** What each of two processes admits of it by itself. */
const SHARE = 10
const CALL_MS_MAX = 10_000
/** Answers between one event and the next: the load is there, and goes on. */
const SOME = 20
/** Longer than anybody waits for Redis. */
const LATE_MS = 3000

interface World {
  readonly redis: RedisServer
  readonly proxy: FaultProxy
  readonly cluster: TestCluster
}

interface Way {
  readonly tenant: string
  readonly leave: (world: World) => unknown
  readonly come: (world: World) => unknown
}

/** A tenant for each, as what it has asked for counts for a minute. */
const WAYS: Readonly<Record<string, Way>> = {
  'is killed': { tenant: 'killed', leave: ({ redis }) => redis.kill(), come: ({ redis }) => redis.start() },
  'is wedged': { tenant: 'wedged', leave: ({ redis }) => redis.pause(), come: ({ redis }) => redis.resume() },
  'answers late': {
    tenant: 'late',
    leave: ({ proxy }) => proxy.disturb({ kind: 'slow', ms: LATE_MS }),
    come: ({ proxy }) => proxy.disturb(undefined),
  },
  // Of a primary that nobody has ever seen.
  'is a replica': {
    tenant: 'replica',
    leave: ({ redis }) => command(redis, 'REPLICAOF', '127.0.0.1', '1'),
    come: ({ redis }) => command(redis, 'REPLICAOF', 'NO', 'ONE'),
  },
}

let stack: AsyncDisposableStack
let world: World
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis())
  const proxy = stack.use(await openFaultProxy('redis'))
  proxy.towards(redis.port)
  const limits = { syncRateLimitPerMinute: LIMIT, asyncRateLimitPerMinute: LIMIT, renderLimitMonthly: 1_000_000 }
  const tenants = [...Object.values(WAYS).map(({ tenant }) => tenant), 'emptied']
  const roomy = aTenant('roomy', liveOf('roomy'), { syncRateLimitPerMinute: 1_000_000 })
  const cluster = await aCluster({
    apis: APIS.length,
    redis,
    settings: { PLATEN_REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
    documents: [...roomy, ...tenants.flatMap((name) => aTenant(name, liveOf(name), limits))],
  })
  world = { redis, proxy, cluster: stack.use(cluster) }
})
afterAll(() => stack.disposeAsync())

test.for(Object.entries(WAYS))('Redis %s: every request is served, by each process for its share', async ([, way]) => {
  const { cluster } = world
  const key = liveOf(way.tenant)
  await known(APIS.length)
  const before = await startTimes()
  const finished = await submit(cluster.at(0), key, LETTER)
  expect((await ended(cluster.at(0), key, finished)).status).toBe('succeeded')

  await using absence = new AsyncDisposableStack()
  absence.defer(async () => void (await way.come(world)))
  await way.leave(world)
  await everywhere('platen_dependency_up{dependency="redis"} 0')
  for (const api of APIS) {
    const record = await statusOf(cluster.at(api), key, finished)
    expect(record.status).toBe('succeeded')
    expect((await fetch(record.pdf_url ?? '')).status).toBe(200)
  }
  const accepted = await Promise.all(APIS.map((api) => fill(api, key, { mode: 'async', admitted: 202 })))
  const rendered = await Promise.all(APIS.map((api) => fill(api, key, { mode: 'sync', admitted: 200 })))
  for (const answer of rendered.flat()) expect(Buffer.from(answer.body).toString('latin1', 0, 5)).toBe('%PDF-')
  for (const answer of accepted.flat()) {
    const id = String(answer.json()['render_id'])
    expect((await endedByWaiting(cluster.at(1), key, id)).status).toBe('succeeded')
  }

  await absence.disposeAsync()
  await everywhere('platen_dependency_up{dependency="redis"} 1')
  for (const api of APIS) {
    const served = await poll(() => render(cluster.at(api), key, LETTER)).until(
      ({ headers }) => headers.get('x-ratelimit-limit') === `${LIMIT}`,
    )
    expect(served.status).toBe(200)
  }
  expect(await startTimes()).toEqual(before)
})

test('Redis is emptied: what was rendered is known, what is asked for is served, and the limits hold anew', async ({
  signal,
}) => {
  const { cluster, redis } = world
  const key = liveOf('emptied')
  await known(APIS.length)
  const before = await startTimes()
  const finished = await submit(cluster.at(0), key, LETTER)
  await ended(cluster.at(0), key, finished)
  // While one is waited for: its answer may be among what is lost.
  const waiting = Promise.all(APIS.map((api) => render(cluster.at(api), key, LETTER)))
  await command(redis, 'FLUSHALL')
  expect((await waiting).map(({ status }) => status)).toEqual([200, 200])
  expect((await statusOf(cluster.at(1), key, finished)).status).toBe('succeeded')
  const answers = await Promise.all(
    Array.from({ length: LIMIT + 10 }, (_, at) => render(cluster.at(at % 2), key, { ...LETTER, mode: 'async' })),
  )
  const admitted = answers.filter(({ status }) => status === 202)
  expect(admitted).toHaveLength(LIMIT)
  for (const answer of admitted) {
    expect((await ended(cluster.at(0), key, String(answer.json()['render_id']))).status).toBe('succeeded')
  }
  await known(APIS.length)
  expect(await startTimes()).toEqual(before)
  signal.throwIfAborted()
})

test('callers of sync renders see nothing of a Redis that goes and comes in the middle of their waits', async () => {
  const { redis } = world
  const statuses: number[] = []
  const over = new AbortController()
  const call = async (api: number) => {
    while (!over.signal.aborted) statuses.push((await render(world.cluster.at(api), liveOf('roomy'), LETTER)).status)
  }
  const callers = [...APIS, ...APIS].map(call)
  const some = async () => {
    const wanted = statuses.length + SOME
    await poll(() => statuses.length).until((count) => count >= wanted)
  }
  for (const { leave, come } of Object.values(WAYS)) {
    await some()
    await leave(world)
    await everywhere('platen_dependency_up{dependency="redis"} 0')
    await some()
    await come(world)
    await everywhere('platen_dependency_up{dependency="redis"} 1')
    await command(redis, 'FLUSHALL')
  }
  await some()
  over.abort()
  await Promise.all(callers)
  expect(new Set(statuses)).toEqual(new Set([200]))
})

/** Asks one process for more than its share at once, and gives what was admitted. */
async function fill(api: number, key: string, { mode, admitted }: { mode: string; admitted: number }) {
  const asked = Array.from({ length: SHARE + 10 }, () => render(world.cluster.at(api), key, { ...LETTER, mode }))
  const answers = await Promise.all(asked)
  const inside = answers.filter(({ status }) => status === admitted)
  const outside = answers.filter(({ status }) => status !== admitted)
  expect([inside.length, outside.length]).toEqual([SHARE, 10])
  for (const answer of outside) expect(refusalIn(answer)).toEqual([429, 'RATE_LIMITED', `${SHARE}`, '0', true])
  return inside
}

function refusalIn(answer: RenderAnswer): readonly unknown[] {
  const { status, headers } = answer
  const { code } = answer.json()['error'] as { code?: unknown }
  const waits = Number(headers.get('retry-after')) > 0 && Number(headers.get('retry-after')) <= 61
  return [status, code, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining'), waits]
}

/** Tells Redis itself something, whatever lies between it and the cluster. */
async function command(server: RedisServer, name: string, ...words: readonly string[]): Promise<void> {
  const signal = AbortSignal.timeout(CALL_MS_MAX)
  await using redis = await redisOf({ redis: server }, signal)
  const client = await redis.openClient(signal)
  await client.call(name, ...words)
  client.disconnect()
}

function allProcesses(): readonly ServerProcess[] {
  return (['api', 'renderer', 'events'] as const).flatMap((name) => world.cluster.processes(name))
}

async function ask({ ports: [, probes] }: ServerProcess, path: string): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${probes}${path}`)).text()
}

/** Resolves when every process counts this. */
async function everywhere(line: string): Promise<void> {
  for (const each of allProcesses())
    await poll(() => ask(each, '/metrics')).until((text) => text.split('\n').includes(line))
}

/** When each process was started, which shows that it is still the same. */
async function startTimes(): Promise<readonly string[]> {
  const texts = await Promise.all(allProcesses().map((each) => ask(each, '/metrics')))
  return texts.map((text) => /^process_start_time_seconds (.+)$/m.exec(text)?.[1] ?? 'none')
}

/** Resolves when every API process knows that there are so many of them. */
async function known(count: number): Promise<void> {
  for (const each of world.cluster.processes('api')) {
    const countOf = async () => JSON.parse(await ask(each, '/readyz')) as { detail: { apis: number } }
    await poll(countOf).until(({ detail }) => detail.apis === count)
  }
}
