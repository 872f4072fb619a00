/** S3 that is away, does not answer, or refuses: renders wait for it, and end as `internal` where it stays away for longer than they may take. */
import { isDeepStrictEqual } from 'node:util'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { monthOf } from '@platen/contract/domain/render.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import type { TestCluster } from '../../topology/cluster/test-cluster.ts'
import { type FaultProxy, FULL_DISK_OF_S3, openFaultProxy, refusalOfS3 } from '../../topology/proxy/fault-proxy.ts'
import { startS3 } from '../../topology/server/s3.ts'
import { ended, render, submit } from '../../topology/service.ts'
import { aCluster, accountOf, aTenant, eventsOf, LETTER, manifestsIn, redisOf } from '../harness.ts'

const PATIENT = `service_live_${'P'.repeat(43)}`
const HASTY = `service_live_${'H'.repeat(43)}`

let cluster: TestCluster
let proxy: FaultProxy
const owned = new AsyncDisposableStack()
beforeAll(async () => {
  proxy = owned.use(await openFaultProxy('s3'))
  const s3 = owned.use(await startS3([SERVICE_BUCKET]))
  proxy.towards(s3.port)
  cluster = await aCluster({
    documents: [
      ...aTenant('patient', PATIENT, { renderTimeoutSeconds: 120 }),
      // Long enough for a busy machine to render and store a letter.
      ...aTenant('hasty', HASTY, { renderTimeoutSeconds: 5, renderLimitMonthly: 1 }),
    ],
    s3,
    settings: { PLATEN_S3_ENDPOINT: `http://127.0.0.1:${proxy.port}` },
  })
  expect((await render(cluster.at(0), PATIENT, LETTER)).status).toBe(200)
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await owned.disposeAsync()
})

const slowDown = { kind: 'refuse', answer: refusalOfS3('503 Slow Down', 'SlowDown') } as const
const OUTAGES: readonly (readonly [string, { go(): unknown; back(): unknown }])[] = [
  ['is killed and started again', { go: () => cluster.s3.kill(), back: () => cluster.s3.start() }],
  ['does not answer', { go: () => cluster.s3.pause(), back: () => cluster.s3.resume() }],
  ['refuses with 503', { go: () => proxy.disturb(slowDown), back: () => proxy.disturb(undefined) }],
  ['has a full disk', { go: () => proxy.disturb(FULL_DISK_OF_S3), back: () => proxy.disturb(undefined) }],
]

describe.for(OUTAGES)('an S3 that %s', ([, outage]) => {
  test('is waited for by renders that have the time, and each is rendered and reported once', async ({ signal }) => {
    const service = cluster.at(0)
    const isMissed = said('dependency call failed, retrying')
    await outage.go()
    const ids = await Promise.all([1, 2, 3].map(() => submit(service, PATIENT, LETTER)))
    await isMissed()
    await outage.back()
    for (const id of ids) {
      const { status, pdf_url: url } = await ended(service, PATIENT, id)
      expect(status).toBe('succeeded')
      expect((await fetch(`${url}`)).status).toBe(200)
    }
    const manifests = await manifestsIn(cluster, signal)
    const own = manifests.filter(({ render }) => ids.includes(render.id))
    expect(own).toMatchObject(ids.map(() => ({ kind: 'ended', attempt: 1 })))
    const events = await eventsOf(cluster, ids, signal)
    expect(new Set(events.map(({ id }) => id)).size).toBe(ids.length)
  })
})

test('a render whose S3 stays away for longer than its deadline fails as internal, and costs nothing', async ({
  signal,
}) => {
  const service = cluster.at(0)
  const isGivenUp = said('pdf not stored in time')
  await cluster.s3.kill()
  const id = await submit(service, HASTY, LETTER)
  await isGivenUp()
  await cluster.s3.start()
  const failed = await ended(service, HASTY, id)
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'internal' } })
  expect(failed.error?.message).toContain('storage')
  // The unit it would have taken is there for the next, and for no further one.
  // A caller may see the end of a render a moment before its unit is free again.
  const ask = () => render(service, HASTY, { ...LETTER, mode: 'async' })
  const answer = await poll(ask).until(({ status }) => status !== 402)
  const next = String(answer.json()['render_id'])
  expect((await ended(service, HASTY, next)).status).toBe('succeeded')
  const [account = ''] = (await manifestsIn(cluster, signal)).filter(({ render: { id } }) => id === next).map(accountOf)
  await using redis = await redisOf(cluster, signal)
  const usage = () => redisLimiter(redis).usage(account, monthOf(Date.now()), signal)
  await poll(usage).until((used) => isDeepStrictEqual(used, { charged: 1, reserved: 0 }))
})

test('a sync caller has its PDF though S3 is away', async () => {
  const service = cluster.at(0)
  await cluster.s3.kill()
  const answer = await render(service, PATIENT, LETTER)
  expect([answer.status, Buffer.from(answer.body).subarray(0, 5).toString()]).toEqual([200, '%PDF-'])
  await cluster.s3.start()
  const id = `${answer.headers.get('x-service-render-id')}`
  expect((await ended(service, PATIENT, id)).status).toBe('succeeded')
})

/** What it gives resolves when a renderer has logged the message once more than until now. */
function said(message: string): () => Promise<unknown> {
  const count = () => cluster.processes('renderer').flatMap((each) => each.log().split(`"msg":"${message}"`)).length
  const before = count()
  return () => poll(() => count()).until((found) => found > before)
}
