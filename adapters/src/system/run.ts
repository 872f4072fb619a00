/** The life of a process: from its environment to its exit code. */
import type { Log } from '@platen/contract/port/log.ts'
import { CLOSE_MS_MAX } from '@platen/contract/worker-limit.ts'
import { flushed } from './log-output.ts'

/** How long the end of a process waits for a reader of what it has written. A SIGKILL comes a second after `CLOSE_MS_MAX`. */
const FLUSH_MS_MAX = 500

/**
 * Runs `serve` until SIGTERM or SIGINT, of which `stop` tells, and ends the process. The exit code is 0 after a clean stop, and 1
 * when `serve` threw or ended by itself: why it threw stands on standard error.
 */
export async function runUntilStopped(serve: (stop: AbortSignal) => Promise<void>): Promise<never> {
  const stop = stopSignal()
  try {
    await serve(stop)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    return await exit(1)
  }
  // Everything is closed by then; what libraries leave behind, such as timers, holds up nobody.
  return await exit(stop.aborted ? 0 : 1)
}

/** Ends the process when what it has said is with its readers, or they have had their time. */
export async function exit(code: number): Promise<never> {
  const late = new Promise((resolve) => setTimeout(resolve, FLUSH_MS_MAX))
  await Promise.race([Promise.all([process.stdout, process.stderr].map(flushed)), late])
  process.exit(code)
}

/** Aborts at the first SIGTERM or SIGINT. Later ones do nothing. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop.abort())
  return stop.signal
}

interface Drain {
  /** How long what is in hand has to end. */
  readonly drainMs: number
  readonly log: Log
}

/**
 * Aborts `drainMs` after `stop` did, when what is in hand is to be left. Whoever sent SIGTERM sends SIGKILL next, so the process has
 * gone `CLOSE_MS_MAX` later, whatever it could not close by then: what is not acknowledged is with those that come after.
 */
export function forceStopSignal(stop: AbortSignal, { drainMs, log }: Drain): AbortSignal {
  const over = new AbortController()
  const exitNow = () => {
    log.warn({}, 'process exited before everything was closed')
    void exit(0)
  }
  const forceStop = () => {
    over.abort(new Error('the drain deadline passed'))
    setTimeout(exitNow, CLOSE_MS_MAX)
  }
  void untilAborted(stop).then(() => setTimeout(forceStop, drainMs))
  return over.signal
}

/** Resolves when the signal aborts. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** What a person at a terminal needs to know to get a process started. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'ConfigError') return `platen cannot start with these settings:\n${error.message}`
  const causes: string[] = []
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) causes.push(cause.message)
  // A message often says that of its cause already.
  const shown = causes.filter((message, i) => i === 0 || !causes[i - 1]?.includes(message))
  return `platen cannot start: ${shown.join(': ')}`
}
