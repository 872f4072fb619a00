/** What is sent for a batch, and how its end is waited for. Only the tests move the clock. */
import { describe, expect, test } from 'vitest'
import { type Answer, aClient, broken, errorOf, ID, json, refusal } from '../../../test/fixture/api/client.ts'

const BODY = {
  template: 'invoice',
  webhookUrl: 'https://x.example',
  items: [
    { data: { buyer_name: 1 }, filename: 'a.pdf' },
    { data: { buyerName: 2 }, reference: 'b', metadata: { order_id: '1' } },
  ],
}
const accepted = json({ batch_id: ID, status: 'processing', total: 2, poll_url: `/api/v1/batches/${ID}` }, 202, {
  'x-service-quota-limit': '1000',
  'x-service-quota-remaining': '998',
  'idempotent-replayed': 'true',
})
const record = (fields: object): Answer =>
  json({ batch_id: ID, template: 'invoice', status: 'processing', total: 2, queued: 1, running: 1, ...fields })
const ended = record({ status: 'ended', queued: 0, running: 0, succeeded: 1, failed: 1, ended_at: 'now' })

describe('a batch', () => {
  test('is sent as the service takes it, and comes back with all that is said of it', async () => {
    const { client, asked } = aClient([accepted])
    expect(await client.createBatch(BODY, { idempotencyKey: 'run-7' })).toEqual({
      batchId: ID,
      total: 2,
      pollUrl: `/api/v1/batches/${ID}`,
      isReplayed: true,
      quota: { limit: 1000, remaining: 998 },
      rate: undefined,
    })
    const { webhookUrl: webhook_url, ...same } = BODY
    expect([asked[0]?.method, asked[0]?.url]).toEqual(['POST', 'https://pdf.example.com/api/v1/batches'])
    expect(await asked[0]?.json()).toEqual({ ...same, webhook_url })
    expect(asked[0]?.headers.get('idempotency-key')).toBe('run-7')
  })

  test('is sent again under one key', async () => {
    const { client, asked } = aClient([broken, refusal(503, 'RENDER_UNAVAILABLE'), accepted])
    await client.createBatch(BODY)
    expect(asked.length).toBe(3)
    const keys = new Set(asked.map(({ headers }) => headers.get('idempotency-key')))
    expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
  })

  test('is waited for, also over answers that were lost, and ends though renders failed', async () => {
    const { client, asked, waits } = aClient([record({}), broken, record({}), ended])
    expect(await client.waitForBatch(ID)).toMatchObject({ status: 'ended', succeeded: 1, failed: 1, endedAt: 'now' })
    expect(new Set(asked.map(({ url }) => url))).toEqual(new Set([`https://pdf.example.com/api/v1/batches/${ID}`]))
    expect(waits[0]).toBe(200)
  })

  test('is waited for as long as the call may take, ever more slowly', async () => {
    const { client, waits } = aClient([record({})])
    const error = await errorOf(client.waitForBatch(ID, { timeoutMs: 60_000 }))
    expect(error).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining(`${ID} is processing`) })
    expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThan(60_000)
    expect(Math.max(...waits)).toBe(5000)
  })

  test('that nobody knows is not waited for', async () => {
    const { client, asked } = aClient([refusal(404, 'BATCH_NOT_FOUND')])
    expect((await errorOf(client.waitForBatch('x'))).code).toBe('BATCH_NOT_FOUND')
    expect(asked.length).toBe(1)
  })
})
