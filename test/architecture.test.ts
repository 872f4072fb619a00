/** Enforces the import table: which module may import which. `shape.test.ts` checks the files themselves. */
import { describe, expect, test } from 'vitest'
import { type Declared, IMPORT_TABLE, judge } from './architecture/import-table.ts'
import { entryOf, LAYERS, layerOf } from './architecture/layer.ts'
import {
  type Arrow,
  arrowsOf,
  entryGraphs,
  findCycle,
  listFiles,
  readText,
  targetOf,
} from './architecture/source-tree.ts'

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

  test('form no circle, by types or threads neither', () => {
    const known = Map.groupBy(arrows, ({ from }) => from)
    const targets = (module: string) => (known.get(module) ?? []).flatMap((arrow) => targetOf(arrow) ?? [])
    expect(findCycle(new Map(modules.map((module) => [module, targets(module)])))).toBeUndefined()
  })

  test('are each in a place the table knows, and the table knows no place without one', () => {
    const empty = IMPORT_TABLE.filter(
      ({ from }) => !from.endsWith('main.ts') && !modules.some((file) => file.startsWith(from)),
    )
    expect(empty).toEqual([])
  })
})

describe('the folders of a package', () => {
  // Tests are next to the modules they test, and may use everything in the same package.
  const within = arrows.flatMap(({ from, specifier, kind }) => {
    const to = targetOf({ from, specifier, kind }) ?? ''
    const isWithin = from.split('/')[0] === to.split('/')[0]
    return isWithin && from.includes('/src/') && !from.endsWith('.test.ts') ? [{ from, to }] : []
  })

  test('and the modules beside them know each other in one direction only, on every level', () => {
    const circles = [...entryGraphs(within).values()].map(findCycle)
    expect(circles.filter((circle) => circle !== undefined)).toEqual([])
  })

  test('have no arrow up nor sideways between the layers of the package', () => {
    const up = within.filter(({ from, to }) => {
      const [name = ''] = from.split('/')
      const [entry, known] = [entryOf(from), entryOf(to)]
      if (entry === known || LAYERS[name] === undefined) return false
      return (layerOf(name, entry) ?? Number.NaN) >= (layerOf(name, known) ?? Number.NaN)
    })
    expect(up).toEqual([])
  })

  test('are each in one layer, where the package has layers, and no layer has what is not there', () => {
    for (const [name, rows] of Object.entries(LAYERS)) {
      const sources = modules.filter((file) => file.startsWith(`${name}/src/`) && !file.endsWith('.test.ts'))
      expect(rows.flat().toSorted()).toEqual([...new Set(sources.map(entryOf))].toSorted())
    }
  })

  test('that know each other are found, a module beside a folder of its name as well', () => {
    const graphs = entryGraphs([
      { from: 'a/src/one/b.ts', to: 'a/src/two/c.ts' },
      { from: 'a/src/two/d.ts', to: 'a/src/one/deep/e.ts' },
      { from: 'a/src/two/c.ts', to: 'a/src/two.ts' },
    ])
    expect([...graphs.values()].map(findCycle)).toEqual([['a/src/one', 'a/src/two', 'a/src/one']])
    expect(graphs.get('a/src')?.get('a/src/two')).toEqual(['a/src/one', 'a/src/two.ts'])
  })
})

test('the drawing of the packages has the arrows of their package.json, those to the ground aside', () => {
  const drawn = [...readText('docs/architecture.md').matchAll(/^  (\w+) --> (\w+)$/gm)].map(
    ([, from, to]) => `${from} → ${to}`,
  )
  const ground = ['lib', 'contract', 'adapters']
  const declared = workspaces
    .filter((name) => name !== 'test')
    .flatMap((name) =>
      declaredBy(name).dependencies.flatMap((dependency) => {
        const target = dependency.replace('@platen/', '')
        return target === dependency || ground.includes(target) ? [] : [`${name} → ${target}`]
      }),
    )
  expect(drawn.toSorted()).toEqual(declared.toSorted())
})

describe('the verdict on one arrow', () => {
  const declared: Declared = { dependencies: ['@platen/contract', '@platen/adapters', 'pino', 'fastify'] }
  const rows: readonly [from: string, specifier: string, verdict: string | undefined][] = [
    ['api/src/app.ts', './problem.ts', undefined],
    ['api/src/app.ts', '@platen/contract/domain/error.ts', undefined],
    ['api/src/app.ts', 'fastify', undefined],
    ['api/src/app.ts', 'node:net', undefined],
    ['api/src/app.ts', 'node:http', 'a process would load undici for it'],
    ['api/src/main.ts', '@platen/adapters/kafka/render-queue.ts', undefined],
    ['api/src/app.ts', '@platen/adapters/kafka/render-queue.ts', 'has no arrow to adapters/src/kafka/render-queue.ts'],
    ['api/src/app.ts', '@platen/renderer/worker.ts', 'has no arrow to renderer/src/worker.ts'],
    ['adapters/src/setting/connection/redis.ts', '../../redis/connect.ts', undefined],
    [
      'adapters/src/setting/connection/redis.ts',
      '../../redis/script.ts',
      'has no arrow to adapters/src/redis/script.ts',
    ],
    ['api/src/app.ts', '../../contract/src/domain/error.ts', 'other packages are named @platen/…'],
    ['api/src/app.ts', '@platen/api/problem.ts', 'its own files by relative path'],
    ['api/src/app.ts', '@platen/contract', 'names the file, with .ts'],
    ['api/src/app.ts', './problem.js', 'names the file, with .ts'],
    ['api/src/app.ts', 'puppeteer', 'its package.json does not declare puppeteer'],
    ['contract/src/domain/render.ts', 'node:fs', 'it does no I/O'],
    [
      'contract/src/domain/render.ts',
      '@platen/adapters/system/clock.ts',
      'has no arrow to adapters/src/system/clock.ts',
    ],
    ['settings/src/compile/tenant.ts', 'node:fs/promises', 'it does no I/O'],
    [
      'adapters/src/sqlite/event-log.ts',
      '../fs/artifact-store.ts',
      'has no arrow to adapters/src/fs/artifact-store.ts',
    ],
    ['adapters/src/sqlite/event-log.ts', 'pino', 'this folder is not the one for pino'],
    ['embedded/src/compose.ts', '@platen/api/admission/admit.ts', 'has no arrow to api/src/admission/admit.ts'],
    ['api/src/app.test.ts', './fixture/memory/clock.ts', undefined],
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
    export * from '@platen/contract/domain/error.ts'
    const lazy = () => import('./lazy.ts')
    new Worker(new URL('./thread.ts', import.meta.url))
    const source = "import x from './string.ts'"
  `
  const found = arrowsOf('api/src/app.ts', text).map(({ specifier, kind }: Arrow) => `${kind} ${specifier}`)
  expect(found).toEqual([
    'type ./type.ts',
    'import ./effect.ts',
    'import @platen/contract/domain/error.ts',
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
