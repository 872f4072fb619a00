/**
 * `make size`: how large the house is, by package, as a table in Markdown. Lines are all lines of a file, empty ones and comments too. What
 * is generated counts, because somebody reads it when it breaks. A helper is a file of tests without a test in it.
 */
import { parseAst } from 'vitest/node'
import { allLogCalls, logMessages } from '../architecture/log-call.ts'
import { isRecord, listFiles, readText } from '../architecture/source-tree.ts'

const CODE = /\.(ts|tsx|lua|sql|py)$/
/** Their tables of settings are generated. */
const TABLES = ['docs/embedded.md', 'docs/cluster.md', 'docs/traces.md']
const COLUMNS = ['source', 'test', 'helper', 'files', 'exported', 'limits', 'comment words'] as const
type Row = Record<(typeof COLUMNS)[number], number>

const files = listFiles().filter((file) => CODE.test(file))
const packages = new Map<string, Row>()
for (const file of files) {
  const name = packageOf(file)
  const row = packages.get(name) ?? emptyRow()
  packages.set(name, row)
  count(row, file)
}
const total = emptyRow()
for (const row of packages.values()) for (const column of COLUMNS) total[column] += row[column]

print(['', ...COLUMNS])
print(['---', ...COLUMNS.map(() => '---:')])
for (const [name, row] of packages) print([name, ...COLUMNS.map((column) => figure(row[column]))])
print(['all', ...COLUMNS.map((column) => figure(total[column]))])
process.stdout.write('\n')

const sources = files.filter((file) => kindOf(file) === 'source')
const documents = listFiles().filter((file) => file.endsWith('.md'))
print(['whole', 'count'])
print(['---', '---:'])
for (const [name, value] of Object.entries({
  ports: sources.filter((file) => file.startsWith('contract/src/port/')).length,
  settings: new Set(TABLES.flatMap((file) => readText(file).match(/`PLATEN_\w+`/g) ?? [])).size,
  metrics: new Set(readText('docs/metrics.md').match(/^\| `platen_\w+/gm)).size,
  'log messages': logMessages(allLogCalls()).size,
  decisions: documents.filter((file) => file.startsWith('docs/decisions/')).length,
  'words of pages': words(documents.filter((file) => !file.startsWith('docs/decisions/')).map(readText)),
  'words of decisions': words(documents.filter((file) => file.startsWith('docs/decisions/')).map(readText)),
})) {
  print([name, figure(value)])
}

function packageOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  return first === 'clients' ? `${first}/${second}` : first
}

function emptyRow(): Row {
  return { source: 0, test: 0, helper: 0, files: 0, exported: 0, limits: 0, 'comment words': 0 }
}

function count(row: Row, file: string): void {
  const text = readText(file)
  row.files += 1
  row[kindOf(file)] += text.split('\n').length - 1
  if (kindOf(file) !== 'source') return
  row['comment words'] += words(text.match(/^\s*(?:\/\/|\/?\*).*$/gm) ?? [])
  if (!file.endsWith('.ts')) return
  const exported = exportedNames(text)
  row.exported += exported.length
  if (/(^|\/)limit\.ts$/.test(file)) row.limits += exported.length
}

function kindOf(file: string): 'source' | 'test' | 'helper' {
  if (/\.(test|suite)\.ts$/.test(file) || /(^|\/)test_\w+\.py$/.test(file)) return 'test'
  return /^test\/|^clients\/\w+\/tests?\//.test(file) ? 'helper' : 'source'
}

/** The names that a module gives to others, with those that it passes on. */
function exportedNames(text: string): readonly string[] {
  return parseAst(text, { lang: 'ts' }).body.flatMap((node: unknown) => {
    if (!isRecord(node) || node['type'] !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers } = node
    if (!isRecord(declaration)) return Array.isArray(specifiers) ? specifiers.map(() => '') : []
    return Array.isArray(declaration['declarations']) ? declaration['declarations'].map(() => '') : ['']
  })
}

function words(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + (text.match(/[\p{L}\p{N}][\p{L}\p{N}'_.-]*/gu)?.length ?? 0), 0)
}

function figure(value: number): string {
  return value.toLocaleString('en-US')
}

function print(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}
