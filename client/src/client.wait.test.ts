/** Tests how long the client waits for a render, and what breaks the wait. */
import { describe, expect, test } from 'vitest'
import {
  type Answer,
  aClient,
  accepted,
  broken,
  errorOf,
  ID,
  INPUT,
  KEY,
  pdf,
  record,
  refusal,
} from '../../test/fixture/api/client.ts'

describe('waiting for a render', () => {
  const url = 'https://storage.example.com/x.pdf?signature=1'

  test('polls ever more slowly until it has succeeded', async () => {
    const { client, waits } = aClient([
      ...Array<Answer>(10).fill(record({})),
      record({ status: 'running' }),
      record({ status: 'succeeded', pdf_url: url }),
    ])
    expect(await client.waitForRender(ID)).toMatchObject({ status: 'succeeded', pdfUrl: url })
    expect(waits[0]).toBe(200)
    expect(waits.every((wait, at) => wait >= (waits[at - 1] ?? 0) && wait <= 5000)).toBe(true)
    expect(waits.at(-1)).toBe(5000)
  })

  test('rejects with the code of its failure', async () => {
    const error = { code: 'render_timeout', message: 'the render did not end within 25 seconds' }
    const { client } = aClient([record({ status: 'failed', error })])
    expect(await errorOf(client.waitForRender(ID))).toMatchObject({ ...error, renderId: ID, status: undefined })
  })

  test('asks again where a connection is lost without a word', async () => {
    const silent: Answer = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const { client, asked, pass } = aClient([silent, record({ status: 'succeeded', pdf_url: url })])
    const waiting = client.waitForRender(ID)
    pass(59_999)
    expect(asked.length).toBe(1)
    pass(1)
    expect((await waiting).status).toBe('succeeded')
    expect(asked.length).toBe(2)
  })

  test('ends with its time, and with its signal', async () => {
    const { client, waits } = aClient([record({})])
    expect(await errorOf(client.waitForRender(ID, { timeoutMs: 3000 }))).toMatchObject({
      code: 'TIMED_OUT',
      renderId: ID,
    })
    expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThan(3000)
    const controller = new AbortController()
    const answer: Answer = (request) => {
      controller.abort(new Error('left'))
      return record({})(request)
    }
    const left = aClient([answer])
    await expect(left.client.waitForRender(ID, { signal: controller.signal })).rejects.toThrow('left')
    expect(left.waits).toEqual([])
  })

  test('ends at once where nobody knows the render', async () => {
    const { client, asked } = aClient([refusal(404, 'RENDER_NOT_FOUND')])
    expect((await errorOf(client.waitForRender(ID))).code).toBe('RENDER_NOT_FOUND')
    expect(asked.length).toBe(1)
  })

  test('leads to a download that shows the key to nobody', async () => {
    const { client, asked } = aClient([pdf])
    expect(await client.downloadPdf({ pdfUrl: url })).toEqual(new TextEncoder().encode('%PDF-1.7'))
    expect(asked[0]?.url).toBe(url)
    expect([...(asked[0]?.headers ?? [])]).toEqual([])
    await expect(client.downloadPdf({})).rejects.toThrow(TypeError)
  })
})

describe('a render that is started and waited for', () => {
  const succeeded = record({ status: 'succeeded', pdf_url: 'https://storage.example.com/x.pdf' })

  test('is accepted once, polled, and downloaded with the key', async () => {
    const { client, asked } = aClient([accepted, record({}), succeeded, pdf])
    expect(await client.renderAndWait(INPUT, { idempotencyKey: 'order-1' })).toEqual({
      pdf: new TextEncoder().encode('%PDF-1.7'),
      filename: 'zażółć.pdf',
      renderId: ID,
      isReplayed: false,
      record: expect.objectContaining({ status: 'succeeded' }),
    })
    const path = `/api/v1/render/${ID}`
    expect(asked.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
      'POST /api/v1/render',
      `GET ${path}`,
      `GET ${path}`,
      `GET ${path}/pdf`,
    ])
    expect(asked[0]?.headers.get('idempotency-key')).toBe('order-1')
    expect(asked[3]?.headers.get('authorization')).toBe(`Bearer ${KEY}`)
  })

  test('goes on after its connection was away for longer than other calls try', async () => {
    const away = Array<Answer>(20).fill(broken)
    const { client, asked } = aClient([accepted, ...away, succeeded, ...away, pdf])
    expect((await client.renderAndWait(INPUT)).renderId).toBe(ID)
    expect(asked.filter(({ method }) => method === 'POST').length).toBe(1)
  })

  test('is not started for ever', async () => {
    const { client, asked } = aClient([broken])
    expect(await errorOf(client.renderAndWait(INPUT))).toMatchObject({ code: 'NETWORK_ERROR', renderId: undefined })
    expect(asked.length).toBe(5)
  })

  test.for<[string, readonly Answer[], string]>([
    ['fails', [record({ status: 'failed', error: { code: 'page_limit', message: 'too many pages' } })], 'page_limit'],
    ['does not end', [record({})], 'TIMED_OUT'],
    ['cannot be reached any more', [broken], 'NETWORK_ERROR'],
    ['is deleted meanwhile', [succeeded, refusal(410, 'RENDER_EXPIRED')], 'RENDER_EXPIRED'],
  ])('names itself in the error when it %s', async ([, answers, code]) => {
    const { client, pass: _ } = aClient([accepted, ...answers])
    expect(await errorOf(client.renderAndWait(INPUT, { timeoutMs: 60_000 }))).toMatchObject({ code, renderId: ID })
  })

  test('has one time for all its steps, and one signal', async () => {
    const { client, waits } = aClient([broken, accepted, broken, record({})])
    await errorOf(client.renderAndWait(INPUT, { timeoutMs: 5000 }))
    expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThan(5000)
    const reason = new Error('the user has left')
    const controller = new AbortController()
    const answer: Answer = (request) => {
      controller.abort(reason)
      return record({})(request)
    }
    const left = aClient([accepted, answer])
    await expect(left.client.renderAndWait(INPUT, { signal: controller.signal })).rejects.toBe(reason)
  })
})
