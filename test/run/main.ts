/**
 * The program behind `make test`: runs all tests in parallel lanes. A free lane takes the next project. Projects that need servers with a
 * long build wait for it. With `quick` it is the program behind `make quick`: it runs the tests of what a change
 * most likely breaks, without servers.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import { CHART_SERVERS, findBinary, KUBERNETES_SERVERS, WITHOUT_SERVERS } from '../topology/server/binary.ts'
import { SEED } from './form.ts'
import { endRun, RUN_VARIABLE, startGuardian } from './guardian.ts'
import { LANES, type Lane, ON_BUILT, PROJECTS, QUICK_LANES } from './lane.ts'
import { openRunServers, RUN_SERVERS_VARIABLE } from './run-servers.ts'
import { SummaryReporter } from './summary-reporter.ts'

const INSTALL = join(import.meta.dirname, '../topology/server/install.ts')
const INTERRUPTED = 130
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const LOSS_LOOK_MS = 1000

// A failed test sets the exit code itself.
process.exitCode ||= await main(process.argv.includes('quick') ? runQuick : runAll)

type Run = (summary: SummaryReporter, signal: AbortSignal) => Promise<void>

async function main(runTests: Run): Promise<number> {
  const summary = new SummaryReporter({ tellsFiles: true })
  const run = randomUUID()
  const folder = mkdtempSync(join(tmpdir(), 'platen-run-'))
  startGuardian(run, folder)
  process.env[RUN_VARIABLE] = run
  process.env['SEED'] = `${SEED}`
  process.stdout.write(`the seed of this run is ${SEED}; SEED=${SEED} makes its choices again\n`)
  // The records of the run go into this folder, because they must outlive the files of single tests.
  process.env['TMPDIR'] = folder
  summary.onInit()
  const files = join(folder, 'files')
  mkdirSync(files)
  process.env['TMPDIR'] = files
  const stop = new AbortController()
  for (const name of SIGNALS) process.on(name, () => stop.abort())
  stop.signal.addEventListener('abort', () => summary.stop('the run was interrupted'))
  try {
    await runTests(summary, stop.signal)
    if (!stop.signal.aborted)
      for (const command of await endRun(run, folder)) summary.fail(`the run has left a process: ${command}`)
  } finally {
    await endRun(run, folder)
    await rm(files, { recursive: true, force: true, maxRetries: 10 })
  }
  return stop.signal.aborted ? INTERRUPTED : 0
}

async function runAll(summary: SummaryReporter, signal: AbortSignal): Promise<void> {
  await using servers = await openRunServers()
  process.env[RUN_SERVERS_VARIABLE] = servers.url
  // Without this watch, each test would wait for a lost server until its own time limit.
  const lost = new AbortController()
  const watch = setInterval(() => {
    if (lost.signal.aborted) return
    for (const loss of servers.losses()) summary.stop(loss)
    if (servers.losses().length > 0) lost.abort()
  }, LOSS_LOOK_MS)
  try {
    await runLanes(summary, AbortSignal.any([signal, lost.signal]))
  } finally {
    clearInterval(watch)
  }
}

async function runLanes(summary: SummaryReporter, signal: AbortSignal): Promise<void> {
  let isThere = [...KUBERNETES_SERVERS, ...CHART_SERVERS].every((name) => findBinary(name, process.env) !== undefined)
  const built = isThere ? undefined : buildKubernetes(signal).then(() => void (isThere = true))
  const waiting = [...PROJECTS]
  const runNext = async (): Promise<void> => {
    if (signal.aborted || waiting.length === 0) return
    const ready = waiting.findIndex((project) => isThere || !ON_BUILT.includes(project))
    if (ready === -1) await built
    else await runLane({ projects: waiting.splice(ready, 1) }, summary, signal)
    return runNext()
  }
  await Promise.all(Array.from({ length: LANES }, runNext))
}

async function runQuick(summary: SummaryReporter, signal: AbortSignal): Promise<void> {
  process.env[WITHOUT_SERVERS] = '1'
  await Promise.all(QUICK_LANES.map((lane) => runLane(lane, summary, signal)))
}

/** Runs the files of a lane. Resolves when the last file has ended, or when the signal has ended those under way. */
async function runLane(lane: Lane, summary: SummaryReporter, signal: AbortSignal): Promise<void> {
  const { projects, files, names, changed } = lane
  const others = SIGNALS.map((name) => [name, process.listeners(name)] as const)
  const vitest = await createVitest({
    project: [...projects],
    watch: false,
    maxWorkers: Math.max(1, Math.round(availableParallelism() / 2)),
    reporters: [summary],
    passWithNoTests: true,
    ...(names !== undefined && { testNamePattern: names }),
    ...(changed !== undefined && { changed }),
  })
  // Vitest's own listeners would end this process before it has written its summary.
  for (const [name, before] of others)
    for (const listener of process.listeners(name)) if (!before.includes(listener)) process.off(name, listener)
  const cancel = () => void vitest.cancelCurrentRun('keyboard-input')
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const specifications = await vitest.getRelevantTestSpecifications(files && [...files])
    if (!signal.aborted) await vitest.runTestSpecifications(specifications)
  } finally {
    signal.removeEventListener('abort', cancel)
    await vitest.close()
  }
}

/** Builds the servers for `ON_BUILT` while other tests run, at low priority so that it takes no CPU time from them. */
async function buildKubernetes(signal: AbortSignal): Promise<void> {
  process.stdout.write(
    'building the Kubernetes API server beside the tests: some four minutes of two idle cores, once\n',
  )
  const child = spawn('nice', ['-n', '19', process.execPath, INSTALL], { stdio: ['ignore', 'inherit', 'inherit'] })
  const kill = () => void child.kill()
  signal.addEventListener('abort', kill, { once: true })
  await once(child, 'exit')
  signal.removeEventListener('abort', kill)
}
