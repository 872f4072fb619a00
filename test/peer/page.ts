/** The tables of the documents, made from the results. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, readText } from '../architecture/source-tree.ts'
import { PEERS } from './list.ts'
import type { Peer } from './peer.ts'
import type { Cell, Results } from './result.ts'

const BEGIN = '<!-- peers: written by `make bench ONLY=peers` -->'
const END = '<!-- end of peers -->'

const TABLES = { 'README.md': shortTable, 'docs/benchmarks.md': wholeTable } as const

/** The paths of documents with such a table. */
export const DOCUMENTS = Object.keys(TABLES) as readonly (keyof typeof TABLES)[]

export function writeDocuments(results: Results): void {
  for (const path of DOCUMENTS) writeFileSync(join(ROOT, path), documentWith(path, results))
}

/** The document with the table between its marks. */
export function documentWith(path: keyof typeof TABLES, results: Results): string {
  const [before, rest = ''] = readText(path).split(BEGIN)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error(`${path} has no lines ${BEGIN} and ${END}`)
  return [before, BEGIN, '\n', TABLES[path](results), END, after].join('')
}

/** Two at a time, on the browser of the service. */
function shortTable({ cells, measuredOn, machine }: Results): string {
  const cellOf = (peer: Peer, rows: number) =>
    cells.find((cell) => cell.peer === peer.name && cell.rows === rows && cell.atATime === 2)
  const rows = PEERS.filter(({ browser }) => browser !== 'full').map((peer) => {
    const [small, large] = [cellOf(peer, 10), cellOf(peer, 50)]
    const values = [small?.perSecond, small?.cpuMs, large?.perSecond, large?.cpuMs, large?.peakMegabytes]
    return [peer.title, ...values.map((value) => `${value ?? '–'}`)]
  })
  return table(
    [`${measuredOn}, ${machine}`, '10 rows, a second', 'CPU ms', '50 rows, a second', 'CPU ms', 'peak MB'],
    rows,
  )
}

const COLUMNS = {
  rows: 'rows',
  atATime: 'at a time',
  documents: 'documents',
  perSecond: 'a second',
  p50Ms: 'p50 ms',
  p95Ms: 'p95 ms',
  cpuMs: 'CPU ms',
  megabyteSeconds: 'MB·s',
  peakMegabytes: 'peak MB',
} as const satisfies Partial<Record<keyof Cell, string>>

function wholeTable({ cells, absent, measuredOn, machine }: Results): string {
  const rows = cells.map((cell) => {
    const { title = cell.peer, browser } = PEERS.find(({ name }) => name === cell.peer) ?? {}
    // `COLUMNS` has keys of cells.
    const values = (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).map((name) => `${cell[name]}`)
    return [browser === 'full' ? `${title}, full Chromium` : title, ...values]
  })
  const missing = Object.entries(absent).map(([name, why]) => `\nNot measured: ${name}, because ${why}\n`)
  return [table([`${measuredOn}, ${machine}`, ...Object.values(COLUMNS)], rows), ...missing].join('')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('')
}
