/** The PDFs that the embedded service serves itself. */
import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileArtifactStore, openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { pdfKey } from '@platen/contract/domain/render.ts'
import { serveArtifacts } from '@platen/embedded/artifact-route.ts'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { anApi } from '../fixture/api.ts'
import { aRecord, NEVER } from '../fixture/build.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { ended, submit } from '../topology/service.ts'
import { openRaw } from './raw-connection.ts'

const MIB = 1024 * 1024

test('a PDF that was damaged on the disk is served to nobody, and again when it is whole', async () => {
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none' })
  const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
  const { pdf_url: url } = await ended(service, ACME_LIVE, id)
  const fetched = async (method = 'GET') => {
    const answer = await fetch(`${url}`, { method })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const { status, bytes } = await fetched()
  expect([status, bytes.subarray(0, 5).toString()]).toEqual([200, '%PDF-'])

  const path = join(service.dataDir, new URL(`${url}`).pathname)
  const whole = await readFile(path)
  expect(whole).toEqual(bytes)
  // One bit of it.
  const damaged = Buffer.from(whole)
  damaged.writeUInt8((damaged.at(-1) ?? 0) ^ 1, damaged.length - 1)
  for (const content of [damaged, whole.subarray(0, whole.length / 2), Buffer.alloc(0)]) {
    await writeFile(path, content)
    const refused = await fetched()
    expect([refused.status, JSON.parse(refused.bytes.toString())]).toMatchObject([
      500,
      { error: { code: 'INTERNAL_ERROR' } },
    ])
    expect((await fetched('HEAD')).status).toBe(500)
  }
  expect(service.log()).toContain('differs from the stored one')
  await writeFile(path, whole)
  expect(await fetched()).toEqual({ status: 200, bytes: whole })
})

test('readers who take nothing of a document hold no more of it than they were sent', async () => {
  const bytes = Buffer.alloc(16 * MIB, 1)
  const { port, path } = await serving(bytes)
  const held = () => process.memoryUsage().external
  const before = held()
  const readers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const reader = openRaw(port)
      reader.send(`GET ${path} HTTP/1.1`, 'Host: test', '', '')
      await reader.until((received) => received.includes('200 OK'))
      reader.socket.pause()
      return reader
    }),
  )
  expect(held() - before).toBeLessThan((readers.length * bytes.length) / 4)
  const [first] = readers
  first?.socket.resume()
  expect(await first?.until((received) => received.length >= bytes.length)).toContain(`content-length: ${bytes.length}`)
})

describe('a link', () => {
  const BYTES = randomBytes(300_000)
  const ETAG = `"${sha256Of(BYTES)}"`
  let url = ''
  beforeEach(async () => {
    const { port, path } = await serving(BYTES)
    url = `http://127.0.0.1:${port}${path}`
  })

  const ask = async (headers: Record<string, string>, method = 'GET') => {
    const answer = await fetch(url, { method, headers })
    return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) }
  }

  test('gives the document with its tag, and nothing to a reader that has it', async () => {
    const whole = await ask({})
    expect(whole.status).toBe(200)
    expect(whole.body).toEqual(BYTES)
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      etag: ETAG,
      'accept-ranges': 'bytes',
      'content-type': 'application/pdf',
      'content-length': '300000',
      'content-disposition': expect.stringContaining('a.pdf'),
    })
    const known = await ask({ 'if-none-match': ETAG })
    expect([known.status, known.headers.get('etag'), known.body.length]).toEqual([304, ETAG, 0])
  })

  test('may be read by pages of any origin', async () => {
    const answer = await fetch(url, { headers: { origin: 'https://app.example.com', range: 'bytes=0-9' } })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([206, '*'])
    expect(answer.headers.get('access-control-expose-headers')).toContain('content-range')
    await answer.arrayBuffer()
  })

  test('gives a part, and a reader puts the document together from parts', async () => {
    const parts: Buffer[] = []
    for (let start = 0; start < BYTES.length; start += 70_000) {
      const end = Math.min(start + 69_999, BYTES.length - 1)
      const part = await ask({ range: `bytes=${start}-${end}`, 'if-range': ETAG })
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/300000`])
      expect(part.headers.get('content-length')).toBe(`${part.body.length}`)
      parts.push(part.body)
    }
    expect(Buffer.concat(parts)).toEqual(BYTES)
    expect((await ask({ range: 'bytes=0-9', 'if-range': '"another"' })).body).toEqual(BYTES)
  })

  test('tells a HEAD how long the document is, and nothing of a part', async () => {
    const { status, headers, body } = await ask({ range: 'bytes=0-9' }, 'HEAD')
    expect([status, headers.get('content-length'), headers.get('etag'), body.length]).toEqual([200, '300000', ETAG, 0])
  })

  test('refuses a part that begins after the end, and says where that is', async () => {
    const { status, headers, body } = await ask({ range: 'bytes=300000-' })
    expect([status, headers.get('content-range')]).toEqual([416, 'bytes */300000'])
    expect(JSON.parse(body.toString())).toMatchObject({
      error: { code: 'RANGE_NOT_SATISFIABLE', reason: 'range_not_satisfiable' },
    })
  })

  test('sends the document once, however many ranges are asked for', async () => {
    const { status, body } = await ask({ range: `bytes=${Array.from({ length: 1000 }, () => '0-').join()}` })
    expect([status, body.length]).toEqual([200, BYTES.length])
  })
})

test('the file of a link is closed after every answer', async () => {
  const { port, path, opened } = await serving(randomBytes(MIB))
  const url = `http://127.0.0.1:${port}${path}`
  for (const headers of [{}, { range: 'bytes=1-2' }, { range: 'bytes=9999999-' }, { 'if-none-match': '*' }]) {
    for (const method of ['GET', 'HEAD']) await (await fetch(url, { method, headers })).arrayBuffer()
  }
  expect(opened.length).toBe(8)
  // The number of a closed file is -1.
  await poll(() => opened.filter(({ fd }) => fd !== -1).length).until((left) => left === 0)
})

/** An API that serves one document under `path`, and the files that it has opened for that. */
async function serving(bytes: Buffer): Promise<{ port: number; path: string; opened: readonly FileHandle[] }> {
  const clock = systemClock()
  const store = await openFileArtifactStore({ root: aFolder(), clock, publicUrl: () => '', urlKey: Buffer.alloc(32) })
  const { app } = anApi({ ports: { clock } })
  const opened: FileHandle[] = []
  const open: FileArtifactStore['open'] = async (address) => {
    const file = await store.open(address)
    if (file !== undefined) opened.push(file)
    return file
  }
  serveArtifacts(app, { ...store, open })
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const address = { bucket: 'platen', key: pdfKey(aRecord(), sha256Of(bytes)) }
  await store.put(address, bytes, NEVER)
  const path = await store.presign(address, { expiresAt: clock.now() + 60_000, filename: 'a.pdf' }, NEVER)
  return { port, path, opened }
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
