/** Callers who wait for the end of a render at its status: whatever ends it, they are told once, and nobody else's renders keep them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { key, LETTER_TSX, liveOf, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { endedByWaiting, reaches, render, request, submit, type TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const ENDLESS = { template: 'letter', data: { isEndless: true } }
const BROKEN_TSX = `
import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }: { data: { to?: { name: string } } }) => <Document><Page><Text>{data.to.name}</Text></Page></Document>
`
const LETTER = { template: 'letter', data: {} }
/** More than may wait. */
const CALLERS = 150

const [ACME, GLOBEX] = ['acme', 'globex'].map(liveOf) as [string, string]
const limits = { renderTimeoutSeconds: 120, syncRateLimitPerMinute: 100_000, asyncRateLimitPerMinute: 100_000 }
const DOCUMENTS = [
  plan('any', limits),
  ...['acme', 'globex'].flatMap((name) => [
    tenant(name, 'any'),
    key(name, 'live', liveOf(name)),
    template(name, 'letter', tsx(LETTER_TSX)),
    template(name, 'broken', tsx(BROKEN_TSX)),
  ]),
]

let service: TestedService
beforeAll(async () => {
  // One slot, beside the one that is for sync renders alone.
  service = await startService({ PLATEN_RENDER_SLOTS: '1', PLATEN_CHROMIUM: 'none' }, manifestOf(DOCUMENTS))
})
afterAll(() => service[Symbol.asyncDispose]())

const asked = (id: string, wait: number | string, secret = ACME) =>
  request(service, { key: secret, path: `/api/v1/render/${id}?wait=${wait}` })
const remove = (id: string) => request(service, { key: ACME, path: `/api/v1/render/${id}`, method: 'DELETE' })

const untilEnded = (id: string) => endedByWaiting(service, ACME, id)

test('a render that succeeds, and one that fails, is told of with its whole record', async () => {
  const succeeded = await untilEnded(await submit(service, ACME, LETTER))
  expect(succeeded).toMatchObject({ status: 'succeeded', template: 'letter', finished_at: expect.any(String) })
  expect((await fetch(succeeded.pdf_url ?? '')).status).toBe(200)
  const id = await submit(service, ACME, { template: 'broken', data: {} })
  expect(await untilEnded(id)).toMatchObject({ status: 'failed', error: { code: 'template_error' } })
  expect((await asked(id, 0)).json()).toEqual(await untilEnded(id))
})

test('a render that is canceled, while it runs and while it waits, is told of to all who wait', async () => {
  const running = await submit(service, ACME, ENDLESS)
  await reaches(service, { key: ACME, id: running, states: ['running'] })
  const queued = await submit(service, ACME, LETTER)
  for (const id of [queued, running]) {
    const waiting = [untilEnded(id), untilEnded(id), untilEnded(id)]
    expect((await remove(id)).status).toBe(200)
    for (const record of await Promise.all(waiting)) {
      expect(record).toMatchObject({ render_id: id, status: 'failed', error: { code: 'canceled' } })
    }
  }
})

test('a sync render that has been answered is told of, and 410 once it is removed', async () => {
  const answer = await render(service, ACME, LETTER)
  const id = String(answer.headers.get('x-service-render-id'))
  expect(await untilEnded(id)).toMatchObject({ status: 'succeeded', pdf_size_bytes: answer.body.byteLength })
  expect((await remove(id)).status).toBe(204)
  expect((await asked(id, 30)).status).toBe(410)
})

test('a wait ends with the state of then', async () => {
  const id = await submit(service, ACME, ENDLESS)
  await reaches(service, { key: ACME, id, states: ['running'] })
  const answer = await asked(id, 1)
  expect([answer.status, answer.json()['status']]).toEqual([200, 'running'])
  await remove(id)
})

test('callers beyond what may wait are answered at once, and nobody else waits for them', async () => {
  const id = await submit(service, ACME, ENDLESS)
  const answers = Array.from({ length: CALLERS }, () => asked(id, 30))
  const early = await Promise.race(answers)
  expect([early.status, early.headers.get('retry-after')]).toEqual([200, '1'])
  const foreign = await Promise.all(Array.from({ length: CALLERS }, () => asked(id, 30, GLOBEX)))
  expect(new Set(foreign.map(({ status }) => status))).toEqual(new Set([404]))
  const own = await render(service, GLOBEX, LETTER)
  expect(own.status).toBe(200)
  expect((await asked(String(own.headers.get('x-service-render-id')), 30, GLOBEX)).status).toBe(200)
  await remove(id)
  const ended = (await Promise.all(answers)).filter(({ headers }) => headers.get('retry-after') === null)
  expect(ended.length).toBeGreaterThan(0)
  for (const answer of ended) expect(answer.json()['error']).toMatchObject({ code: 'canceled' })
})

test.for(['31', '-1', '1e3', '-0', '1&wait=1', ''])('wait=%s is refused', async (wait) => {
  const answer = await asked(await submit(service, ACME, LETTER), wait)
  expect([answer.status, answer.json()['error']]).toMatchObject([400, { details: [{ in: 'query', path: 'wait' }] }])
})
