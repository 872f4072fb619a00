/**
 * Where the time of a test run went: the projects, the slowest files, and the servers that were started. What a run spends is seen in
 * each run, so that whoever makes it longer sees it, too.
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Names the file that each process of the run appends its server starts to. */
const STARTS_VARIABLE = 'PLATEN_TEST_STARTS'
const SLOWEST_FILES = 25

interface ServerStart {
  readonly name: string
  readonly durationMs: number
}

/** Records that a server was started; does nothing outside a run that reports. Called in any process of the run. */
export function recordServerStart(start: ServerStart): void {
  const file = process.env[STARTS_VARIABLE]
  if (file !== undefined && existsSync(dirname(file))) appendFileSync(file, `${JSON.stringify(start)}\n`)
}

/** Makes the file for the server starts of this run. Call it before the first process of the run starts. */
export function openStartsFile(): void {
  process.env[STARTS_VARIABLE] = join(mkdtempSync(join(tmpdir(), 'platen-starts-')), 'starts.jsonl')
}

/** Reads the server starts of this run, and removes their file. */
export function closeStartsFile(): readonly ServerStart[] {
  const file = process.env[STARTS_VARIABLE]
  delete process.env[STARTS_VARIABLE]
  if (file === undefined) return []
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  rmSync(dirname(file), { recursive: true, force: true })
  return lines.map((line): ServerStart => JSON.parse(line))
}

/** When a test file ran, by `performance.now()`. */
export interface FileSpan {
  readonly project: string
  readonly file: string
  readonly startedAt: number
  readonly endedAt: number
}

/** The lines of the report. */
export function timeReport(spans: readonly FileSpan[], starts: readonly ServerStart[]): readonly string[] {
  const slowest = spans.toSorted((one, other) => lengthOf(other) - lengthOf(one)).slice(0, SLOWEST_FILES)
  const projects = [...Map.groupBy(spans, ({ project }) => project)]
  const servers = [...Map.groupBy(starts, ({ name }) => name)]
  return [
    row('project', 'first to last', 'sum of files', 'files'),
    ...projects.map(([name, files]) => {
      const first = Math.min(...files.map(({ startedAt }) => startedAt))
      const last = Math.max(...files.map(({ endedAt }) => endedAt))
      return row(name, seconds(last - first), seconds(sumOf(files.map(lengthOf))), `${files.length}`)
    }),
    row('server or process', 'all starts', 'each', 'starts'),
    ...servers
      .map(([name, all]) => ({ name, count: all.length, sum: sumOf(all.map(({ durationMs }) => durationMs)) }))
      .toSorted((one, other) => other.sum - one.sum)
      .map(({ name, count, sum }) => row(name, seconds(sum), seconds(sum / count), `${count}`)),
    `the ${slowest.length} slowest files`,
    ...slowest.map((span) => `${seconds(lengthOf(span)).padStart(10)}  ${span.file} (${span.project})`),
  ]
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
