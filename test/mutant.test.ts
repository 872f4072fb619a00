/** That each mutant still finds the guard that it removes. The tests that run the mutants are slow, and some run in the long forms only. */
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'
import { isRecord, listFiles, readText } from './architecture/source-tree.ts'

/** Returns the mutants that a module declares: its objects that have a `file`, and a text to `find` in it. */
function mutantsOf(module: string): readonly { readonly file: string; readonly find: string }[] {
  const mutants: { file: string; find: string }[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (!isRecord(node)) return
    const { file, find } = textsOf(node)
    if (file !== undefined && find !== undefined) mutants.push({ file, find })
    Object.values(node).forEach(visit)
  }
  visit(parseAst(readText(module), { lang: 'ts' }).body)
  return mutants
}

/** The properties of an object whose values are literals. */
function textsOf({ type, properties }: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  if (type !== 'ObjectExpression' || !Array.isArray(properties)) return {}
  const entries = properties
    .filter(isRecord)
    .map(({ key, value }) => [key, value].map((node) => (isRecord(node) ? node : {})))
  return Object.fromEntries(entries.map(([key, value]) => [key?.['name'], value?.['value']]))
}

const files = listFiles()
const tests = files.filter((file) => file.startsWith('test/') && file.endsWith('.ts'))
const mutants = tests.filter((file) => readText(file).includes('find: ')).flatMap(mutantsOf)

test('there are mutants', () => expect(mutants.length).toBeGreaterThan(25))

test.for(mutants)('$file has the guard once: $find', ({ file, find }) => {
  const sources = files.filter((source) => `/${source}`.endsWith(file))
  expect(sources.map((source) => readText(source).split(find).length)).toEqual([2])
})
