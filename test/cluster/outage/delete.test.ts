/** A caller takes renders back while something is away: what it is told holds for everybody, whatever becomes of Redis, Kafka or a renderer. */
import { isDeepStrictEqual } from 'node:util'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { monthOf } from '@platen/contract/domain/render.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { liveOf } from '../../fixture/manifests.ts'
import { poll } from '../../time/poll.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import type { TestCluster } from '../../topology/cluster/test-cluster.ts'
import { type ProxiedKafka, startProxiedKafka } from '../../topology/proxy/kafka.ts'
import { type RedisServer, startRedis } from '../../topology/server/redis.ts'
import { type S3Server, startS3 } from '../../topology/server/s3.ts'
import { type RenderAnswer, reaches, request, statusOf, submit } from '../../topology/service.ts'
import { aCluster, aTenant, eventsOf, LETTER, manifestsIn, redisOf } from '../harness.ts'

const LIVE = liveOf('acme')
const SLOTS = 2
const ENDLESS = { template: 'letter', data: { isEndless: true } }

let stack: AsyncDisposableStack
let kafka: ProxiedKafka
let redis: RedisServer
let s3: S3Server
let cluster: TestCluster
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  kafka = stack.use(await startProxiedKafka())
  redis = stack.use(await startRedis())
  s3 = stack.use(await startS3([SERVICE_BUCKET]))
  const limits = { asyncRateLimitPerMinute: 100_000, renderTimeoutSeconds: 120 }
  const options = { kafka: { broker: kafka.broker }, redis, s3, documents: aTenant('acme', LIVE, limits) }
  cluster = stack.use(await aCluster(options))
})
afterAll(() => stack.disposeAsync())

const remove = (id: string) => request(cluster.at(0), { key: LIVE, path: `/api/v1/render/${id}`, method: 'DELETE' })

/** Renders that run, in all slots, and one that waits. */
async function accepted(): Promise<readonly string[]> {
  const running = await Promise.all(Array.from({ length: SLOTS }, () => submit(cluster.at(0), LIVE, ENDLESS)))
  for (const id of running) await reaches(cluster.at(0), { key: LIVE, id, states: ['running'] })
  return [...running, await submit(cluster.at(0), LIVE, LETTER)]
}

/** The one that waits first: it begins as soon as a slot is free. */
async function cancelAll(ids: readonly string[]): Promise<void> {
  for (const id of ids.toReversed()) expectCanceled(await remove(id))
}

function expectCanceled(answer: RenderAnswer): void {
  expect([answer.status, answer.json()]).toMatchObject([200, { status: 'failed', error: { code: 'canceled' } }])
}

/** In the end, each has one whole manifest and one event, nothing is charged or reserved, and the slots are free. */
async function expectEnded(ids: readonly string[], signal: AbortSignal): Promise<void> {
  const own = async () => (await manifestsIn(cluster, signal)).filter(({ render }) => ids.includes(render.id))
  const whole = async () => (await own()).filter((manifest) => manifest.kind === 'ended')
  const manifests = await poll(whole).until((all) => all.length >= ids.length)
  expect(manifests).toHaveLength(ids.length)
  for (const { render, outcome } of manifests)
    expect([render.template.code, outcome]).toMatchObject(['letter', { status: 'failed', error: { code: 'canceled' } }])
  const events = await eventsOf(cluster, ids, signal)
  expect(new Set(events.map(({ id }) => id)).size).toBe(ids.length)
  for (const id of ids) expect(await statusOf(cluster.at(0), LIVE, id)).toMatchObject({ error: { code: 'canceled' } })
  await using connection = await redisOf(cluster, signal)
  const account = manifests[0]?.render.account ?? ''
  const usage = () => redisLimiter(connection).usage(account, monthOf(Date.now()), signal)
  const before = await poll(usage).until(({ reserved }) => reserved === 0)
  const next = await submit(cluster.at(0), LIVE, LETTER)
  await reaches(cluster.at(0), { key: LIVE, id: next, states: ['succeeded'] })
  await poll(usage).until((now) => isDeepStrictEqual(now, { charged: before.charged + 1, reserved: 0 }))
}

test('Redis is away: renders are canceled, and a repetition tells their renderers when it is back', async ({
  signal,
}) => {
  const ids = await accepted()
  await redis.kill()
  await cancelAll(ids)
  await redis.start()
  const [api] = cluster.processes('api')
  const metrics = async () => await (await fetch(`http://127.0.0.1:${api?.ports[1]}/metrics`)).text()
  await poll(metrics).until((text) => text.includes('platen_dependency_up{dependency="redis"} 1'))
  await cancelAll(ids)
  await expectEnded(ids, signal)
})

test('Kafka is away: renders are canceled at once, and reported when it is back', async ({ signal }) => {
  const ids = await accepted()
  await kafka.kill()
  await cancelAll(ids)
  await kafka.start()
  await expectEnded(ids, signal)
})

test('S3 is away: callers are told so, and their renders are canceled once it is back', async ({ signal }) => {
  const ids = await accepted()
  s3.pause()
  for (const answer of await Promise.all(ids.map(remove))) {
    expect([answer.status, answer.json()]).toMatchObject([503, { error: { code: 'RENDER_UNAVAILABLE' } }])
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  }
  s3.resume()
  // S3 may do what it was asked before it stood still, and whose answer nobody waited for.
  for (const id of ids) {
    const { status, error } = await statusOf(cluster.at(0), LIVE, id)
    expect(['queued', 'running', 'canceled']).toContain(status === 'failed' ? error?.code : status)
  }
  await cancelAll(ids)
  await expectEnded(ids, signal)
})

test('a renderer stands still: its renders are canceled without it, and it finds that out', async ({ signal }) => {
  const ids = await accepted()
  const [renderer] = cluster.processes('renderer')
  renderer?.pause()
  await cancelAll(ids)
  renderer?.resume()
  await expectEnded(ids, signal)
})
