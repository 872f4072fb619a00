/** The npm package: what is in it, what compilers make of it, and where it runs. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VERSION } from '../../client/src/transport.ts'
import { ROOT, readText } from '../architecture/source-tree.ts'
import { ACME_LIVE } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import type { Service } from '../topology/service.ts'
import { readVectors } from '../webhook/vector.ts'
import { buildClient, machineNode } from './built.ts'

const run = promisify(execFile)
const BUNDLER = '"moduleResolution": "bundler", "lib": ["es2022", "dom"], "types": []'

/** TypeScript 7, and the 6 that the renderer checks templates with. */
const COMPILERS = ['', 'renderer/'].map((folder) => `${folder}node_modules/typescript/bin/tsc`)

/** A project that has installed the package as npm packs it. */
const project = join(ROOT, 'out', `consumer-${process.pid}`)
const installed = join(project, 'node_modules/@platen/client')

beforeAll(async () => {
  await buildClient()
  await mkdir(installed, { recursive: true })
  // Its scripts would build once more, while another test reads what is built.
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', project]
  const { stdout } = await run('npm', pack, { cwd: join(ROOT, 'client') })
  await run('tar', ['--extract', '--file', join(project, stdout.trim()), '--strip-components=1', '-C', installed])
  await writeFile(join(project, 'consumer.ts'), CONSUMER)
  await writeFile(join(project, 'package.json'), '{ "type": "module" }')
  await mkdir(join(project, 'commonjs'))
  await writeFile(join(project, 'commonjs/consumer.ts'), CONSUMER)
  await writeFile(join(project, 'commonjs/package.json'), '{ "type": "commonjs" }')
})
afterAll(() => rm(project, { recursive: true, force: true }))

describe('the package', () => {
  test('has the compiled client, its types and its documents', async () => {
    const entries = await readdir(installed, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const paths = files.map((entry) => relative(installed, join(entry.parentPath, entry.name))).toSorted()
    const methods = ['answer', 'batch', 'call', 'list', 'wait'].map((name) => `client/${name}`)
    const inner = [...methods, 'webhook/event', 'webhook/key', 'webhook/sign']
    const outer = [
      'client',
      'clock',
      'error',
      'fault',
      'index',
      'json',
      'node',
      'spelling',
      'transport',
      'webhook',
      'wire',
    ]
    const modules = [...outer, ...inner]
    const compiled = ['dist', 'dist/cjs'].flatMap((folder) =>
      modules.flatMap((name) => [`${folder}/${name}.d.ts`, `${folder}/${name}.js`]),
    )
    expect(paths).toEqual(['LICENSE', 'README.md', ...compiled, 'dist/cjs/package.json', 'package.json'].toSorted())
  })

  test('says its version to the service', () => {
    expect(VERSION).toBe(JSON.parse(readText('client/package.json')).version)
  })

  test('has a README whose links lead out of it by a full address', async () => {
    const readme = await readFile(join(installed, 'README.md'), 'utf8')
    const links = Array.from(readme.matchAll(/\]\(([^)]+)\)/g), ([, link = '']) => link)
    expect(links.filter((link) => !link.startsWith('https://'))).toEqual([])
  })

  test.for<[string, string, string]>([
    ['knows the web', 'consumer.ts', '"module": "nodenext", "lib": ["es2022", "dom"], "types": []'],
    ['knows Node', 'consumer.ts', '"module": "nodenext", "types": ["node"]'],
    ['makes CommonJS as Node 16 does', 'commonjs/consumer.ts', '"module": "node16", "types": ["node"]'],
    ['makes CommonJS as the newest Node does', 'commonjs/consumer.ts', '"module": "nodenext", "types": ["node"]'],
    // TypeScript 7 has no `node10` any more; without `exports` it finds a package as that did.
    [
      'knows no `exports`',
      'commonjs/consumer.ts',
      `${BUNDLER}, "module": "commonjs", "resolvePackageJsonExports": false`,
    ],
    ['leaves modules to a bundler', 'consumer.ts', `${BUNDLER}, "module": "esnext"`],
  ])('has types that a strict compiler takes that %s', async ([, file, options]) => {
    const isOfNode = options.includes('node"]')
    const strict = '"target": "es2022", "strict": true, "exactOptionalPropertyTypes": true, "noEmit": true'
    // What Node's types say of each other is not ours to judge.
    const settings = `{ ${strict}, "skipLibCheck": ${isOfNode}, ${options} }`
    const config = join(project, 'tsconfig.json')
    await writeFile(config, `{ "compilerOptions": ${settings}, "files": ["${file}"] }`)
    for (const compiler of COMPILERS) {
      const { stdout } = await run(process.execPath, [join(ROOT, compiler), '--project', config]).catch(
        (error) => error,
      )
      expect(stdout).toBe('')
    }
  })

  test.for([
    ['require', 'cjs', 'dist/cjs/index.js', "const client = require('@platen/client'); const { resolve } = require"],
    ['import', 'mjs', 'dist/index.js', "import * as client from '@platen/client'; const { resolve } = import.meta"],
  ] as const)("is found by %s in the machine's Node", async ([, extension, file, found]) => {
    const program = join(project, `found.${extension}`)
    await writeFile(program, `${found}; console.log(resolve('@platen/client'), Object.keys(client).toSorted().join())`)
    const { stdout } = await run(await machineNode(), [program])
    const [where, names] = stdout.trim().split(' ')
    expect(where?.endsWith(`/node_modules/@platen/client/${file}`)).toBe(true)
    expect(names).toBe('PlatenError,WebhookVerificationError,createClient,signTestEvent,verifyWebhook')
    const node = file.replace('index', 'node')
    await writeFile(program, `${found}; console.log(resolve('@platen/client/node'))`)
    expect(
      (await run(await machineNode(), [program])).stdout.trim().endsWith(`/node_modules/@platen/client/${node}`),
    ).toBe(true)
  })

  test('knows the errors of its other build', async () => {
    const program = join(project, 'errors.mjs')
    await writeFile(program, BOTH_BUILDS)
    const { stdout } = await run(await machineNode(), [program])
    expect(JSON.parse(stdout)).toEqual({ builds: 2, one: [true, true], other: [true, true], none: [false, false] })
  })
})

/** Throws with one build and asks the other, in both directions. */
const BOTH_BUILDS = `
import { createRequire } from 'node:module'
import * as esm from '@platen/client'
const cjs = createRequire(import.meta.url)('@platen/client')
const errorsOf = async ({ createClient, verifyWebhook }) => [
  await createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key', retries: 0 }).getUsage().catch((error) => error),
  await verifyWebhook('', {}, 'secret').catch((error) => error),
]
const asked = ([error, refusal], { PlatenError, WebhookVerificationError }) => [
  error instanceof PlatenError,
  refusal instanceof WebhookVerificationError,
]
const [one, other] = [await errorsOf(esm), await errorsOf(cjs)]
console.log(JSON.stringify({
  builds: new Set([esm.PlatenError, cjs.PlatenError]).size,
  one: asked(one, cjs),
  other: asked(other, esm),
  none: asked(one.toReversed(), cjs),
}))
`

/** What it must let a caller write, and what it must not. */
const CONSUMER = `
import { createClient, PlatenError, signTestEvent, verifyWebhook, type ErrorReason, type WebhookEvent } from '@platen/client'
import { renderToFile } from '@platen/client/node'
interface Invoice { number: string }
const data: Invoice = { number: '1' }
const client = createClient({ baseUrl: 'https://pdf.example.com', apiKey: 'key' })
export const pdf: Promise<Uint8Array> = client.render({ template: 'invoice', data }).then(({ pdf }) => pdf)
// The types of the web ask for bytes that no other thread shares.
export const parts = [
  client.render({ template: 'invoice', data }).then(({ pdf }) => pdf),
  client.renderAndWait({ template: 'invoice', data }).then(({ pdf }) => pdf),
  client.getPdf('a'),
  client.downloadPdf({ pdfUrl: 'a' }),
].map((call) => call.then((pdf) => [new Response(pdf), new Blob([pdf])]))
export const pieces = client.renderTo({ template: 'invoice', data }, async (pdf) => {
  for await (const piece of pdf) new Blob([piece])
})
// @ts-expect-error the method says the mode
export const twice = client.render({ template: 'invoice', data, mode: 'async' })
export const sized = client.render({ template: 'invoice', data, options: { pageSize: 'A4' }, webhookUrl: 'https://a.b' })
// @ts-expect-error it is pageSize
export const misspelt = client.render({ template: 'invoice', data, options: { page_size: 'A4' } })
export const wait = client.renderAndWait({ template: 'invoice', data }, { idempotencyKey: 'a' })
export const url: Promise<string> = wait.then(({ record }) => record.pdfUrl)
export const left: Promise<number | undefined> = client.renderAsync({ template: 'invoice', data }).then(({ quota }) => quota?.remaining)
export const file = renderToFile(client, { template: 'invoice', data }, { path: 'invoice.pdf' })
export function bytes(event: WebhookEvent): number {
  switch (event.type) {
    case 'render.succeeded':
      return event.data.bytes
    case 'render.failed':
      return event.data.errorMessage.length
    case 'batch.ended':
      return event.data.total + event.batchId.length
    case 'webhook.test':
      // @ts-expect-error it tells of no render
      return event.renderId
  }
}
// A reason that is not known yet is a reason, too.
export const reasons: ErrorReason[] = ['quota_exhausted', 'a_new_one']
export const signed = signTestEvent({ secret: 'a', event: { type: 'render.failed', data: { errorCode: 'page_limit' } } })
// @ts-expect-error a render that failed has no size
export const wrong = signTestEvent({ secret: 'a', event: { type: 'render.failed', data: { bytes: 1 } } })
export const test = signTestEvent({ secret: 'a', event: { type: 'webhook.test' } })
export const batch = client.createBatch({ template: 'invoice', items: [{ data, filename: 'a.pdf' }, { data, reference: 'b' }] })
export const end: Promise<string> = client.waitForBatch('b').then(({ endedAt }) => endedAt)
export const lost = client.allDeliveries({ status: 'exhausted' })
export const tested: Promise<string> = client.testWebhook('https://a.b').then(({ status }) => status)
export async function receive(request: Request): Promise<string> {
  return (await verifyWebhook(await request.text(), request.headers, ['a', 'b'])).deliveryId
}
export const isFull = (error: unknown) => error instanceof PlatenError && error.code === 'RATE_LIMITED'
`

describe('it runs', () => {
  let service: Service
  let input = ''
  beforeAll(async () => {
    service = await startEmbedded({ PLATEN_CHROMIUM: 'none' })
    const vector = readVectors().find(({ name }) => name === 'emoji beyond the basic plane')
    input = JSON.stringify({ baseUrl: service.url(), apiKey: ACME_LIVE, vector })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  const DIRECTLY = "import { scenario } from './scenario.mjs'; console.log(await scenario(JSON.parse(process.argv[1])))"

  test.for<[string, () => Promise<string>, readonly string[]]>([
    ["in the service's Node", async () => process.execPath, ['--input-type=module', '--eval', DIRECTLY]],
    ["in the machine's Node", machineNode, ['--input-type=module', '--eval', DIRECTLY]],
    [
      'where there is no Node',
      async () => process.execPath,
      ['--experimental-vm-modules', '--no-warnings', 'bare.mjs'],
    ],
  ])('%s', async ([, node, args]) => {
    const { stdout } = await run(await node(), [...args, input], { cwd: import.meta.dirname })
    expect(JSON.parse(stdout)).toEqual({
      heads: ['%PDF-', '%PDF-', '%PDF-', '%PDF-'],
      templates: 4,
      types: ['render.failed', 'render.failed'],
      signed: 'render.succeeded',
      forged: 'signature_mismatch',
      refused: 'RENDER_NOT_FOUND',
      unreachable: 'NETWORK_ERROR',
    })
  })
})
