/** The shape of the repository: how much a folder and a file may hold, what things are called, and what belongs together. */
import { basename, dirname, extname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { homeOf } from './architecture/import-table.ts'
import { arrowsOf, listFiles, readText } from './architecture/source-tree.ts'

const FOLDER_ENTRIES_MAX = 10
const FILE_LINES_MAX = 400
const README_LINES_MAX = 150
const DECISION_LINES_MAX = 60

/**
 * Where each thing there is has its entry, so that a folder in between would only hide it: the root and test/, the nouns of the
 * contract and its ports, the adapters by what they are of, the suite of each port, the documents, and decisions and migrations, of
 * which there are ever more.
 */
const UNCOUNTED = [
  '.',
  'test',
  'adapters/src',
  'adapters/src/sqlite/migrations',
  'contract/src',
  'contract/src/port',
  'test/conformance',
  'docs',
  'docs/decisions',
]

/** Text that no person writes or is meant to read from top to bottom. */
const UNMEASURED = [
  'package-lock.json',
  'test/postman/package-lock.json',
  'test/openapi/package-lock.json',
  'test/openapi/requirements.txt',
  'test/peer/package/',
  'test/peer/result.json',
  'LICENSE',
  'api/openapi.json',
  'test/scenario/upgrade/openapi.json',
  'client/postman.json',
  'client/src/wire.ts',
  'clients/python/src/platen_client/wire.py',
  'clients/python/requirements-dev.txt',
  'charts/platen/values.schema.json',
  'charts/platen/file/dashboard/',
  'examples/',
  'test/fixture/',
]

/** What a unit test beside its module does without. */
const STARTERS = ['node:child_process', 'node:worker_threads', 'node:net', 'node:http']

/** Names that say nothing: what lands in them has no home yet. */
const EMPTY_NAMES = ['utils', 'util', 'common', 'helpers', 'helper', 'shared', 'misc', 'types', 'constants', 'manager']

/** Words that end in s and are no plural, and the plurals that are somebody else's convention. */
const NOT_PLURAL = ['tests', 'decisions', 'chaos', 'fs', 'redis', 'migrations', 'prometheus', 'templates']

/** Python imports no name with a dash. */
const PYTHON_PACKAGE = 'clients/python/src/platen_client'

const files = listFiles()
const folders = new Set(files.flatMap(ancestors))
const modules = files.filter((file) => file.endsWith('.ts'))
const sources = modules.filter((file) => file.includes('/src/') && !file.endsWith('.test.ts'))
const documents = files.filter((file) => file.endsWith('.md'))

describe('a folder', () => {
  test(`holds ${FOLDER_ENTRIES_MAX} entries at most, a module and its tests being one, and its limits none`, () => {
    const counted = [...folders].filter((folder) => !UNCOUNTED.includes(folder))
    expect(counted.filter((folder) => entriesOf(folder).size > FOLDER_ENTRIES_MAX)).toEqual([])
  })

  test('has a singular name below its package', () => {
    const inner = [...folders].filter((folder) => folder.includes('/'))
    expect(inner.filter((folder) => folder.endsWith('s') && !NOT_PLURAL.includes(basename(folder)))).toEqual([])
  })
})

describe('a file', () => {
  test(`has ${FILE_LINES_MAX} lines at most`, () => {
    const measured = files.filter((file) => isText(file) && !UNMEASURED.some((place) => file.startsWith(place)))
    expect(measured.filter((file) => linesOf(file) > FILE_LINES_MAX)).toEqual([])
  })

  test('has a name that says what it is for', () => {
    const named = [...folders, ...files].filter((path) => EMPTY_NAMES.includes(stemOf(path)))
    expect(named).toEqual([])
  })

  test('is written in kebab case', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/
    const outside = [...folders, ...modules].filter(
      (path) => path !== '.' && path !== PYTHON_PACKAGE && !kebab.test(basename(path).replace(/^\./, '')),
    )
    expect(outside).toEqual([])
  })

  test('is no index: an import names what it takes', () => {
    expect(modules.filter((file) => basename(file) === 'index.ts' && file !== 'client/src/index.ts')).toEqual([])
  })
})

describe('the code', () => {
  test('asks nowhere whether it is embedded: a topology is a choice of adapters', () => {
    expect(sources.filter((file) => /\bif\s*\([^)]*embedded/i.test(readText(file)))).toEqual([])
  })

  test('starts nothing in the unit tests beside a module', () => {
    const beside = modules.filter((file) => file.includes('/src/') && file.endsWith('.test.ts'))
    const imports = beside.flatMap((file) => arrowsOf(file)).filter(({ kind }) => kind === 'import')
    expect(imports.filter(({ specifier }) => STARTERS.includes(specifier))).toEqual([])
  })

  test('exports no value that no other module names', () => {
    const texts = modules.map((file) => [file, readText(file)] as const)
    const namedIn = new Map<string, number>()
    for (const [, text] of texts) {
      for (const word of new Set(text.match(/\w+/g))) namedIn.set(word, (namedIn.get(word) ?? 0) + 1)
    }
    // Callers of the client import what it exports, by name and from outside.
    const inside = texts.filter(([file]) => !file.startsWith('client/src/'))
    const dead = inside.flatMap(([file, text]) =>
      [...text.matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm)]
        .map(([, name = '']) => name)
        .filter((name) => namedIn.get(name) === 1)
        .map((name) => `${file}: ${name}`),
    )
    expect(dead).toEqual([])
  })

  describe.for(sources.filter((file) => basename(file) === 'limit.ts'))('%s', (place) => {
    test('says of every limit why it has its value', () => {
      const lines = readText(place).split('\n')
      const isLimit = (line: string | undefined) => line?.startsWith('export const ') === true
      const bare = lines.filter((line, at) => {
        // Limits that belong together stand in consecutive lines under one comment.
        const first = lines.findLastIndex((other, above) => above < at && !isLimit(other))
        return isLimit(line) && lines[first]?.trimEnd().endsWith('*/') !== true
      })
      expect(bare).toEqual([])
    })

    test('keeps every limit it names', () => {
      const limits = [...readText(place).matchAll(/^export const (\w+)/gm)].map(([, name]) => name ?? '')
      const text = sources
        .filter((file) => file !== place)
        .map(readText)
        .join('\n')
      expect(limits.filter((name) => !text.includes(name))).toEqual([])
    })
  })

  test('keeps a limit of one package out of the contract', () => {
    const place = 'contract/src/limit.ts'
    const users = sources
      .filter((file) => file !== place)
      .map((file) => ({ home: homeOf(file), words: new Set(readText(file).match(/\w+/g)) }))
    const homesOf = (name: string) => new Set(users.flatMap(({ home, words }) => (words.has(name) ? home : [])))
    const limits = [...readText(place).matchAll(/^export const (\w+)/gm)].map(([, name]) => name ?? '')
    expect(limits.filter((name) => !homesOf(name).has('contract') && homesOf(name).size < 2)).toEqual([])
  })
})

describe('a port', () => {
  const ports = sources
    .filter((file) => dirname(file) === 'contract/src/port' && /^export interface /m.test(readText(file)))
    .map(stemOf)
  const adapters = (port: string) => sources.filter((file) => file.startsWith('adapters/') && stemOf(file) === port)
  const kept = ports.filter((port) => adapters(port).length > 0)

  test.for(kept)('%s has one suite, and each of its adapters is put through it', (port) => {
    expect(files).toContain(`test/conformance/${port}.suite.ts`)
    const run = readText(`test/conformance/${port}.test.ts`)
    expect(adapters(port).filter((file) => !run.includes(file.replace(/^(\w+)\/src\//, '@platen/$1/')))).toEqual([])
  })
})

describe('a document', () => {
  test('has one title', () => {
    expect(documents.filter((file) => proseOf(file).match(/^# /gm)?.length !== 1)).toEqual([])
  })

  test('links only to files that exist', () => {
    const broken = documents.flatMap((file) =>
      [...proseOf(file).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)]
        .map(([, target]) => join(dirname(file), target ?? '').replace(/\/$/, ''))
        .filter((target) => !files.includes(target) && !folders.has(target))
        .map((target) => `${file} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  test(`of the front door has ${README_LINES_MAX} lines at most`, () => {
    expect(linesOf('README.md')).toBeLessThanOrEqual(README_LINES_MAX)
  })
})

describe('the decision records', () => {
  const records = documents.filter((file) => dirname(file) === 'docs/decisions')

  test('are numbered from 0001 without a gap', () => {
    const numbers = records.map((file) => Number(/^\d{4}(?=-)/.exec(basename(file))?.[0]))
    expect(numbers).toEqual(records.map((_, at) => at + 1))
  })

  test.for(records)('%s is short and says what was decided, why, and what would change it', (file) => {
    const headings = [...readText(file).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['Context', 'Decision', 'Consequences', 'Rejected', 'What would change our minds'])
    expect(linesOf(file)).toBeLessThanOrEqual(DECISION_LINES_MAX)
  })
})

/** Every folder a file lies in, the root (`.`) included. */
function ancestors(file: string): readonly string[] {
  const folder = dirname(file)
  return folder === '.' ? ['.'] : [folder, ...ancestors(folder)]
}

/** What lies in a folder, by stem: `limiter.ts`, `limiter.lua` and `limiter.test.ts` are one entry, the package's manifest none. */
function entriesOf(folder: string): ReadonlySet<string> {
  const inside = [...files, ...folders].filter((path) => path !== '.' && dirname(path) === folder)
  return new Set(inside.filter((path) => !['package.json', 'limit.ts'].includes(basename(path))).map(stemOf))
}

function stemOf(path: string): string {
  return basename(path).replace(/(?<=.)\..*$/, '')
}

function linesOf(file: string): number {
  return readText(file).replace(/\n$/, '').split('\n').length
}

/** A document without its code blocks, where `#` opens a comment and brackets are code. */
function proseOf(file: string): string {
  return readText(file).replace(/^```[\s\S]*?^```$/gm, '')
}

function isText(file: string): boolean {
  return !['.png', '.pdf', '.ttf', '.woff2'].includes(extname(file))
}
