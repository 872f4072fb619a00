/** What becomes of renders and files when the line between the client and the service breaks. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, createClient } from '../../client/src/index.ts'
import { renderToFile } from '../../client/src/node.ts'
import { errorOf } from '../fixture/api/client.ts'
import { aFolder, shared } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { listening } from '../topology/server/port.ts'

const service = shared(() => startEmbedded({ PLATEN_CHROMIUM: 'none' }))

const aClient = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: service().url(), apiKey: ACME_LIVE, ...options })

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

  test('for longer than other calls try ends no render that was accepted', async () => {
    await using line = await aLine({ swallow: 0 })
    let restarted: Promise<void> | undefined
    const killing: typeof fetch = async (...call) => {
      const response = await fetch(...call)
      if (restarted === undefined) {
        await service().kill()
        restarted = line.refusal().then(() => service().start())
      }
      return response
    }
    const client = aClient({ baseUrl: line.url, fetch: killing, retries: 0 })
    const { pdf, renderId } = await client.renderAndWait({ template: 'invoice', data: invoice(1) })
    await restarted
    expect(await aClient().getPdf(renderId)).toEqual(pdf)
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

describe('a PDF in a file', () => {
  const input = { template: 'invoice', data: invoice(40) }
  /** A folder with an older file where the PDF is to be. */
  const aPlace = async () => {
    const folder = aFolder()
    const path = join(folder, 'invoice.pdf')
    await writeFile(path, 'older')
    return { folder, path, names: () => readdir(folder), text: () => readFile(path, 'utf8') }
  }

  test('is there when it is whole, and not before', async () => {
    const { path, names, text } = await aPlace()
    const client = aClient()
    let before = ''
    const watched: Pick<Client, 'renderTo'> = {
      renderTo: (input, consumer, call) =>
        client.renderTo(
          input,
          async (pdf) => {
            await consumer(pdf)
            before = await text()
          },
          call,
        ),
    }
    const { renderId, isReplayed } = await renderToFile(watched, input, { path, idempotencyKey: 'file-1' })
    expect([before, isReplayed]).toEqual(['older', false])
    expect(new Uint8Array(await readFile(path))).toEqual(await client.getPdf(renderId))
    expect(await names()).toEqual(['invoice.pdf'])
  })

  test('is the whole of it though the connection broke in its midst, and cost one render', async () => {
    const { path, names } = await aPlace()
    await using line = await aLine({ swallow: 1, bytes: 2000 })
    const { isReplayed, renderId } = await renderToFile(aClient({ baseUrl: line.url }), input, { path })
    expect([isReplayed, line.connections()]).toEqual([true, 2])
    expect(new Uint8Array(await readFile(path))).toEqual(await aClient().getPdf(renderId))
    expect(await names()).toEqual(['invoice.pdf'])
  })

  test('is the older one, and nothing is beside it, after every error', async () => {
    const { folder, path, names, text } = await aPlace()
    await using line = await aLine({ swallow: 10, bytes: 2000 })
    const cut = aClient({ baseUrl: line.url, retries: 1 })
    expect((await errorOf(renderToFile(cut, input, { path }))).code).toBe('NETWORK_ERROR')
    expect((await errorOf(renderToFile(aClient(), { template: 'none', data: {} }, { path }))).status).toBe(404)
    const reason = new Error('the user has left')
    const aborted = renderToFile(aClient(), input, { path, signal: AbortSignal.abort(reason) })
    await expect(aborted).rejects.toBe(reason)
    await expect(renderToFile(aClient(), input, { path: folder })).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/)
    expect([await names(), await text()]).toEqual([['invoice.pdf'], 'older'])
    expect(await readdir(join(folder, '..'))).not.toContainEqual(expect.stringContaining('.platen-'))
  })

  test('in a folder that does not exist costs no render', async () => {
    let calls = 0
    const counting: typeof fetch = (...call) => {
      calls++
      return fetch(...call)
    }
    const path = join(aFolder(), 'none', 'invoice.pdf')
    await expect(renderToFile(aClient({ fetch: counting }), input, { path })).rejects.toThrow('ENOENT')
    expect(calls).toBe(0)
  })
})

/** A line to the service that cuts so many answers: at once, or after so many bytes. */
async function aLine({ swallow, bytes: bytesMax = 0 }: { readonly swallow: number; readonly bytes?: number }) {
  let opened = 0
  const refused = Promise.withResolvers<void>()
  const server = createServer((near) => {
    const isCut = opened++ < swallow
    let left = bytesMax
    const far = connect(Number(new URL(service().url()).port), '127.0.0.1')
    near.on('error', () => far.destroy()).on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    far.on('error', () => refused.resolve())
    near.pipe(far)
    far.on('data', (bytes: Buffer) => {
      if (!isCut || bytes.length <= left) near.write(bytes)
      else if (bytesMax === 0) near.resetAndDestroy()
      else near.end(bytes.subarray(0, left), () => far.destroy())
      left -= bytes.length
    })
  })
  return {
    ...(await listening(server)),
    connections: () => opened,
    /** Resolves when the service could not be reached by it. */
    refusal: () => refused.promise,
  }
}
