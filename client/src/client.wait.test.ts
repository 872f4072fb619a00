/** Tests how long the client waits for a render, and what breaks the wait. */
import { describe, expect, test } from 'vitest'
import { type Answer, aClient, errorOf, ID, record, refusal } from '../../test/fixture/api/client.ts'

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
    const { client, asked } = aClient([() => new Response('%PDF')])
    expect(await client.downloadPdf({ pdfUrl: url })).toEqual(new TextEncoder().encode('%PDF'))
    expect(asked[0]?.url).toBe(url)
    expect([...(asked[0]?.headers ?? [])]).toEqual([])
    await expect(client.downloadPdf({})).rejects.toThrow(TypeError)
  })
})
