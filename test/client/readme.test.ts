/** The code of client/README.md, as its readers would run it: one block after the other, against the real service. */
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ROOT, readText } from '../architecture/source-tree.ts'
import { shared } from '../fixture/lifetime.ts'
import { startExamples } from '../topology/embedded.ts'
import { buildClient, machineNode } from './built.ts'

const run = promisify(execFile)
const SECRET = 'service_webhook_secret'
const RENDER_ID = '01J2HW8QBEFY09M6SC7N75YR3H'
const DELIVERY_ID = '0190a3c4-61aa-7c3d-8e4f-5a6b7c8d9e0f'

const blocks = Array.from(readText('client/README.md').matchAll(/^```js\n([\s\S]*?)^```$/gm), ([, code = '']) => code)

const service = shared(startExamples)
let folder = ''
beforeAll(async () => {
  await buildClient()
  // Below the root, where the client is found by its name.
  await mkdir(join(ROOT, 'out'), { recursive: true })
  folder = await mkdtemp(join(ROOT, 'out/readme-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

test('renders PDFs, lists templates and tells what is wrong', async () => {
  const caller = blocks.filter((code) => !/verifyWebhook|signTestEvent/.test(code))
  expect(caller.length).toBe(8)
  await writeFile(join(folder, 'caller.mjs'), caller.join('\n'))
  const env = { PATH: process.env['PATH'], PLATEN_URL: service().url(), PLATEN_API_KEY: service().key }
  const { stdout } = await run(await machineNode(), ['caller.mjs'], { cwd: folder, env })
  expect(stdout).toMatch(
    /^2 0\n[0-9A-Z]{26} \w+\n(?:[a-z-]+ 1\n){8}undefined\nexhausted \w+\nVALIDATION_FAILED 422 \[[^]*\/data\/number[^]*\]\n$/,
  )
  expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([])
  for (const name of ['invoice.pdf', 'invoice-2.pdf', 'invoice-3.pdf', '2026-0046.pdf', '2026-0047.pdf']) {
    expect((await readFile(join(folder, name))).subarray(0, 5).toString()).toBe('%PDF-')
  }
})

test('receives a webhook, and refuses a forged one', async () => {
  const receiver = blocks.filter((code) => /verifyWebhook|signTestEvent/.test(code))
  expect(receiver.length).toBe(2)
  await writeFile(join(folder, 'receiver.mjs'), receiver.join('\n'))
  process.env['WEBHOOK_SECRET'] = SECRET
  using print = vi.spyOn(console, 'log').mockImplementation(() => {})
  // The module is the README's. It sends itself a test event.
  const { receive } = (await import(pathToFileURL(join(folder, 'receiver.mjs')).href)) as {
    receive: (request: Request) => Promise<Response>
  }
  expect(print.mock.calls).toEqual([[expect.any(String), 'page_limit', expect.any(String)], [204]])
  expect((await receive(aDelivery(SECRET))).status).toBe(204)
  expect(print.mock.calls.at(-1)).toEqual([RENDER_ID, 'internal', DELIVERY_ID])
  const forged = await receive(aDelivery('another'))
  expect([forged.status, await forged.text()]).toEqual([400, 'signature_mismatch'])
})

function aDelivery(secret: string): Request {
  const about = { id: '0190a3c4-5d6e-7f80-9a1b-2c3d4e5f6071', status: 'failed' }
  const body = JSON.stringify({ ...about, error_code: 'internal', error_reason: 'internal', error_message: '' })
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = {
    'webhook-id': DELIVERY_ID,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': `v1,${createHmac('sha256', secret).update(`${DELIVERY_ID}.${timestamp}.${body}`).digest('base64')}`,
  }
  return new Request('https://receiver.example', { method: 'POST', headers, body })
}
