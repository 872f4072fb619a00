/**
 * The images, as far as they can be judged without an engine to build them: their Dockerfile is read, and what it copies is copied
 * here, into a folder in which every module of the image must load with no package but those that npm says they install.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, realpath, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { listFiles, readText } from '../architecture/source-tree.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { MAIN_THREAD_OPTIONS, MALLOC, RENDERING_OPTIONS } from '../topology/embedded.ts'
import { type Instruction, ignores, imageNamed } from './dockerfile.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const PACKAGE = JSON.parse(readText('package.json')) as {
  devDependencies: { node: string }
  scripts: { start: string }
}
const NODE_VERSION = PACKAGE.devDependencies.node
const START = PACKAGE.scripts.start

/** Each with what must not be in its image: what only others need, and tools. */
const TOOLS = ['node', 'vitest', '@biomejs/biome', 'oxlint', 'fast-check']
const RENDERING = ['puppeteer', 'puppeteer-core', 'react', '@react-pdf/layout', 'quickjs-emscripten-core', 'liquidjs']
const IMAGES = [
  { name: 'api', present: ['fastify', 'kafkajs', 'ioredis'], absent: [...RENDERING, ...TOOLS, 'typescript'] },
  { name: 'renderer', present: ['puppeteer-core', '@react-pdf/layout', 'kafkajs'], absent: ['fastify', ...TOOLS] },
  {
    name: 'operator',
    present: ['@kubernetes/client-node', 'quickjs-emscripten-core', 'typescript'],
    absent: ['fastify', ...TOOLS],
  },
  { name: 'events', present: ['kafkajs', 'undici'], absent: ['fastify', ...RENDERING, ...TOOLS, 'typescript'] },
  { name: 'embedded', present: ['fastify', 'puppeteer-core', 'yaml'], absent: ['@kubernetes/client-node', ...TOOLS] },
]

const COMPILING = readText('image/compile.js')
const isIgnored = ignores()
const files = listFiles()

describe.for(IMAGES)('the image of $name', ({ name, present, absent }) => {
  const { bases, instructions: image, installing } = imageNamed(name)
  const isRendering = name === 'renderer' || name === 'embedded'
  const only = (wanted: string) => image.filter((instruction) => instruction.name === wanted)

  test('installs by the Node of package.json, and is a Debian with that Node and no npm', () => {
    expect(bases).toEqual([`node:${NODE_VERSION}-trixie-slim`, 'debian:trixie-slim'])
    const copied = only('COPY').filter(({ flags }) => flags.length > 0)
    expect(copied.map(({ text }) => text)).toEqual([
      '--from=install /usr/local/bin/node /usr/local/bin/',
      `--from=install-${name} /srv/platen ./`,
    ])
  })

  test('is run by a user who is not root, nor in its last step made by one', () => {
    const users = only('USER').map(({ text }) => text)
    expect(users).toEqual([expect.stringMatching(/^[1-9]\d{3,}:[1-9]\d{3,}$/)])
    const after = image.slice(image.findIndex((each) => each.name === 'USER') + 1).map((each) => each.name)
    expect(after).toEqual(['EXPOSE', 'ENTRYPOINT'])
  })

  test('starts its main.ts below tini, without a shell', () => {
    const [entry] = only('ENTRYPOINT')
    expect(JSON.parse(entry?.text ?? '')).toEqual([
      '/usr/bin/tini',
      '--',
      'node',
      ...(isRendering ? RENDERING_OPTIONS : []),
      `${name}/src/main.ts`,
    ])
    expect(only('RUN').some(({ words }) => words.includes('apt-get') && words.includes('tini'))).toBe(true)
    expect(only('CMD')).toEqual([])
  })

  test('leaves its health to the orchestrator, and everything in it to root', () => {
    expect(image.filter((each) => ['HEALTHCHECK', 'ADD', 'VOLUME'].includes(each.name))).toEqual([])
    expect(only('COPY').flatMap(({ flags }) => flags)).toEqual(['--from=install', `--from=install-${name}`])
    expect(only('ENV')[0]?.words[0]).toBe('NODE_ENV=production')
  })

  test('keeps memory small by the same options as `npm start` and the tests', () => {
    const environment = only('ENV').flatMap(({ words }) => words)
    const options = environment.filter((each) => each.startsWith('NODE_OPTIONS='))
    // The operator has settings of its own: `keepHeapSmall`.
    expect(options).toEqual(name === 'operator' ? [] : [`NODE_OPTIONS=${MAIN_THREAD_OPTIONS.join(' ')}`])
    const malloc = Object.entries(MALLOC).map((entry) => entry.join('='))
    expect(START.split(' ')).toEqual(expect.arrayContaining(malloc))
    expect(environment).toEqual(expect.arrayContaining(malloc))
    expect(START).toContain(
      `exec node ${[...MAIN_THREAD_OPTIONS, ...RENDERING_OPTIONS].join(' ')} embedded/src/main.ts`,
    )
  })

  test('has Chromium only where html is rendered', () => {
    const hasChromium = only('RUN').some(({ text }) => text.includes('chromium'))
    expect(hasChromium).toBe(isRendering)
  })

  test('is made of files that exist and reach the builder', () => {
    const sources = [...installing, ...image].filter(isFromContext).flatMap(sourcesOf)
    expect(sources.filter((path) => !isThere(path))).toEqual([])
    expect(sources.filter(isIgnored)).toEqual([])
  })

  test('has compiled the packages that it loads only when they are needed', () => {
    const own = present.includes('puppeteer-core') ? [name, 'renderer'] : [name]
    const sources = files.filter(
      (file) => own.some((each) => file.startsWith(`${each}/src/`)) && !file.endsWith('.test.ts'),
    )
    const later = sources.flatMap((file) =>
      [...readText(file).matchAll(/(?<!typeof )\bimport\('([^.'][^']*)'\)/g)].map(([, wanted]) => wanted ?? ''),
    )
    expect(later.filter((each) => !each.startsWith('@platen/') && !COMPILING.includes(`'${each}'`))).toEqual([])
  })

  test('has compiled its code with the options of its start', () => {
    const compiling = only('RUN').filter(({ text }) => text.startsWith('image/compile.sh'))
    // Code that was compiled with other options is not used.
    expect(compiling.map(({ text }) => text)).toEqual([
      ['image/compile.sh', ...(isRendering ? RENDERING_OPTIONS : [])].join(' '),
    ])
  })

  test('installs what it needs and nothing else, and all of its modules load', async () => {
    // As npm names it.
    const folder = await realpath(aFolder())
    await assemble(installing, folder)
    await assemble(image, folder)
    const installed = await packagesIn(folder)
    expect(present.filter((each) => !installed.includes(each))).toEqual([])
    expect(absent.filter((each) => installed.includes(each))).toEqual([])
    const { modules, packages } = await load(folder)
    expect(modules).toContain(`${name}/src/main.ts`)
    expect(modules.filter((module) => module.endsWith('.test.ts'))).toEqual([])
    // What is linked finds its own dependencies beside it, where more is installed.
    expect(packages.filter((each) => !installed.includes(each))).toEqual([])
    expect(packages).not.toEqual([])
  })
})

test('react-pdf is compiled as threads load it: whoever loads it first decides', () => {
  expect(COMPILING.indexOf('await importDocument()')).toBeGreaterThan(0)
  expect(COMPILING.indexOf('await importDocument()')).toBeLessThan(COMPILING.indexOf('globSync('))
})

test('nothing of the tests, of receivers or a folder of data reaches the builder', () => {
  const kept = files.filter((file) => !isIgnored(file))
  const outside = kept.filter(
    (file) =>
      !/^((lib|contract|adapters|process|settings|api|operator|renderer|events|embedded|examples|image)\/|(package(-lock)?\.json|\.npmrc)$)/.test(
        file,
      ),
  )
  expect(outside).toEqual([])
  expect(kept.filter((file) => file.endsWith('.test.ts'))).toEqual([])
  expect(
    [
      'examples/receiver/express.mjs',
      'data/url-key',
      '.env',
      'node_modules/a',
      'api/node_modules/a/b.js',
      '.git/config',
    ].filter((each) => !isIgnored(each)),
  ).toEqual([])
})

function isFromContext({ name, flags }: Instruction): boolean {
  return name === 'COPY' && flags.length === 0
}

function sourcesOf({ words }: Instruction): readonly string[] {
  return words.slice(0, -1)
}

function isThere(path: string): boolean {
  return files.some((file) => file === path || file.startsWith(`${path}/`))
}

/** Does what a stage does in its folder: copies from the repository, and what `npm ci` installs. */
async function assemble(instructions: readonly Instruction[], folder: string): Promise<void> {
  for (const instruction of instructions) {
    if (isFromContext(instruction)) await copy(instruction, folder)
    if (instruction.text.startsWith('npm ')) await install(instruction, folder)
  }
}

async function copy(instruction: Instruction, folder: string): Promise<void> {
  const target = instruction.words.at(-1) ?? ''
  for (const source of sourcesOf(instruction)) {
    const to = join(folder, target.endsWith('/') ? join(target, source.split('/').at(-1) ?? '') : target)
    await mkdir(dirname(to), { recursive: true })
    const filter = (path: string) => !isIgnored(path.slice(ROOT.length))
    await cp(join(ROOT, source), to, { recursive: true, filter })
  }
}

/** Asks npm what it would install, and links that from the repository, whose own packages are of the same lockfile. */
async function install({ text }: Instruction, folder: string): Promise<void> {
  const [command = '', ...words] = text.split(' ')
  const { stdout } = await run(command, [...words, '--dry-run', '--json'], { cwd: folder })
  // A list for people stands before the JSON.
  const { add } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { add: readonly { path: string }[] }
  for (const path of add.map((each) => relative(folder, each.path))) {
    // Those within another package come with it.
    if (/node_modules\/.*node_modules\//.test(path)) continue
    await mkdir(dirname(join(folder, path)), { recursive: true })
    const isOwn = path.startsWith('node_modules/@platen/')
    await symlink(join(isOwn ? folder : ROOT, isOwn ? basename(path) : path), join(folder, path))
  }
}

async function packagesIn(folder: string): Promise<readonly string[]> {
  const own = join(folder, 'renderer/node_modules')
  return [...(await packagesOf(join(folder, 'node_modules'))), ...(existsSync(own) ? await packagesOf(own) : [])]
}

async function packagesOf(modules: string): Promise<readonly string[]> {
  const names = await readdir(modules)
  const scoped = names.filter((name) => name.startsWith('@'))
  const inner = await Promise.all(
    scoped.map(async (scope) => (await readdir(join(modules, scope))).map((name) => `${scope}/${name}`)),
  )
  return [...names, ...inner.flat()]
}

interface Loaded {
  readonly modules: readonly string[]
  /** The names of all packages that took part, each as a folder of `node_modules`. */
  readonly packages: readonly string[]
}

/** Loads every module of a tree as the image would, its dependencies included: importing a file does nothing. */
async function load(folder: string): Promise<Loaded> {
  const script = `
    import { globSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    const packages = new Set()
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context)
        const [, name] = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ?? []
        if (name !== undefined) packages.add(name)
        return found
      },
    })
    // The entry of a thread loads nowhere else.
    const modules = globSync('*/src/**/*.ts').filter((path) => !/\\.d\\.ts$|sqlite\\/thread\\.ts$/.test(path))
    for (const path of modules) await import(process.cwd() + '/' + path)
    console.log(JSON.stringify({ modules, packages: [...packages] }))
  `
  const env = { PATH: process.env['PATH'], HOME: folder, NODE_ENV: 'production' }
  const cache = process.env['NODE_COMPILE_CACHE']
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: folder,
    env: { ...env, ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
  })
  return JSON.parse(stdout) as Loaded
}

test('`make run` keeps memory small by the same options', () => {
  const [recipe = ''] = /^run:.*\n(?:\t.*\n)+/m.exec(readText('Makefile')) ?? []
  const malloc = Object.entries(MALLOC).map((entry) => entry.join('='))
  const options = [...MAIN_THREAD_OPTIONS, ...RENDERING_OPTIONS]
  expect(recipe).toContain(`${malloc.join(' ')} exec $(NODE) ${options.join(' ')} embedded/src/first-run.ts`)
})
