/** GET /render/:id/pdf: its answers, and how much of a document is read and held. */

import { createHash } from 'node:crypto'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { PDF_PIECE_BYTES_MAX } from '@platen/api/route/read/get-pdf.ts'
import {
  encodeManifest,
  type Manifest,
  manifestAddress,
  pdfKey,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Api, anApi, FOREIGN_KEY, LIVE_KEY, TEST_KEY } from '../fixture/api.ts'
import { aFailure, aManifest, aRecord, NEVER } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { openRaw } from './raw-connection.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const PDF = Buffer.from('%PDF-1.7 0123456789')
const ETAG = `"${sha256(PDF)}"`

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function accepted(api: Api): Promise<RenderRecord> {
  const options = { filename: 'faktura.pdf' }
  const answer = await api.post({ template: 'invoice', data: {}, mode: 'async', options })
  return aRecord({ id: answer.json().render_id, options })
}

async function ended(api: Api, manifest: Manifest): Promise<string> {
  const { id } = manifest.render
  await api.ports.artifacts.create(manifestAddress(id, 'platen'), encodeManifest(manifest), NEVER)
  return `/api/v1/render/${id}/pdf`
}

/** Ends a render with this PDF. Returns its path. */
async function having(api: Api, bytes: Buffer = PDF): Promise<{ path: string; manifest: Manifest }> {
  const record = await accepted(api)
  const address = { bucket: record.storage.bucket, key: pdfKey(record, sha256(bytes)) }
  await api.ports.artifacts.put(address, bytes, NEVER)
  const pdf = { address, bytes: bytes.length, sha256: sha256(bytes) }
  const outcome = { status: 'succeeded', finishedAt: api.ports.clock.now(), durationMs: 1, pages: 1, pdf } as const
  const manifest = aManifest({ record, outcome })
  return { path: await ended(api, manifest), manifest }
}

describe('GET /render/:id/pdf', () => {
  test('answers with the PDF, its name and its tag', async () => {
    const api = anApi()
    const { path } = await having(api)
    const answer = await api.get(path)
    expect([answer.statusCode, answer.rawPayload.equals(PDF)]).toEqual([200, true])
    expect(answer.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': `${PDF.length}`,
      'content-disposition': `inline; filename="faktura.pdf"; filename*=UTF-8''faktura.pdf`,
      'accept-ranges': 'bytes',
      etag: ETAG,
    })
    const saved = await api.get(`${path}?disposition=attachment`)
    expect(saved.headers['content-disposition']).toMatch(/^attachment; filename="faktura\.pdf"/)
    expect((await api.get(`${path}?disposition=save`)).statusCode).toBe(400)
  })

  test('answers HEAD with the same headers, and reads nothing', async () => {
    const store = memoryArtifactStore()
    const getPart = () => Promise.reject(new Error('HEAD reads nothing'))
    const api = anApi({ ports: { artifacts: { ...store, getPart } } })
    const { path } = await having(api)
    const answer = await api.app.inject({ method: 'HEAD', url: path, headers: { authorization: `Bearer ${LIVE_KEY}` } })
    expect([answer.statusCode, answer.headers['content-length'], answer.headers['etag'], answer.body]).toEqual([
      200,
      `${PDF.length}`,
      ETAG,
      '',
    ])
  })

  test('answers with a part, with nothing new, or that there is no such part', async () => {
    const api = anApi()
    const { path } = await having(api)
    const part = await api.get(path, { range: 'bytes=5-7' })
    expect([part.statusCode, part.body, part.headers['content-range']]).toEqual([206, '1.7', `bytes 5-7/${PDF.length}`])
    const known = await api.app.inject({
      url: path,
      headers: { authorization: `Bearer ${LIVE_KEY}`, 'if-none-match': ETAG },
    })
    expect([known.statusCode, known.body, known.headers['etag']]).toEqual([304, '', ETAG])
    const beyond = await api.get(path, { range: 'bytes=99-' })
    expect([beyond.statusCode, beyond.json().error.code]).toEqual([416, 'RANGE_NOT_SATISFIABLE'])
  })

  test('says in each state without a PDF why there is none', async () => {
    const api = anApi()
    const waiting = await accepted(api)
    const codeOf = async (path: string) => {
      const { statusCode, headers, ...answer } = await api.get(path)
      return [statusCode, answer.json().error.code, headers['retry-after']]
    }
    const path = `/api/v1/render/${waiting.id}/pdf`
    expect(await codeOf(path)).toEqual([409, 'RENDER_NOT_FINISHED', '1'])
    await ended(api, aManifest({ record: waiting, outcome: aFailure() }))
    expect(await codeOf(path)).toEqual([404, 'PDF_NOT_FOUND', undefined])
    const never = await accepted(api)
    const { path: kept, manifest } = await having(api)
    await api.clock.advance(DAY_MS)
    expect(await codeOf(`/api/v1/render/${never.id}/pdf`)).toEqual([410, 'RENDER_EXPIRED', undefined])
    await api.clock.advance((manifest.render.retentionDays - 1) * DAY_MS + 1000)
    expect(await codeOf(kept)).toEqual([410, 'RENDER_EXPIRED', undefined])
  })

  test.for([
    ['another tenant', FOREIGN_KEY],
    ['another environment', TEST_KEY],
  ] as const)('knows no render of %s', async ([, key]) => {
    const api = anApi()
    const { path } = await having(api)
    const answer = await api.get(path, { authorization: `Bearer ${key}` })
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'RENDER_NOT_FOUND'])
  })

  test.for<[string, (pdf: Buffer) => Buffer | undefined]>([
    ['missing', () => undefined],
    ['damaged', (pdf) => Buffer.from(pdf).fill('x', 3, 4)],
    ['shorter', (pdf) => pdf.subarray(1)],
  ])('refuses a PDF that is %s', async ([, change]) => {
    const api = anApi()
    const { path, manifest } = await having(api)
    if (manifest.outcome.status === 'failed') throw new Error('it succeeded')
    const { address } = manifest.outcome.pdf
    const changed = change(PDF)
    if (changed === undefined) await api.ports.artifacts.delete(address, NEVER)
    else await api.ports.artifacts.put(address, changed, NEVER)
    const answer = await api.get(path)
    expect([answer.statusCode, answer.json().error.code]).toEqual([500, 'INTERNAL_ERROR'])
  })
})

describe('a PDF of several pieces', () => {
  const LARGE = Buffer.alloc(5 * PDF_PIECE_BYTES_MAX + 1, 'pdf')

  /** An API that listens and counts the pieces that are read, and the head of a request for its large PDF. */
  async function listening() {
    const store = memoryArtifactStore()
    const read: number[] = []
    const getPart: ArtifactStore['getPart'] = (address, range, signal) => {
      read.push(range.start)
      return store.getPart(address, range, signal)
    }
    const api = anApi({ ports: { artifacts: { ...store, getPart }, clock: systemClock() } })
    const { path, manifest } = await having(api, LARGE)
    const port = Number(new URL(await api.app.listen({ host: '127.0.0.1', port: 0 })).port)
    onTestFinished(async () => {
      api.app.server.closeAllConnections()
      await api.app.close()
    })
    return { api, path, port, read, manifest }
  }

  test('is read piece by piece, and sent as it is', async () => {
    const { path, port, read } = await listening()
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${LIVE_KEY}` } })
    expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(sha256(LARGE))
    expect(read).toEqual([0, 1, 2, 3, 4, 5].map((piece) => piece * PDF_PIECE_BYTES_MAX))
  })

  test('is not read further than its reader takes it', async () => {
    const { path, port, read } = await listening()
    const reader = openRaw(port)
    reader.send(`GET ${path} HTTP/1.1`, 'Host: test', `Authorization: Bearer ${LIVE_KEY}`, '', '')
    await reader.until((received) => received.includes('200 OK'))
    reader.socket.pause()
    const whileStalled = read.length
    expect(whileStalled).toBeLessThan(6)
    reader.socket.resume()
    await reader.until((received) => received.length >= LARGE.length)
    expect(read).toHaveLength(6)
  })

  test('is cut off before its end if it is damaged', async () => {
    const { api, path, port, manifest } = await listening()
    if (manifest.outcome.status === 'failed') throw new Error('it succeeded')
    const damaged = Buffer.from(LARGE)
    damaged.writeUInt8(0, LARGE.length - 1)
    await api.ports.artifacts.put(manifest.outcome.pdf.address, damaged, NEVER)
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${LIVE_KEY}` } })
    expect(answer.status).toBe(200)
    await expect(answer.arrayBuffer()).rejects.toThrow()
  })
})
