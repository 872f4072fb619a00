import type { Log } from '@platen/lib/log.ts'
import { flushed } from './log-output.ts'
import { logEverything, reportFailure } from './report.ts'

const SECOND_MS = 1000

/**
 * How long a process may take to close everything after its drain. Then it exits even if something is open. By default Kubernetes kills it
 * 30 seconds after SIGTERM, and a drain has 25.
 */
export const CLOSE_MS_MAX = 4 * SECOND_MS

/** How long the exit waits for readers of the output. SIGKILL comes one second after `CLOSE_MS_MAX`. */
export const FLUSH_MS_MAX = 500

/**
 * Runs `serve` until SIGTERM or SIGINT, which abort `stop`, and then exits. The exit code is 0 after a clean stop. It is 1 if `serve` threw
 * or returned by itself; the log says why it threw.
 */
export async function runUntilStopped(log: Log, serve: (stop: AbortSignal) => Promise<void>): Promise<never> {
  logEverything(log, exitCrashed)
  const stop = stopSignal()
  try {
    await serve(stop)
  } catch (error) {
    reportFailure(log, error)
    return await exit(1)
  }
  // Everything is closed by then. Leftovers of libraries, such as timers, must not delay the exit.
  return await exit(stop.aborted ? 0 : 1)
}

/** Exits when all output is written, or after `FLUSH_MS_MAX`. */
export async function exit(code: number): Promise<never> {
  const late = new Promise((resolve) => setTimeout(resolve, FLUSH_MS_MAX))
  await Promise.race([Promise.all([process.stdout, process.stderr].map(flushed)), late])
  process.exit(code)
}

export function exitCrashed(): void {
  void exit(1)
}

/** Aborts at the first SIGTERM or SIGINT. Later ones do nothing. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop.abort())
  return stop.signal
}

interface Drain {
  readonly drainMs: number
  readonly log: Log
}

/**
 * Returns a signal that aborts `drainMs` after `stop`: work in hand must then be given up. The sender of SIGTERM sends SIGKILL next. So the
 * process exits `CLOSE_MS_MAX` later, whatever is still open. Other processes take over what is not acknowledged.
 */
export function forceStopSignal(stop: AbortSignal, { drainMs, log }: Drain): AbortSignal {
  const over = new AbortController()
  const exitNow = () => {
    log.warn({ open: openResources() }, 'drain timeout exceeded, exiting')
    void exit(0)
  }
  const forceStop = () => {
    over.abort(new Error('the drain deadline passed'))
    setTimeout(exitNow, CLOSE_MS_MAX)
  }
  void untilAborted(stop).then(() => setTimeout(forceStop, drainMs))
  return over.signal
}

/** What keeps this process alive, counted by Node's name of its kind: `{ TCPSocketWrap: 2 }`. */
function openResources(): Readonly<Record<string, number>> {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind)
  return Object.fromEntries(Array.from(kinds, ([kind, { length }]) => [kind, length]))
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
