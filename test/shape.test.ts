/** The shape of the repository: what things are called, and what belongs together. */
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { homeOf } from './architecture/import-table.ts'
import { arrowsOf, listFiles, readText } from './architecture/source-tree.ts'

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
/** Ports in memory, for tests alone. They keep what adapters keep. */
const doubles = modules.filter((file) => file.startsWith('test/fixture/memory/'))
const documents = files.filter((file) => file.endsWith('.md'))

describe('a folder', () => {
  test('has a singular name below its package', () => {
    const inner = [...folders].filter((folder) => folder.includes('/'))
    expect(inner.filter((folder) => folder.endsWith('s') && !NOT_PLURAL.includes(basename(folder)))).toEqual([])
  })
})

describe('a file', () => {
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
    const place = 'contract/src/domain/limit.ts'
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
  const adapters = (port: string) =>
    [...sources.filter((file) => file.startsWith('adapters/')), ...doubles].filter((file) => stemOf(file) === port)
  const kept = ports.filter((port) => adapters(port).length > 0)

  test.for(kept)('%s has one suite, and each of its adapters is put through it', (port) => {
    expect(files).toContain(`test/conformance/${port}.suite.ts`)
    const run = readText(`test/conformance/${port}.test.ts`)
    const nameOf = (file: string) => file.replace(/^(\w+)\/src\//, '@platen/$1/').replace(/^test\//, '../')
    expect(adapters(port).filter((file) => !run.includes(nameOf(file)))).toEqual([])
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
})

describe('the decision records', () => {
  const records = documents.filter((file) => dirname(file) === 'docs/decisions')

  test('have a number each, which no other has', () => {
    const numbers = records.map((file) => /^\d{4}(?=-)/.exec(basename(file))?.[0])
    expect(new Set(numbers).size).toBe(records.length)
    expect(numbers).not.toContain(undefined)
  })

  test.for(records)('%s says what was decided, why, and what would change it', (file) => {
    const headings = [...readText(file).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['Context', 'Decision', 'Consequences', 'Rejected', 'What would change our minds'])
  })
})

/** Every folder a file lies in, the root (`.`) included. */
function ancestors(file: string): readonly string[] {
  const folder = dirname(file)
  return folder === '.' ? ['.'] : [folder, ...ancestors(folder)]
}

function stemOf(path: string): string {
  return basename(path).replace(/(?<=.)\..*$/, '')
}

/** A document without its code blocks, where `#` opens a comment and brackets are code. */
function proseOf(file: string): string {
  return readText(file).replace(/^```[\s\S]*?^```$/gm, '')
}
