/** Tests the PDF that is handed over piece by piece. */
import { describe, expect, test } from 'vitest'
import { type Answer, aClient, errorOf, ID, INPUT, json, pdf, refusal } from '../../test/fixture/api/client.ts'

describe('a render that is handed over piece by piece', () => {
  const breaking: Answer = (request) => {
    let pieces = ['%PDF-', new TypeError('terminated')]
    const body = new ReadableStream({
      pull(stream) {
        const [piece, ...rest] = pieces
        pieces = rest
        if (typeof piece === 'string') stream.enqueue(new TextEncoder().encode(piece))
        else stream.error(piece)
      },
    })
    return new Response(body, pdf(request) as Response)
  }
  /** Takes all pieces as texts. Each call has a list of its own. */
  const aConsumer = () => {
    const taken: string[][] = []
    const take = async (pieces: AsyncIterable<Uint8Array>) => {
      const texts: string[] = []
      taken.push(texts)
      for await (const piece of pieces) texts.push(new TextDecoder().decode(piece))
    }
    return { taken, take }
  }

  test('begins again when the connection breaks', async () => {
    const { client, asked } = aClient([breaking, pdf])
    const { taken, take } = aConsumer()
    const answer = await client.renderTo(INPUT, take)
    expect(answer).toMatchObject({ renderId: ID, renderMs: 42, filename: 'zażółć.pdf' })
    expect(answer).not.toHaveProperty('pdf')
    expect(taken).toEqual([['%PDF-'], ['%PDF-1.7']])
    expect(new Set(asked.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1)
  })

  test.for<[string, (error: unknown) => void]>([
    [
      'tells of it in another way',
      (cause) => {
        throw new Error('not written', { cause })
      },
    ],
    ['says nothing of it', () => {}],
  ])('begins again though the consumer %s', async ([, tell]) => {
    const { client, asked } = aClient([breaking, pdf])
    const { taken, take } = aConsumer()
    await client.renderTo(INPUT, (pieces) => take(pieces).catch(tell))
    expect([taken.length, asked.length]).toEqual([2, 2])
    const never = aClient([breaking], { retries: 1 })
    expect((await errorOf(never.client.renderTo(INPUT, (pieces) => take(pieces).catch(tell)))).code).toBe(
      'NETWORK_ERROR',
    )
  })

  test('ends with what its consumer rejects with, and is not repeated', async () => {
    const full = new Error('no space left on device')
    const { client, asked } = aClient([pdf])
    const consumers = [
      () => Promise.reject(full),
      () => {
        throw full
      },
    ]
    for (const consumer of consumers) await expect(client.renderTo(INPUT, consumer)).rejects.toBe(full)
    expect(asked.length).toBe(consumers.length)
  })

  test('shows its consumer nothing but a PDF', async () => {
    const { taken, take } = aConsumer()
    expect((await errorOf(aClient([refusal(402, 'PAYMENT_REQUIRED')]).client.renderTo(INPUT, take))).status).toBe(402)
    expect((await errorOf(aClient([json({})]).client.renderTo(INPUT, take))).code).toBe('INVALID_ANSWER')
    expect(taken).toEqual([])
  })
})
