/**
 * The last lines of a test run: where its time went, what failed, and one plain sentence over all suites, for people who skim and for
 * tools that read one line. One reporter may serve several runs of Vitest that are one run to people.
 */
import { writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'
import { closeRecords, type FileSpan, openRecords, timeReport } from './time-report.ts'

const STDOUT = 1
const PIPE_POLL_MS = 10
/** More than the end of the log of a server that died. */
const WHY_CHARS = 5000
/** With these, the sentence and what `make` adds, the last fifty lines of a run have what failed and why. */
const LAST_FAILURES_MAX = 40

export class SummaryReporter implements Reporter {
  readonly #modules: TestModule[] = []
  readonly #startedAt = new Map<string, number>()
  readonly #spans: FileSpan[] = []
  readonly #faults: string[] = []
  #isInstalled = false
  /** Was the run ended before it had come to all tests? */
  #isStopped = false
  readonly #tellsFiles: boolean
  /** As the runner was told it; `make test` makes a folder below it. */
  readonly #tmp = tmpdir()

  /** `tellsFiles` writes a line for each file that has ended, where no other reporter does. */
  constructor({ tellsFiles = false }: { tellsFiles?: boolean } = {}) {
    this.#tellsFiles = tellsFiles
  }

  onInit(): void {
    if (this.#isInstalled) return
    this.#isInstalled = true
    openRecords()
    // Other reporters list the failures at the end of a run; the process's exit is the one moment after all of them.
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

  /** Fails the run for what is no test. */
  fail(why: string): void {
    this.#faults.push(why)
  }

  /** Fails the run for what ends it now: tests that it has not come to count as skipped. */
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
    // What is no test comes first, as it may be why tests failed.
    const failures = [...faults.map((fault) => `FAILED: ${inOneLine(fault)}`), ...failuresOf(modules, pending)]
    const earlier = failures.slice(LAST_FAILURES_MAX)
    const lines = [
      ...earlier,
      ...timeReport(this.#spans, closeRecords()),
      ...failures.slice(0, LAST_FAILURES_MAX),
      ...(earlier.length > 0 ? [`and ${earlier.length} more, which stand above the times`] : []),
      ...(count.failed > 0 ? hintsOf(failures, this.#tmp) : []),
      sentenceOf(count),
    ]
    print(lines.join('\n'))
  }
}

/** Writes all of it before it returns, as the process may be about to exit: a pipe takes a part where its reader is slow, or nothing yet. */
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

/** What helps to find out why a run failed. */
function hintsOf(failures: readonly string[], tmp: string): readonly string[] {
  const seed = process.env['SEED']
  return [
    ...(failures.some((failure) => failure.includes('ENOSPC'))
      ? [`a disk was full; temporary files were below ${tmp}, and TMPDIR names another folder`]
      : []),
    ...(seed === undefined ? [] : [`SEED=${seed} makes the choices of this run again`]),
  ]
}

/** Each test that failed, and with what: the details stand far above where many failed, and whoever is shown the end alone sees these. */
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

/** A file that has ended: how, when and after how long; then each of its tests that failed, with all that is known of it. */
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

/** What an error says, and what says those that it came of or has kept from being seen. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return typeof error === 'string' ? error : ''
  const { message, suppressed, error: inner, cause } = error as Readonly<Record<string, unknown>>
  return [typeof message === 'string' ? message : '', ...[suppressed, inner, cause].map(reasonOf)]
    .filter(Boolean)
    .join('; ')
}

function inOneLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\n', ' | ').slice(0, WHY_CHARS)
}

/**
 * What was tried on one topology and not on the other, when both were: the promises to users are the same on both, so the lists are.
 * A test that was skipped was not tried, unless it says why it does not apply there.
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

/** Vitest makes a module anew once it is collected, so the object does not tell which one it is. */
function keyOf({ project, relativeModuleId }: TestModule): string {
  return `${project.name} ${relativeModuleId}`
}

function nameOf({ module, fullName }: TestCase): string {
  return `${module.relativeModuleId} > ${fullName}`
}

/** Tests that ought to have ended. Vitest leaves a test pending, too, that is in a skipped suite of a skipped suite. */
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
 * What failed without being a test counts as failed too: a file that did not load, a hook that threw, a test that never reported back,
 * an error nobody caught. Otherwise a suite could vanish and the sentence would still look well.
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

/** `12 passed, 0 failed`, and `, 3 skipped` where some were. */
function sentenceOf({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`
}
