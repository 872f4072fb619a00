/** The import table, enforced: which module may know which. `shape.test.ts` beside the table judges the files themselves. */
import { describe, expect, test } from 'vitest'
import { type Declared, IMPORT_TABLE, judge } from './architecture/import-table.ts'
import { type Arrow, arrowsOf, findCycle, listFiles, readText, targetOf } from './architecture/source-tree.ts'

const files = listFiles()
const workspaces = files.filter((file) => /^[^/]+\/package\.json$/.test(file)).map((file) => file.split('/')[0] ?? '')
const modules = files.filter((file) => file.endsWith('.ts') && workspaces.some((name) => file.startsWith(`${name}/`)))
const arrows = modules.flatMap((module) => arrowsOf(module))

describe('the modules', () => {
  test('import only what the import table allows and their own package.json declares', () => {
    const declared = new Map(workspaces.map((name) => [name, declaredBy(name)]))
    const faults = arrows.map((arrow) => judge(arrow, declared.get(arrow.from.split('/')[0] ?? '') ?? NOTHING))
    expect(faults.filter((fault) => fault !== undefined)).toEqual([])
  })

  test('import files that exist', () => {
    const lost = arrows.filter((arrow) => !files.includes(targetOf(arrow) ?? arrow.from))
    expect(lost.map(({ from, specifier }) => `${from} imports ${specifier}`)).toEqual([])
  })

  test('form no cycle', () => {
    // Types may refer to each other, as nouns do, and a thread runs on its own; only an import must be evaluated first.
    const imports = Map.groupBy(
      arrows.filter(({ kind }) => kind === 'import'),
      ({ from }) => from,
    )
    const targets = (module: string) => (imports.get(module) ?? []).flatMap((arrow) => targetOf(arrow) ?? [])
    expect(findCycle(new Map(modules.map((module) => [module, targets(module)])))).toBeUndefined()
  })

  test('are each in a place the table knows, and the table knows no place without one', () => {
    const empty = IMPORT_TABLE.filter(
      ({ from }) => !from.endsWith('main.ts') && !modules.some((file) => file.startsWith(from)),
    )
    expect(empty).toEqual([])
  })
})

describe('the verdict on one arrow', () => {
  const declared: Declared = { dependencies: ['@platen/contract', '@platen/adapters', 'pino', 'fastify'] }
  const rows: readonly [from: string, specifier: string, verdict: string | undefined][] = [
    ['api/src/app.ts', './problem.ts', undefined],
    ['api/src/app.ts', '@platen/contract/error.ts', undefined],
    ['api/src/app.ts', 'fastify', undefined],
    ['api/src/app.ts', 'node:http', undefined],
    ['api/src/main.ts', '@platen/adapters/kafka/render-queue.ts', undefined],
    ['api/src/app.ts', '@platen/adapters/kafka/render-queue.ts', 'has no arrow to adapters/src/kafka/render-queue.ts'],
    ['api/src/app.ts', '@platen/renderer/worker.ts', 'has no arrow to renderer/src/worker.ts'],
    ['adapters/src/setting/connection/redis.ts', '../../redis/connect.ts', undefined],
    [
      'adapters/src/setting/connection/redis.ts',
      '../../redis/script.ts',
      'has no arrow to adapters/src/redis/script.ts',
    ],
    ['api/src/app.ts', '../../contract/src/error.ts', 'other packages are named @platen/…'],
    ['api/src/app.ts', '@platen/api/problem.ts', 'its own files by relative path'],
    ['api/src/app.ts', '@platen/contract', 'names the file, with .ts'],
    ['api/src/app.ts', './problem.js', 'names the file, with .ts'],
    ['api/src/app.ts', 'puppeteer', 'its package.json does not declare puppeteer'],
    ['contract/src/render.ts', 'node:fs', 'it does no I/O'],
    ['contract/src/render.ts', '@platen/adapters/system/clock.ts', 'has no arrow to adapters/src/system/clock.ts'],
    ['settings/src/compile/tenant.ts', 'node:fs/promises', 'it does no I/O'],
    [
      'adapters/src/sqlite/event-log.ts',
      '../fs/artifact-store.ts',
      'has no arrow to adapters/src/fs/artifact-store.ts',
    ],
    ['adapters/src/sqlite/event-log.ts', 'pino', 'this folder is not the one for pino'],
    ['embedded/src/compose.ts', '@platen/api/admission/admit.ts', 'has no arrow to api/src/admission/admit.ts'],
    ['api/src/app.test.ts', '@platen/adapters/memory/clock.ts', undefined],
    ['api/src/app.test.ts', '../../test/fixture/build.ts', undefined],
    ['api/src/app.test.ts', '@platen/adapters/sqlite/event-log.ts', 'has no arrow to adapters/src/sqlite/event-log.ts'],
    ['console/src/main.ts', './page.ts', 'is in no row of the import table'],
  ]

  test.for(rows)('%s → %s: %s', ([from, specifier, verdict]) => {
    const fault = judge({ from, specifier, kind: 'import' }, declared)
    if (verdict === undefined) expect(fault).toBeUndefined()
    else expect(fault).toContain(verdict)
  })
})

test('an arrow is whatever names another module, and text in a string is none', () => {
  const text = `
    import type { A } from './type.ts'
    import './effect.ts'
    export * from '@platen/contract/error.ts'
    const lazy = () => import('./lazy.ts')
    new Worker(new URL('./thread.ts', import.meta.url))
    const source = "import x from './string.ts'"
  `
  const found = arrowsOf('api/src/app.ts', text).map(({ specifier, kind }: Arrow) => `${kind} ${specifier}`)
  expect(found).toEqual([
    'type ./type.ts',
    'import ./effect.ts',
    'import @platen/contract/error.ts',
    'import ./lazy.ts',
    'thread ./thread.ts',
  ])
})

test('a cycle is shown as the path that leads back to its start', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', []],
    ['d', ['b']],
  ])
  expect(findCycle(graph)).toEqual(['b', 'd', 'b'])
  graph.set('d', ['c'])
  expect(findCycle(graph)).toBeUndefined()
})

const NOTHING: Declared = { dependencies: [] }

function declaredBy(workspace: string): Declared {
  const manifest: unknown = JSON.parse(readText(`${workspace}/package.json`))
  const dependencies = typeof manifest === 'object' && manifest !== null && 'dependencies' in manifest
  return { dependencies: dependencies ? Object.keys(manifest.dependencies ?? {}) : [] }
}
