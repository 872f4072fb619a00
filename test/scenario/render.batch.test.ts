/** A batch: accepted as a whole or not at all, each of its renders as any other, and one event when all have ended. */
import { gzipSync } from 'node:zlib'
import { BATCH_ITEMS_MAX } from '@platen/contract/domain/limit.ts'
import type { BatchRecord, BatchWebhookBody } from '@platen/contract/schema/batch-request.ts'
import type { RenderPage } from '@platen/contract/schema/response.ts'
import type { UsageBody } from '@platen/contract/schema/usage.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { key, LETTER_TSX, liveOf, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { aReceiver, LOOPBACK_ALLOWED, type Receiver } from '../topology/receiver.ts'
import { type RenderAnswer, readList, render, request, statusOf, type TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const [ACME, STORED, SMALL, KILLED] = ['acme', 'stored', 'small', 'killed'].map(liveOf) as [
  string,
  string,
  string,
  string,
]
const SCHEMA = { type: 'object', properties: { rounds: { type: 'integer' } } }
const limits = { renderTimeoutSeconds: 120, asyncRateLimitPerMinute: 1000 }
/** It refuses to render more than none. */
const FAILING_TSX = LETTER_TSX.replace(
  'for (let round',
  "if (data.rounds) throw new Error('no rounds')\n  for (let round",
)
const everybody = (name: string) => [
  tenant(name, name),
  key(name, 'live', liveOf(name)),
  template(name, 'letter', { ...tsx(FAILING_TSX), variablesSchema: SCHEMA }),
]
const DOCUMENTS = [
  plan('acme', limits),
  plan('stored', { ...limits, requestData: 'Stored' }),
  plan('small', { ...limits, renderLimitMonthly: 5 }),
  plan('killed', limits),
  ...['acme', 'stored', 'small', 'killed'].flatMap(everybody),
]

let service: TestedService
let receiver: Receiver
beforeAll(async () => {
  service = await startService({ ...LOOPBACK_ALLOWED, PLATEN_RENDER_SLOTS: '2' }, manifestOf(DOCUMENTS))
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  receiver = ofTest(await aReceiver())
})

const post = (secret: string, body: unknown, headers: Record<string, string> = {}) =>
  request(service, { key: secret, path: '/api/v1/batches', body, headers })
const itemsOf = (count: number) => Array.from({ length: count }, (_, at) => ({ data: {}, reference: `item-${at}` }))

async function accepted(answer: RenderAnswer): Promise<string> {
  expect([answer.status, answer.json()]).toMatchObject([202, { status: 'processing' }])
  return String(answer.json()['batch_id'])
}

async function batchOf(secret: string, id: string): Promise<BatchRecord> {
  const answer = await readList(service, { key: secret, path: `/api/v1/batches/${id}` })
  // Tests of the API compare its answers with this schema.
  return answer.json() as unknown as BatchRecord
}

const endOf = (secret: string, id: string) => poll(() => batchOf(secret, id)).until(({ status }) => status === 'ended')

async function rendersOf(secret: string, id: string): Promise<RenderPage['renders']> {
  const answer = await readList(service, { key: secret, path: `/api/v1/renders?batch=${id}&limit=100` })
  return (answer.json() as unknown as RenderPage).renders
}

async function usageOf(secret: string): Promise<UsageBody> {
  const answer = await request(service, { key: secret, path: '/api/v1/usage' })
  return answer.json() as unknown as UsageBody
}

/** The one event of a batch that its receiver is told. */
async function told(id: string): Promise<BatchWebhookBody> {
  const mine = () => receiver.received.map(({ body }) => JSON.parse(body)).filter(({ batch_id }) => batch_id === id)
  return (await poll(mine).until((events) => events.length > 0))[0]
}

test('renders each item, counts the ends, and tells of its own end once', async () => {
  const before = await usageOf(ACME)
  const items = [...itemsOf(9), { data: { rounds: 1 } }, { data: {}, filename: 'last one.pdf', metadata: { k: 'v' } }]
  const body = { template: 'letter', webhook_url: receiver.url, reference: 'all', metadata: { run: '7' }, items }
  const id = await accepted(await post(ACME, body))
  const begun = await batchOf(ACME, id)
  expect(begun).toMatchObject({ template: 'letter', reference: 'all', metadata: { run: '7' }, total: 11 })
  expect(begun.queued + begun.running + begun.succeeded + begun.failed).toBe(11)

  const ended = await endOf(ACME, id)
  expect(ended).toMatchObject({ total: 11, queued: 0, running: 0, succeeded: 10, failed: 1 })
  const event = await told(id)
  const { queued: _queued, running: _running, delivery_id, ...counts } = ended
  expect(event).toEqual(counts)
  expect(receiver.received[0]?.headers).toMatchObject({ 'x-service-event': 'batch.ended' })
  expect(receiver.received[0]?.headers['webhook-id']).toBe(receiver.received[0]?.headers['x-service-delivery'])
  expect(delivery_id).toBe(receiver.received[0]?.headers['webhook-id'])
  const delivery = await request(service, { key: ACME, path: `/api/v1/deliveries/${delivery_id}` })
  expect(delivery.json()).toMatchObject({ event: 'batch.ended', batch_id: id, url: receiver.url })
  expect(delivery.json()).not.toHaveProperty('render_id')

  const renders = await poll(() => rendersOf(ACME, id)).until((found) =>
    found.every(({ status }) => status === 'succeeded' || status === 'failed'),
  )
  expect(renders.map(({ reference }) => reference).toReversed()).toEqual([
    ...itemsOf(9).map(({ reference }) => reference),
    undefined,
    undefined,
  ])
  expect(renders[1]).toMatchObject({ batch_id: id, status: 'failed', error: { reason: 'template_error' } })
  const last = await statusOf(service, ACME, renders[0]?.render_id ?? '')
  expect(last).toMatchObject({ batch_id: id, status: 'succeeded', metadata: { k: 'v' } })
  const pdf = await fetch(last.pdf_url ?? '')
  expect([pdf.status, pdf.headers.get('content-disposition')]).toEqual([200, expect.stringContaining('last one.pdf')])
  await poll(() => usageOf(ACME)).until(({ used }) => used === before.used + 10)
  expect(receiver.received).toHaveLength(1)
})

test('is the same by lines, in gzip, and for a tenant whose requests are stored', async () => {
  const lines = [{ template: 'letter', webhook_url: receiver.url }, ...itemsOf(4)].map((line) => JSON.stringify(line))
  const send = () =>
    fetch(`${service.url()}/api/v1/batches`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${STORED}`,
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
        'idempotency-key': 'lines-1',
      },
      body: gzipSync(lines.join('\n')),
    })
  const [first, again] = [await send(), await send()]
  const { batch_id: id } = (await first.json()) as { batch_id: string }
  expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 202, 'true'])
  expect(await again.json()).toMatchObject({ batch_id: id })
  expect(await endOf(STORED, id)).toMatchObject({ total: 4, succeeded: 4 })
  expect(await told(id)).toMatchObject({ total: 4, succeeded: 4, failed: 0 })
  const references = async () => (await rendersOf(STORED, id)).map(({ reference }) => reference)
  expect((await references()).toReversed()).toEqual(itemsOf(4).map(({ reference }) => reference))
})

test('is refused as a whole for its 700th item, or for one unit too many, and costs nothing', async () => {
  const items: object[] = itemsOf(BATCH_ITEMS_MAX)
  items[699] = { data: { rounds: 'many' } }
  const wrong = await post(SMALL, { template: 'letter', items })
  expect([wrong.status, wrong.json()]).toMatchObject([
    422,
    { error: { code: 'VALIDATION_FAILED', details: [{ path: '/items/699/data/rounds' }] } },
  ])
  const many = await post(SMALL, { template: 'letter', items: itemsOf(6) })
  expect([many.status, many.json()]).toMatchObject([402, { error: { reason: 'quota_exhausted' } }])
  expect(await usageOf(SMALL)).toMatchObject({ used: 0, reserved: 0 })
  const listed = await readList(service, { key: SMALL, path: '/api/v1/renders' })
  expect(listed.json()).toEqual({ renders: [] })
  const id = await accepted(await post(SMALL, { template: 'letter', items: itemsOf(5) }))
  expect((await render(service, SMALL, { template: 'letter', data: {}, mode: 'async' })).status).toBe(402)
  expect(await endOf(SMALL, id)).toMatchObject({ succeeded: 5 })
})

test('ends once, with each of its renders, though the service is killed meanwhile', async () => {
  const count = 60
  const id = await accepted(
    await post(KILLED, { template: 'letter', webhook_url: receiver.url, items: itemsOf(count) }),
  )
  await poll(() => batchOf(KILLED, id)).until(({ succeeded }) => succeeded > 0)
  await service.kill()
  await service.start()
  const ended = await endOf(KILLED, id)
  expect(ended).toMatchObject({ total: count, succeeded: count, failed: 0 })
  expect(await told(id)).toMatchObject({ total: count, succeeded: count })
  const { received } = receiver
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  await poll(() => usageOf(KILLED)).until(({ used }) => used === count)
})
