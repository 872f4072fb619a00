/** The npm package: what is in it, what compilers make of it, and where it runs. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { ACME_LIVE } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import type { Service } from '../topology/service.ts'
import { readVectors } from '../webhook/vector.ts'
import { buildClient, machineNode } from './built.ts'

const run = promisify(execFile)

beforeAll(buildClient)

describe('the package', () => {
  test('holds the compiled client, its types, and what tells of it', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: join(ROOT, 'client'),
    })
    // The shape is npm's.
    const [packed] = Object.values(JSON.parse(stdout) as Record<string, { files: { path: string }[] }>)
    const paths = packed?.files.map(({ path }) => path).toSorted()
    const modules = ['client', 'clock', 'error', 'index', 'json', 'transport', 'webhook', 'wire']
    expect(paths).toEqual([
      'LICENSE',
      'README.md',
      ...modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
      'package.json',
    ])
  })

  test.for([
    ['the web', '"lib": ["es2022", "dom"], "types": []'],
    ['Node', '"lib": ["es2022"], "types": ["node"]'],
  ] as const)('has types that a strict compiler takes who knows %s', async ([, options]) => {
    await mkdir(join(ROOT, 'out'), { recursive: true })
    await using temporary = await mkdtempDisposable(join(ROOT, 'out/consumer-'))
    const folder = temporary.path
    await writeFile(join(folder, 'consumer.ts'), CONSUMER)
    const strict = '"module": "nodenext", "strict": true, "exactOptionalPropertyTypes": true, "noEmit": true'
    // What Node's types say of each other is not ours to judge.
    const skip = `"skipLibCheck": ${options.includes('node')}`
    await writeFile(
      join(folder, 'tsconfig.json'),
      `{ "compilerOptions": { ${strict}, ${skip}, ${options} }, "include": ["consumer.ts"] }`,
    )
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run(process.execPath, [tsc, '--project', folder]).catch((error) => error)
    expect(stdout).toBe('')
  })
})

/** What it must let a caller write, and what it must not. */
const CONSUMER = `
import { createClient, PlatenError, verifyWebhook, type WebhookEvent } from '@platen/client'
interface Invoice { number: string }
const data: Invoice = { number: '1' }
const client = createClient({ baseUrl: 'https://pdf.example.com', apiKey: 'key' })
export const pdf: Promise<Uint8Array> = client.render({ template: 'invoice', data }).then(({ pdf }) => pdf)
// @ts-expect-error the method says the mode
export const twice = client.render({ template: 'invoice', data, mode: 'async' })
// @ts-expect-error it is page_size
export const misspelt = client.render({ template: 'invoice', data, options: { pageSize: 'A4' } })
export function bytes(event: WebhookEvent): number {
  return event.type === 'render.succeeded' ? event.data.bytes : event.data.error_message.length
}
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
      heads: ['%PDF-', '%PDF-'],
      templates: 4,
      types: ['render.failed', 'render.failed'],
      forged: 'signature_mismatch',
      refused: 'RENDER_NOT_FOUND',
      unreachable: 'NETWORK_ERROR',
    })
  })
})
