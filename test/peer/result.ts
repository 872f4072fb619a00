/** What was measured, and the file that keeps it: the tables of the README and of docs/benchmarks.md are made from it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { PEERS } from './list.ts'

/** One contender that prints invoices of so many rows, so many at a time. */
export interface Cell {
  readonly peer: string
  readonly rows: number
  readonly atATime: number
  /** How many were made, without those that warmed it up. */
  readonly documents: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p95Ms: number
  /** CPU time of all its processes for a document, in milliseconds. */
  readonly cpuMs: number
  /** Its memory under load (PSS, 10^6 bytes) times the time of a document. */
  readonly megabyteSeconds: number
  /** The highest memory of all its processes together. */
  readonly peakMegabytes: number
}

export interface Results {
  readonly measuredOn: string
  readonly machine: string
  readonly cells: readonly Cell[]
  /** Contenders that did not start, with the reason. */
  readonly absent: Readonly<Record<string, string>>
}

const FILE = join(import.meta.dirname, 'result.json')

export function readResults(): Results {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results
}

/**
 * Keeps what was measured, in the order of the contenders. What was not measured now stays if it is of this machine and day, as a file of
 * both would compare what cannot be compared.
 */
export function writeResults({ cells, absent }: Pick<Results, 'cells' | 'absent'>): Results {
  const [measuredOn, machine] = [new Date().toISOString().slice(0, 'yyyy-mm-dd'.length), machineName()]
  const before = readResults()
  const isSame = before.measuredOn === measuredOn && before.machine === machine
  const kept = new Map((isSame ? before.cells : []).map((cell) => [keyOf(cell), cell]))
  for (const cell of cells) kept.set(keyOf(cell), cell)
  const measured = new Set([...kept.values()].map(({ peer }) => peer))
  const missing = Object.entries({ ...(isSame && before.absent), ...absent }).filter(([peer]) => !measured.has(peer))
  const place = ({ peer }: Cell) => PEERS.findIndex(({ name }) => name === peer)
  const results = {
    measuredOn,
    machine,
    cells: [...kept.values()].sort(
      (one, other) => one.rows - other.rows || one.atATime - other.atATime || place(one) - place(other),
    ),
    absent: Object.fromEntries(missing),
  }
  writeFileSync(FILE, `${JSON.stringify(results, null, 2)}\n`)
  return results
}

export function keyOf({ peer, rows, atATime }: Pick<Cell, 'peer' | 'rows' | 'atATime'>): string {
  return `${peer} ${rows} ${atATime}`
}

function machineName(): string {
  const [first] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${cpus().length} cores of ${first?.model.trim()}, ${memory} GiB, ${process.platform}`
}
