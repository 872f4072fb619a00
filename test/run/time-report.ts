/**
 * Reports where the time of a test run went: projects, slowest files, and started servers. Every run prints it, so that a change which
 * makes the run longer is noticed.
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Variable with the name of the file to which all processes of the run append their records. */
const RECORDS_VARIABLE = 'PLATEN_TEST_TIMES'
const SLOWEST_FILES = 25

/** A record that a process of the run writes. */
export type TimeRecord =
  /** A server, or a process of the service, was started. */
  | { readonly kind: 'start'; readonly name: string; readonly durationMs: number }
  /** CPU time of a test file and everything it started. Shared servers are not included. */
  | { readonly kind: 'cpu'; readonly project: string; readonly file: string; readonly cpuMs: number }

/** Appends a record. Any process of the run may call it. Does nothing in a run without a report. */
export function recordTime(record: TimeRecord): void {
  const file = process.env[RECORDS_VARIABLE]
  if (file !== undefined && existsSync(dirname(file))) appendFileSync(file, `${JSON.stringify(record)}\n`)
}

/** Creates the file for the records of this run. Call it before the first process of the run starts. */
export function openRecords(): void {
  process.env[RECORDS_VARIABLE] = join(mkdtempSync(join(tmpdir(), 'platen-times-')), 'times.jsonl')
}

/** Reads the records of this run, and removes their file. */
export function closeRecords(): readonly TimeRecord[] {
  const file = process.env[RECORDS_VARIABLE]
  delete process.env[RECORDS_VARIABLE]
  if (file === undefined) return []
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  rmSync(dirname(file), { recursive: true, force: true })
  return lines.map((line): TimeRecord => JSON.parse(line))
}

/** When a test file ran, by `performance.now()`. */
export interface FileSpan {
  readonly project: string
  readonly file: string
  readonly startedAt: number
  readonly endedAt: number
}

export function timeReport(spans: readonly FileSpan[], records: readonly TimeRecord[]): readonly string[] {
  const slowest = spans.toSorted((one, other) => lengthOf(other) - lengthOf(one)).slice(0, SLOWEST_FILES)
  const projects = [...Map.groupBy(spans, ({ project }) => project)]
  const starts = [
    ...Map.groupBy(
      records.filter((each) => each.kind === 'start'),
      ({ name }) => name,
    ),
  ]
  const used = new Map(records.flatMap((each) => (each.kind === 'cpu' ? [[keyOf(each), each.cpuMs] as const] : [])))
  const cpuOf = (files: readonly FileSpan[]) => sumOf(files.map((file) => used.get(keyOf(file)) ?? 0))
  return [
    row('project', 'first to last', 'sum of files', 'CPU', 'files'),
    ...projects.map(([name, files]) => {
      const first = Math.min(...files.map(({ startedAt }) => startedAt))
      const last = Math.max(...files.map(({ endedAt }) => endedAt))
      const times = [last - first, sumOf(files.map(lengthOf)), cpuOf(files)].map(seconds)
      return row(name, ...times, `${files.length}`)
    }),
    row('server or process', 'all starts', 'each', '', 'starts'),
    ...starts
      .map(([name, all]) => ({ name, count: all.length, sum: sumOf(all.map(({ durationMs }) => durationMs)) }))
      .toSorted((one, other) => other.sum - one.sum)
      .map(({ name, count, sum }) => row(name, seconds(sum), seconds(sum / count), '', `${count}`)),
    row(`the ${slowest.length} slowest files`, 'time', 'CPU'),
    ...slowest.map((span) =>
      row('', seconds(lengthOf(span)), seconds(cpuOf([span])), ` ${span.file} (${span.project})`),
    ),
  ]
}

function keyOf({ project, file }: { readonly project: string; readonly file: string }): string {
  return `${project} ${file}`
}

function row(name: string, ...columns: readonly string[]): string {
  return [name.padEnd(26), ...columns.map((column) => column.padStart(14))].join('')
}

function lengthOf({ startedAt, endedAt }: FileSpan): number {
  return endedAt - startedAt
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
