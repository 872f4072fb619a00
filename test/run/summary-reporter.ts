/**
 * Writes the last lines of a test run: where the time went, what failed, and one sentence about all suites. They are for people who skim
 * and for tools that read one line. One reporter can serve several Vitest runs that form one run.
 */
import { writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'
import { closeRecords, type FileSpan, openRecords, timeReport } from './time-report.ts'

const STDOUT = 1
const PIPE_POLL_MS = 10
/** More characters than the log tail of a server that died. */
const WHY_CHARS = 5000
/** With this many failures, the last fifty lines still show all of them, the summary sentence and the lines of `make`. */
const LAST_FAILURES_MAX = 40

export class SummaryReporter implements Reporter {
  readonly #modules: TestModule[] = []
  readonly #startedAt = new Map<string, number>()
  readonly #spans: FileSpan[] = []
  readonly #faults: string[] = []
  #isInstalled = false
  /** Was the run ended before all tests had run? */
  #isStopped = false
  readonly #tellsFiles: boolean
  /** The folder that the runner was given. `make test` creates a folder below it. */
  readonly #tmp = tmpdir()

  /** With `tellsFiles` it writes a line for each file that has ended. Use it where no other reporter does. */
  constructor({ tellsFiles = false }: { tellsFiles?: boolean } = {}) {
    this.#tellsFiles = tellsFiles
  }

  onInit(): void {
    if (this.#isInstalled) return
    this.#isInstalled = true
    openRecords()
    // Other reporters list failures at the end of a run. Only the exit of the process comes after all of them.
    process.once('exit', () => this.#write())
  }

  onTestModuleQueued(module: TestModule): void {
    this.#startedAt.set(keyOf(module), performance.now())
  }

  onTestModuleEnd(module: TestModule): void {
    const endedAt = performance.now()
    const startedAt = this.#startedAt.get(keyOf(module)) ?? endedAt
    this.#spans.push({ project: module.project.name, file: module.relativeModuleId, startedAt, endedAt })
    if (this.#tellsFiles && !this.#isStopped) print(lineOf(module, endedAt - startedAt))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.#modules.push(...modules)
    for (const { message, stack } of unhandledErrors) this.fail(`outside of all tests: ${stack ?? message}`)
  }

  /** Fails the run for a reason outside of tests. */
  fail(why: string): void {
    this.#faults.push(why)
  }

  /** Ends the run as failed. Tests that have not run count as skipped. */
  stop(why: string): void {
    this.fail(why)
    this.#isStopped = true
  }

  #write(): void {
    const modules = this.#modules
    const pending = this.#isStopped ? [] : pendingIn(modules)
    const faults = [...this.#faults, ...unequalScenarios(modules).map((name) => `on one topology alone: ${name}`)]
    const count = countOf(modules, { faults: faults.length, pending: pending.length })
    if (count.failed > 0) process.exitCode ||= 1
    // Faults outside of tests come first, because they may have caused the failed tests.
    const failures = [...faults.map((fault) => `FAILED: ${inOneLine(fault)}`), ...failuresOf(modules, pending)]
    const earlier = failures.slice(LAST_FAILURES_MAX)
    const lines = [
      ...earlier,
      ...timeReport(this.#spans, closeRecords()),
      ...failures.slice(0, LAST_FAILURES_MAX),
      ...(earlier.length > 0 ? [`and ${earlier.length} more, which are above the times`] : []),
      ...(count.failed > 0 ? hintsOf(failures, this.#tmp) : []),
      sentenceOf(count),
    ]
    print(lines.join('\n'))
  }
}

/**
 * Writes everything before it returns, because the process may be about to exit. A pipe with a slow reader accepts only a part, or nothing
 * yet.
 */
function print(lines: string): void {
  let rest = Buffer.from(`${lines}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(STDOUT, rest))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_POLL_MS)
    }
  }
}

function hintsOf(failures: readonly string[], tmp: string): readonly string[] {
  const seed = process.env['SEED']
  return [
    ...(failures.some((failure) => failure.includes('ENOSPC'))
      ? [`a disk was full; temporary files were below ${tmp}, and TMPDIR names another folder`]
      : []),
    ...(seed === undefined ? [] : [`SEED=${seed} makes the choices of this run again`]),
  ]
}

/**
 * Returns one line for each failed test, with its error. The details are far above when many tests failed; readers of the last lines see
 * these.
 */
function failuresOf(modules: readonly TestModule[], pending: readonly TestCase[]): readonly string[] {
  const failed = modules.flatMap((module) => [...module.children.allTests('failed')])
  return [
    ...pending.map((test) => `FAILED: ${nameOf(test)}: it never reported back`),
    ...failed.map((test) => `FAILED: ${nameOf(test)}: ${inOneLine(reasonOf(test.result().errors?.[0]))}`),
    ...modules.flatMap((module) => {
      const errors = [module, ...module.children.allSuites()].flatMap((each) => each.errors())
      return errors.map(({ message }) => `FAILED: ${module.relativeModuleId}: ${inOneLine(message)}`)
    }),
  ]
}

/** Describes a file that has ended: result, number of tests, duration, and the full errors of its failed tests. */
function lineOf(module: TestModule, durationMs: number): string {
  const tests = [...module.children.allTests()]
  const failed = tests.filter((test) => test.result().state === 'failed')
  const counts = `${tests.length} tests${failed.length > 0 ? `, ${failed.length} failed` : ''}`
  const line = `${module.ok() ? '✓' : '✗'} ${module.relativeModuleId} (${module.project.name}): ${counts}, ${(durationMs / 1000).toFixed(1)} s`
  const errors = [
    ...failed.flatMap((test) => (test.result().errors ?? []).map((error) => ({ name: nameOf(test), error }))),
    ...[module, ...module.children.allSuites()].flatMap((each) =>
      each.errors().map((error) => ({ name: module.relativeModuleId, error })),
    ),
  ]
  return [
    line,
    ...errors.map(({ name, error }) => {
      const { diff, stack } = error
      return [`  ${name}`, ...(typeof diff === 'string' ? [diff] : []), stack ?? '', reasonOf(error)].join('\n')
    }),
  ].join('\n')
}

/** Returns the message of an error, and of the errors that caused it or that it suppressed. An error may be its own cause. */
function reasonOf(error: unknown, within: readonly unknown[] = []): string {
  if (typeof error !== 'object' || error === null) return typeof error === 'string' ? error : ''
  if (within.includes(error)) return ''
  const { message, suppressed, error: inner, cause } = error as Readonly<Record<string, unknown>>
  const others = [suppressed, inner, cause].map((other) => reasonOf(other, [...within, error]))
  return [typeof message === 'string' ? message : '', ...others].filter(Boolean).join('; ')
}

function inOneLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\n', ' | ').slice(0, WHY_CHARS)
}

/**
 * Returns the scenarios that were tried on only one topology, when the run had both. Both topologies promise users the same, so both must
 * try the same scenarios. A skipped test counts as not tried, unless it says why it does not apply there.
 */
function unequalScenarios(modules: readonly TestModule[]): readonly string[] {
  const [embedded, cluster] = ['scenario', 'scenario-on-cluster'].map((project) => {
    const tried = modules.filter((module) => module.project.name === project)
    return new Set(tried.flatMap((module) => [...module.children.allTests()].filter(isTried).map(nameOf)))
  })
  if (!embedded?.size || !cluster?.size) return []
  return [...embedded.symmetricDifference(cluster)].sort()
}

function isTried(test: TestCase): boolean {
  const result = test.result()
  return result.state !== 'skipped' || result.note !== undefined
}

/** Vitest creates a new module object after collecting, so the object itself cannot be the key. */
function keyOf({ project, relativeModuleId }: TestModule): string {
  return `${project.name} ${relativeModuleId}`
}

function nameOf({ module, fullName }: TestCase): string {
  return `${module.relativeModuleId} > ${fullName}`
}

/** Returns tests that should have ended. Vitest also leaves tests pending that are in a skipped suite of a skipped suite. */
function pendingIn(modules: readonly TestModule[]): readonly TestCase[] {
  return modules.flatMap((module) => [...module.children.allTests('pending')]).filter((test) => !isSkipped(test))
}

function isSkipped(test: TestCase): boolean {
  for (let each: TestCase | TestSuite = test; ; each = each.parent) {
    if (each.options.mode === 'skip') return true
    if (each.parent.type === 'module') return false
  }
}

interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * Counts the tests. Failures outside of tests count as failed too: a file that did not load, a hook that threw, a test that never reported
 * back, an uncaught error. Otherwise a suite could vanish while the summary still reports success.
 */
function countOf(
  modules: readonly TestModule[],
  { faults, pending }: { readonly faults: number; readonly pending: number },
): Count {
  const count = { passed: 0, failed: faults + pending, skipped: 0, pending: 0 }
  for (const module of modules) {
    for (const test of module.children.allTests()) count[test.result().state] += 1
    count.failed += module.errors().length
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length
  }
  return { ...count, skipped: count.skipped + count.pending - pending }
}

/** Formats the counts: `12 passed, 0 failed`, plus `, 3 skipped` if any were skipped. */
function sentenceOf({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`
}
