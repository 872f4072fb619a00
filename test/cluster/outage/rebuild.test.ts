/** A cluster whose Redis is emptied, or comes back as it was: quotas and states are what they were. */

import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { monthOf } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { expect, test } from 'vitest'
import { ofTest, shared } from '../../fixture/lifetime.ts'
import { poll } from '../../time/poll.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../../topology/receiver.ts'
import { ended, type RenderAnswer, reaches, render, request, statusOf, submit } from '../../topology/service.ts'
import { aCluster, accountOf, aTenant, erase, LETTER, manifestsIn, redisOf } from '../harness.ts'

const COUNTED_LIVE = `service_live_${'C'.repeat(43)}`
const LISTED_LIVE = `service_live_${'L'.repeat(43)}`
const PATIENT_LIVE = `service_live_${'P'.repeat(43)}`
const ENDLESS = { template: 'letter', data: { isEndless: true } }
const QUOTA = 20

const cluster = shared(() =>
  aCluster({
    settings: LOOPBACK_ALLOWED,
    documents: [
      ...aTenant('counted', COUNTED_LIVE, { renderLimitMonthly: QUOTA }),
      ...aTenant('listed', LISTED_LIVE, {}),
      ...aTenant('patient', PATIENT_LIVE, { renderTimeoutSeconds: 5 }),
    ],
  }),
)

test('what was charged counts again after Redis was emptied, to the unit', async ({ signal }) => {
  const service = cluster().at(0)
  const ids = await Promise.all(Array.from({ length: 12 }, () => submit(service, COUNTED_LIVE, LETTER)))
  for (const id of ids) expect((await ended(service, COUNTED_LIVE, id)).status).toBe('succeeded')
  for (let i = 0; i < 3; i += 1) expect((await render(service, COUNTED_LIVE, LETTER)).status).toBe(200)
  const used = { charged: 15, reserved: 0 }
  const [account = ''] = (await manifestsIn(cluster(), signal)).map(accountOf)
  await using redis = await redisOf(cluster(), signal)
  const usage = () => redisLimiter(redis).usage(account, monthOf(Date.now()), signal)
  const isUsed = (found: object) => isDeepStrictEqual(found, used)
  await poll(usage).until(isUsed)
  for (let times = 0; times < 3; times += 1) {
    await redis.call((client) => client.flushall(), signal)
    await poll(usage).until(isUsed)
  }
  // No process started again, and the rest of the quota can be used to the last unit.
  for (let i = 15; i < QUOTA; i += 1) expect((await render(service, COUNTED_LIVE, LETTER)).status).toBe(200)
  const refused = await render(service, COUNTED_LIVE, LETTER)
  expect([refused.status, refused.json()['error']]).toMatchObject([402, { code: 'PAYMENT_REQUIRED' }])
  for (const id of ids) expect((await statusOf(service, COUNTED_LIVE, id)).status).toBe('succeeded')
})

test('the list of renders is the same after Redis was emptied, says so until then, and has nothing that was erased', async ({
  signal,
}) => {
  const service = cluster().at(0)
  const labels = { reference: 'order 7', metadata: { customer: 'c-1' } }
  const list = () => request(service, { key: LISTED_LIVE, path: '/api/v1/renders?reference=order%207' })
  const ids: string[] = []
  for (let i = 0; i < 3; i += 1) ids.unshift(await submit(service, LISTED_LIVE, { ...LETTER, ...labels }))
  for (const id of ids) await ended(service, LISTED_LIVE, id)
  const [erased = '', ...kept] = ids
  const isEnded = (answer: RenderAnswer) =>
    (answer.json() as { renders?: { status: string }[] }).renders?.every(({ status }) => status === 'succeeded') ===
    true
  // The list learns of an end beside the status, and may do so a moment later.
  const before = await poll(list).until(isEnded)
  expect(before.json()).toMatchObject({ renders: ids.map((id) => ({ render_id: id, ...labels })) })
  expect((await erase(cluster(), 'render', erased)).code).toBe(0)
  await using redis = await redisOf(cluster(), signal)
  await redis.call((client) => client.flushall(), signal)
  const answers: RenderAnswer[] = []
  const last = await poll(async () => {
    const answer = await list()
    answers.push(answer)
    return answer
  }).until(({ status }) => status === 200)
  for (const answer of answers.slice(0, -1)) {
    expect([answer.status, answer.json()]).toMatchObject([503, { error: { reason: 'list_incomplete' } }])
    expect(answer.headers.get('retry-after')).toBe('5')
  }
  expect(last.json()).toMatchObject({ renders: kept.map((id) => ({ render_id: id, ...labels, status: 'succeeded' })) })
})

test('so is the list of deliveries, with what their receivers said', async ({ signal }) => {
  const receiver = ofTest(await aReceiver())
  const service = cluster().at(0)
  const list = () => request(service, { key: LISTED_LIVE, path: '/api/v1/deliveries?reference=order%208' })
  const body = { ...LETTER, reference: 'order 8', webhook_url: receiver.url }
  receiver.answer((_request, response) => response.writeHead(receiver.received.length > 1 ? 204 : 410).end())
  const ids: string[] = []
  for (let i = 0; i < 3; i += 1) {
    ids.unshift(await submit(service, LISTED_LIVE, body))
    await receiver.until(i + 1)
  }
  const statusesIn = (answer: RenderAnswer) =>
    (answer.json() as { deliveries?: { render_id: string; status: string }[] }).deliveries?.map(
      ({ render_id: id, status }) => [id, status],
    )
  const [erased = '', ...kept] = ids.map((id, at) => [id, at < 2 ? 'delivered' : 'gone'])
  const before = await poll(list).until((answer) => isDeepStrictEqual(statusesIn(answer), [erased, ...kept]))
  expect(before.status).toBe(200)
  expect((await erase(cluster(), 'render', String(erased[0]))).code).toBe(0)
  expect(statusesIn(await list())).toEqual(kept)
  await using redis = await redisOf(cluster(), signal)
  await redis.call((client) => client.flushall(), signal)
  const answers: RenderAnswer[] = []
  const last = await poll(async () => {
    const answer = await list()
    answers.push(answer)
    return answer
  }).until(({ status }) => status === 200)
  for (const answer of answers.slice(0, -1))
    expect([answer.status, answer.json()]).toMatchObject([503, { error: { reason: 'list_incomplete' } }])
  expect(statusesIn(last)).toEqual(kept)
})

test('a render that was running in the Redis that came back, and has ended, ends there too', async ({ signal }) => {
  const service = cluster().at(0)
  const [file, kept] = ['appendonlydir', 'kept'].map((name) => join(cluster().redis.folder, name)) as [string, string]
  const id = await submit(service, PATIENT_LIVE, ENDLESS)
  await reaches(service, { key: PATIENT_LIVE, id, states: ['running'] })
  await cluster().redis.stop()
  await cp(file, kept, { recursive: true })
  await cluster().redis.start()
  expect((await ended(service, PATIENT_LIVE, id)).status).toBe('failed')
  await cluster().redis.kill()
  await rm(file, { recursive: true })
  await cp(kept, file, { recursive: true })
  await cluster().redis.start()
  await using redis = await redisOf(cluster(), signal)
  // The service has given it out.
  const shown = () => redisRenderLedger(redis).find(id as RenderId, signal)
  await poll(shown).until((view) => view?.state.status === 'failed')
  for (let times = 0; times < 20; times += 1) {
    expect((await statusOf(service, PATIENT_LIVE, id)).status).toBe('failed')
  }
})
