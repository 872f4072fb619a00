/** An upgrade: the service goes on with what the version before has accepted, stored and promised. See `upgrade/left.ts`. */
import type { DeliveryList } from '@platen/contract/schema/response.ts'
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { aReceiver } from '../topology/receiver.ts'
import { ended, render, request } from '../topology/service.ts'
import { RECEIVER } from './upgrade/left.ts'
import { startUpgraded } from './upgrade/restore.ts'

const ACME = `service_live_${'A'.repeat(43)}`
/** The key of a tenant that has used up all that its plan gives it in a month. */
const METERED = `service_live_${'M'.repeat(43)}`
const INVOICE = { template: 'invoice', mode: 'async', data: { number: '2026-0042' } }

const receiver = shared(aReceiver)
const service = shared(() => startUpgraded(receiver().url))

const idOf = (name: string) => service().left.renders[name] ?? ''

async function deliveryOf(name: string): Promise<DeliveryList['deliveries'][number] | undefined> {
  const answer = await request(service(), { key: ACME, path: `/api/v1/render/${idOf(name)}/deliveries` })
  expect(answer.status).toBe(200)
  // The API's own tests hold its answers against this schema.
  return (answer.json()['deliveries'] as DeliveryList['deliveries'])[0]
}

test('how a render ended is answered from its manifest, with its PDF', async () => {
  const succeeded = await ended(service(), ACME, idOf('succeeded'))
  expect(succeeded).toMatchObject({ status: 'succeeded', template: 'invoice' })
  // That version counted no pages.
  for (const later of ['pages', 'warnings']) expect(succeeded).not.toHaveProperty(later)
  const download = await fetch(String(succeeded.pdf_url))
  expect(download.headers.get('content-disposition')).toContain('invoice.pdf')
  const [, pdf = ''] = Object.entries(service().left.pdfs).find(([name]) => name.includes(idOf('succeeded'))) ?? []
  expect(Buffer.from(await download.arrayBuffer()).toString('base64')).toBe(pdf)
  expect(await ended(service(), ACME, idOf('failed'))).toMatchObject({
    status: 'failed',
    error: { code: 'template_error' },
  })
})

test('what was accepted is rendered: what waited, in each lane, and what was at work when its renderer was killed', async () => {
  const names = ['queued', 'stored', 'bulk', 'running'].filter((name) => name in service().left.renders)
  const records = await Promise.all(names.map((name) => ended(service(), ACME, idOf(name))))
  expect(records.map(({ status }) => status)).toEqual(names.map(() => 'succeeded'))
})

test('a request that is repeated gets the render of the first', async () => {
  const options = { page_size: 'A5', filename: 'invoice.pdf' }
  const margin = 'html' in service().left.renders ? { margin: { top: '12mm' } } : {}
  const repeat = (key: string, body: object) =>
    request(service(), { key: ACME, path: '/api/v1/render', body, headers: { 'idempotency-key': key } })
  const answers = [
    await repeat('order-1', { ...INVOICE, webhook_url: `${RECEIVER}/ok`, options: { ...options, ...margin } }),
    await repeat('order-2', { ...INVOICE, webhook_url: `${RECEIVER}/ok` }),
  ]
  expect(answers.map((answer) => answer.json()['render_id'])).toEqual([idOf('succeeded'), idOf('queued')])
})

test('deliveries go out: of what ended since, and of what its receiver has refused before', async () => {
  for (const name of ['queued', 'failed']) {
    const delivery = await poll(() => deliveryOf(name)).until((found) => found?.status === 'delivered')
    expect(receiver().received.map(({ headers }) => headers['x-service-delivery'])).toContain(delivery?.id)
  }
  expect(await deliveryOf('succeeded')).toMatchObject({ status: 'delivered', attempts: [{ result: 'ok' }] })
})

test('units that were used stay used', async () => {
  expect((await render(service(), METERED, INVOICE)).status).toBe(402)
})
