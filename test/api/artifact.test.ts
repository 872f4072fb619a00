/** The PDFs that the embedded service serves itself. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { ended, submit } from '../topology/service.ts'

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
  expect(service.log()).toContain('is not what was stored')
  await writeFile(path, whole)
  expect(await fetched()).toEqual({ status: 200, bytes: whole })
})
