/** The PDFs that the embedded service serves itself. */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { pdfKey } from '@platen/contract/render.ts'
import { serveArtifacts } from '@platen/embedded/artifact-route.ts'
import { expect, onTestFinished, test } from 'vitest'
import { anApi } from '../fixture/api.ts'
import { aRecord, NEVER } from '../fixture/build.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
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
  const root = aFolder()
  const clock = systemClock()
  const store = await openFileArtifactStore({ root, clock, publicUrl: () => '', urlKey: Buffer.alloc(32) })
  const { app } = anApi({ ports: { clock } })
  serveArtifacts(app, store)
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const bytes = Buffer.alloc(16 * MIB, 1)
  const address = { bucket: 'platen', key: pdfKey(aRecord(), createHash('sha256').update(bytes).digest('hex')) }
  await store.put(address, bytes, NEVER)
  const url = await store.presign(address, { expiresAt: clock.now() + 60_000, filename: 'a.pdf' }, NEVER)
  const held = () => process.memoryUsage().external
  const before = held()
  const readers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const reader = openRaw(port)
      reader.send(`GET ${url} HTTP/1.1`, 'Host: test', '', '')
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
