/** The npm package: what is in it, what compilers make of it, and where it runs. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { ACME_LIVE } from '../fixture/manifests.ts'
import { startEmbedded } from '../topology/embedded.ts'
import type { Service } from '../topology/service.ts'
import { readVectors } from '../webhook/vector.ts'
import { buildClient, machineNode } from './built.ts'

const run = promisify(execFile)
const BUNDLER = '"moduleResolution": "bundler", "lib": ["es2022", "dom"], "types": []'

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
    const modules = ['client', 'clock', 'error', 'index', 'json', 'transport', 'webhook', 'wire']
    const compiled = ['dist', 'dist/cjs'].flatMap((folder) =>
      modules.flatMap((name) => [`${folder}/${name}.d.ts`, `${folder}/${name}.js`]),
    )
    expect(paths).toEqual(['LICENSE', 'README.md', ...compiled, 'dist/cjs/package.json', 'package.json'].toSorted())
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
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run(process.execPath, [tsc, '--project', config]).catch((error) => error)
    expect(stdout).toBe('')
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
    expect(names).toBe('PlatenError,WebhookVerificationError,createClient,verifyWebhook')
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
