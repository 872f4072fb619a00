/**
 * The last lines of a test run: what failed, and one plain sentence over all suites, for people who skim and for tools that read one
 * line.
 */
import { writeSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node'
import { closeStartsFile, type FileSpan, openStartsFile, timeReport } from './time-report.ts'

const STDOUT = 1
const WHY_CHARS = 4000

export class SummaryReporter implements Reporter {
  #lastLines: string | undefined
  readonly #startedAt = new Map<string, number>()
  readonly #spans: FileSpan[] = []

  onInit(): void {
    openStartsFile()
  }

  onTestModuleQueued(module: TestModule): void {
    this.#startedAt.set(keyOf(module), performance.now())
  }

  onTestModuleEnd(module: TestModule): void {
    const endedAt = performance.now()
    const startedAt = this.#startedAt.get(keyOf(module)) ?? endedAt
    this.#spans.push({ project: module.project.name, file: module.relativeModuleId, startedAt, endedAt })
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    // The other reporters list the failures only now; the process's exit is the one moment after all of them.
    if (this.#lastLines === undefined) process.once('exit', () => writeSync(STDOUT, `${this.#lastLines}\n`))
    const unequal = unequalScenarios(modules)
    for (const name of unequal) writeSync(STDOUT, `FAILED: on one topology alone: ${name}\n`)
    if (unequal.length > 0) process.exitCode = 1
    const times = timeReport(this.#spans, closeStartsFile())
    const lines = [...times, ...failuresOf(modules), summaryOf(modules, unhandledErrors.length + unequal.length)]
    this.#lastLines = lines.join('\n')
  }
}

/** Each test that failed, and with what: the details stand far above where many failed, and whoever is shown the end alone sees these. */
function failuresOf(modules: readonly TestModule[]): readonly string[] {
  const failed = modules.flatMap((module) => [...module.children.allTests('failed')])
  return failed.map((test) => {
    const why = test.result().errors?.[0]?.message ?? ''
    return `FAILED: ${nameOf(test)}: ${stripVTControlCharacters(why).replaceAll('\n', ' | ').slice(0, WHY_CHARS)}`
  })
}

/**
 * What was tried on one topology and not on the other, when both were: the promises to users are the same on both, so the lists are.
 * A test that was skipped was not tried.
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
  return test.result().state !== 'skipped'
}

/** Vitest makes a module anew once it is collected, so the object does not tell which one it is. */
function keyOf({ project, relativeModuleId }: TestModule): string {
  return `${project.name} ${relativeModuleId}`
}

function nameOf({ module, fullName }: TestCase): string {
  return `${module.relativeModuleId} > ${fullName}`
}

/**
 * `12 passed, 0 failed`, and `, 3 skipped` where some were. What failed without being a test counts as failed too: a file
 * that did not load, a hook that threw, a test that never reported back, an error nobody caught. Otherwise a suite could
 * vanish and the line would still look well.
 */
function summaryOf(modules: readonly TestModule[], unhandledErrors: number): string {
  const count = { passed: 0, failed: unhandledErrors, skipped: 0, pending: 0 }
  for (const module of modules) {
    for (const test of module.children.allTests()) count[test.result().state] += 1
    count.failed += module.errors().length
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length
  }
  const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`
  return `${count.passed} passed, ${count.failed + count.pending} failed${skipped}`
}
