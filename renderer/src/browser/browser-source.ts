/**
 * Keeps one browser at hand. A launch that fails is tried again with back-off for as long as the supply is open, so no failure
 * is final; a browser that dies is replaced at once, one that gives no sign of life is killed, and one that is to retire is
 * replaced only when the next is running.
 */
import { ServiceError } from '@platen/contract/error.ts'
import { BROWSER_PING_EVERY_MS, BROWSER_PING_MS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { type Availability, trackAvailability } from '../port/availability.ts'
import type { RunningBrowser } from './launch.ts'

/** Its presence is that of a browser for new pages. */
export interface BrowserSource extends AsyncDisposable, Availability {
  /**
   * The browser for new pages, launched if need be. Rejects with the signal's reason, and with `render_crashed` when none has
   * started for `BROWSER_WAIT_MS_MAX`: the render is tried again later, perhaps elsewhere.
   */
  current(signal: AbortSignal): Promise<RunningBrowser>
  /** Launches a successor. Resolves when `current` gives it. */
  replace(): Promise<void>
  /** Launches one that `current` never gives, to be killed by whoever asked for it. Rejects as `current` does. */
  launchDedicated(signal: AbortSignal): Promise<RunningBrowser>
}

/** How long a render waits for a browser to start. Below a plan's deadline: a render is not to blame for it. */
const BROWSER_WAIT_MS_MAX = 10_000

/** Waits between failed launches, doubling. A browser that lived for less than the longest has failed as well. */
const BACKOFF_MS_MIN = 100
const BACKOFF_MS_MAX = 5_000

/** An answer is waited for in steps of this: a pause of our own process is then over before the next begins, and is no browser's fault. */
const ANSWER_STEP_MS = 1_000

export interface BrowserSourcePorts {
  /** Starts one browser. */
  readonly launch: (signal: AbortSignal) => Promise<RunningBrowser>
  readonly clock: Clock
  readonly log: Log
}

/** Opens the supply and begins with the first launch, without waiting for it. */
export function openBrowserSource(ports: BrowserSourcePorts): BrowserSource {
  const { clock, log } = ports
  const closing = new AbortController()
  const launcher = openLauncher(ports, closing.signal)
  const living = new Set<RunningBrowser>()
  const availability = trackAvailability(clock)
  let current: RunningBrowser | undefined
  let launching: Promise<RunningBrowser> | undefined

  const launchNext = () => {
    launching ??= launcher
      .launch()
      .then(adopt)
      .finally(() => {
        launching = undefined
      })
    // Only closing makes it fail, and then nobody need be waiting.
    launching.catch(() => undefined)
    return launching
  }

  function watch(next: RunningBrowser): RunningBrowser {
    living.add(next)
    void killWhenUnresponsive(next, ports)
    next.gone.addEventListener('abort', () => living.delete(next))
    return next
  }

  function adopt(next: RunningBrowser): RunningBrowser {
    const startedAt = clock.monotonic()
    current = watch(next)
    availability.markAvailable()
    next.gone.addEventListener('abort', () => {
      // One that retires is killed too, and is not the current one then.
      if (current !== next) return
      current = undefined
      availability.markUnavailable()
      if (closing.signal.aborted) return
      log.warn({}, 'browser ended unexpectedly')
      launcher.noteExit(clock.monotonic() - startedAt)
      void launchNext()
    })
    return next
  }

  const dedicated = openDedicatedLaunches(async () => watch(await launcher.launch()), clock)
  void launchNext()
  return {
    state: () => availability.state(),
    ready: (signal) => availability.ready(signal),
    async current(signal) {
      return current ?? (await waitForLaunch(launchNext(), { clock, signal }))
    },
    async replace() {
      await launchNext()
    },
    launchDedicated: (signal) => dedicated.launch(signal),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the browser supply was closed'))
      await Promise.allSettled([launching, dedicated.settled()])
      await Promise.all(Array.from(living, (browser) => browser.kill()))
    },
  }
}

/** Waits for a launch as long as a render may. */
async function waitForLaunch(
  launched: Promise<RunningBrowser>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<RunningBrowser> {
  const timedOut = clock.timeout(BROWSER_WAIT_MS_MAX)
  try {
    return await raceAbort(launched, AbortSignal.any([signal, timedOut]))
  } catch (cause) {
    signal.throwIfAborted()
    throw new ServiceError('render_crashed', 'no browser could be started', { cause })
  }
}

interface DedicatedLaunches {
  launch(signal: AbortSignal): Promise<RunningBrowser>
  /** Resolves when none is under way. */
  settled(): Promise<unknown>
}

/** Launches that somebody waits for alone: what comes too late for them is killed. */
function openDedicatedLaunches(start: () => Promise<RunningBrowser>, clock: Clock): DedicatedLaunches {
  const underWay = new Set<Promise<RunningBrowser>>()
  return {
    async launch(signal) {
      signal.throwIfAborted()
      const launched = start()
      underWay.add(launched)
      launched.catch(() => undefined).finally(() => underWay.delete(launched))
      try {
        return await waitForLaunch(launched, { clock, signal })
      } catch (error) {
        launched.then((late) => late.kill()).catch(() => undefined)
        throw error
      }
    },
    settled: () => Promise.allSettled(underWay),
  }
}

/** Asks a browser for signs of life until it has gone, and kills it when it gives none. Never rejects. */
async function killWhenUnresponsive(running: RunningBrowser, { clock, log }: BrowserSourcePorts): Promise<void> {
  const { gone } = running
  while (!gone.aborted) {
    await clock.sleep(BROWSER_PING_EVERY_MS, gone).catch(() => undefined)
    if (gone.aborted || (await isResponsive(running, clock)) || gone.aborted) continue
    log.error({}, 'browser unresponsive, killed')
    await running.kill()
  }
}

async function isResponsive(running: RunningBrowser, clock: Clock): Promise<boolean> {
  const answer = running.ping()
  for (let waitedMs = 0; waitedMs < BROWSER_PING_MS_MAX; waitedMs += ANSWER_STEP_MS) {
    const timedOut = clock.timeout(ANSWER_STEP_MS)
    try {
      await raceAbort(answer, timedOut)
      return true
    } catch {
      if (!timedOut.aborted) return false
    }
  }
  return false
}

interface Launcher {
  /** A browser that runs, however many attempts it takes. Rejects only when the supply closes. */
  launch(): Promise<RunningBrowser>
  /** Takes note that a browser ended by itself after `ageMs`. */
  noteExit(ageMs: number): void
}

function openLauncher({ launch, clock, log }: BrowserSourcePorts, closing: AbortSignal): Launcher {
  let failures = 0
  return {
    async launch() {
      for (;;) {
        if (failures > 0) await clock.sleep(backoffMs(failures), closing)
        closing.throwIfAborted()
        try {
          return await launch(closing)
        } catch (err) {
          failures += 1
          if (!closing.aborted) log.error({ err, failures }, 'browser launch failed')
        }
      }
    },
    noteExit(ageMs) {
      failures = ageMs < BACKOFF_MS_MAX ? failures + 1 : 0
    },
  }
}

function backoffMs(failures: number): number {
  return Math.min(BACKOFF_MS_MIN * 2 ** Math.min(failures - 1, 10), BACKOFF_MS_MAX)
}
