/** What becomes of renders when the line between the client and the service breaks. */
import { connect, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, createClient, PlatenError } from '../../client/src/index.ts'
import { rejectionOf } from '../fixture/build.ts'
import { shared } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { listening } from '../topology/server/port.ts'

const service = shared(() => startEmbedded({ PLATEN_CHROMIUM: 'none' }))

const aClient = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: service().url(), apiKey: ACME_LIVE, ...options })

/** The error a call ends with. */
async function errorOf(call: Promise<unknown>): Promise<PlatenError> {
  const error = await rejectionOf(call)
  if (error instanceof PlatenError) return error
  throw new Error(`no PlatenError: ${String(error)}`)
}

describe('a line that breaks', () => {
  test('after the request was heard costs no second render', async () => {
    // The first answer is swallowed: the caller cannot know whether there was one.
    await using line = await aLine({ swallow: 1 })
    const result = await aClient({ baseUrl: line.url }).render({ template: 'invoice', data: invoice(1) })
    expect(result.isReplayed).toBe(true)
    expect(line.connections()).toBeGreaterThan(1)
  })

  test('again and again is told as what it is', async () => {
    await using line = await aLine({ swallow: 10 })
    const error = await errorOf(aClient({ baseUrl: line.url, retries: 1 }).getRender('x'))
    expect(error).toMatchObject({ code: 'NETWORK_ERROR', status: undefined })
    expect(line.connections()).toBe(2)
  })

  test('while the service starts again is waited for', async () => {
    await using line = await aLine({ swallow: 0 })
    const client = aClient({ baseUrl: line.url, retries: 20 })
    const { renderId } = await client.renderAsync({ template: 'invoice', data: invoice(1) })
    await service().kill()
    const waiting = client.waitForRender(renderId)
    await line.refusal()
    await service().start()
    expect((await waiting).status).toBe('succeeded')
  })
})

/** A line to the service that swallows so many answers: when one comes it is cut. */
async function aLine({ swallow }: { readonly swallow: number }) {
  let opened = 0
  const refused = Promise.withResolvers<void>()
  const server = createServer((near) => {
    const isCut = opened++ < swallow
    const far = connect(Number(new URL(service().url()).port), '127.0.0.1')
    near.on('error', () => far.destroy()).on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    far.on('error', () => refused.resolve())
    near.pipe(far)
    far.on('data', (bytes) => (isCut ? near.resetAndDestroy() : near.write(bytes)))
  })
  return {
    ...(await listening(server)),
    connections: () => opened,
    /** Resolves when the service could not be reached by it. */
    refusal: () => refused.promise,
  }
}
