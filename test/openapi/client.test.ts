/**
 * Clients that others generate from the OpenAPI document, as the service serves it. Each is compiled as strictly as its language can, prints
 * the sample of the example invoice, and reads a refusal. The programs in `go` and `program` are those of its user.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { aFolder, shared } from '../fixture/lifetime.ts'
import { startExamples } from '../topology/embedded.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { NODE_MODULES, PYTHON_PACKAGES, scriptOf } from './tool.ts'

const service = shared(startExamples)

/** Generates and compiles a client of `openapi.json` in a folder. Returns the command that prints by it. */
type Build = (folder: string) => Promise<readonly [command: string, ...args: string[]]>

test.for<[string, Build]>([
  ['openapi-typescript, with openapi-fetch', buildOpenApiFetch],
  ['@hey-api/openapi-ts', buildHeyApi],
  ['openapi-python-client', buildPython],
  ['oapi-codegen', buildGo],
])('a client made by %s prints an invoice', async ([, build]) => {
  const folder = aFolder()
  await mkdir(join(folder, 'tmp'))
  const answer = await fetch(`${service().url()}/openapi.json`)
  await writeFile(join(folder, 'openapi.json'), await answer.text())
  const [command, ...args] = await build(folder)
  const output = await run(folder, command, [...args, service().url(), service().key, 'invoice.pdf'])

  expect(output.trim()).toBe('TEMPLATE_NOT_FOUND')
  const { text, size } = await inspectPdf(await readFile(join(folder, 'invoice.pdf')))
  expect(text).toContain('Invoice')
  expect(size.map(Math.round)).toEqual([420, 595])
})

async function buildOpenApiFetch(folder: string): ReturnType<Build> {
  const generator = await scriptOf('openapi-typescript', 'openapi-typescript')
  await run(folder, process.execPath, [generator, 'openapi.json', '--output', 'made.ts'])
  return await compiled(folder, 'openapi-fetch.mts')
}

async function buildHeyApi(folder: string): ReturnType<Build> {
  const generator = await scriptOf('@hey-api/openapi-ts', 'openapi-ts')
  await run(folder, process.execPath, [generator, '--input', 'openapi.json', '--output', 'made'])
  return await compiled(folder, 'hey-api.mts')
}

/** Compiles a program and what was made beside it. */
async function compiled(folder: string, program: string): ReturnType<Build> {
  await cp(join(import.meta.dirname, 'program', program), join(folder, program))
  await symlink(NODE_MODULES, join(folder, 'node_modules'))
  const options = {
    strict: true,
    module: 'nodenext',
    target: 'esnext',
    rewriteRelativeImportExtensions: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
    types: ['node'],
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: [program] }))
  await run(folder, join(ROOT, 'node_modules/.bin/tsc'), [])
  return [process.execPath, program.replace('.mts', '.mjs')]
}

async function buildPython(folder: string): ReturnType<Build> {
  const program = join(import.meta.dirname, 'program')
  await cp(join(program, 'print.py'), join(folder, 'print.py'))
  const config = join(program, 'openapi-python-client.yaml')
  const generate = ['generate', '--path', 'openapi.json', '--config', config, '--meta', 'none', '--fail-on-warning']
  await run(folder, 'python3', ['-m', 'openapi_python_client', ...generate, '--output-path', 'platen'])
  await run(folder, 'python3', ['-m', 'mypy', '--strict', '--cache-dir', '/dev/null', 'platen', 'print.py'])
  return ['python3', 'print.py']
}

async function buildGo(folder: string): ReturnType<Build> {
  await cp(join(import.meta.dirname, 'go'), folder, { recursive: true })
  await mkdir(join(folder, 'api'))
  await run(folder, 'go', ['tool', 'oapi-codegen', '-config', 'oapi-codegen.yaml', 'openapi.json'])
  await run(folder, 'go', ['vet', './...'])
  await run(folder, 'go', ['build', '-o', 'print', '.'])
  return [join(folder, 'print')]
}

/** Runs a command, and returns its output. Throws with what it wrote if it fails. */
async function run(folder: string, command: string, args: readonly string[]): Promise<string> {
  const paths = [folder, PYTHON_PACKAGES, process.env['PYTHONPATH'] ?? '']
  const env = {
    ...process.env,
    PYTHONPATH: paths.filter(Boolean).join(delimiter),
    PYTHONDONTWRITEBYTECODE: '1',
    // Of what they leave there, nothing is left with the folder.
    TMPDIR: join(folder, 'tmp'),
  }
  const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env }).catch((cause: unknown) => {
    const written = cause instanceof Error && 'stdout' in cause ? String(cause.stdout) : ''
    throw new Error(`${command} ${args.join(' ')} failed: ${written}`, { cause })
  })
  return stdout
}
