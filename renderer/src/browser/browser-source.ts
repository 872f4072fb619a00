/**
 * Keeps one browser running. A failed launch is tried again with back-off while the source is open, so no failure is final. A browser that
 * dies is replaced at once, and one that does not respond is killed. A browser that must retire keeps running until its successor runs. A
 * browser that nobody needs is ended until somebody asks for one.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { EngineMeter } from '@platen/contract/port/renderer-meter.ts'
import { type BackOff, backOffMs } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { type Availability, trackAvailability } from '../port/availability.ts'
import type { RunningBrowser } from './launch.ts'
import { BROWSER_IDLE_MS_MAX, BROWSER_PING_MS_MAX } from './limit.ts'

const SECOND_MS = 1000

/** How often a browser is pinged. Renders in a hung browser cannot end. */
export const BROWSER_PING_EVERY_MS = 2 * SECOND_MS

/** How long a browser may work before it answers a ping. The work of one page, until the page is ended, takes it some seconds. */
export const BROWSER_BUSY_MS_MAX = 20 * SECOND_MS

/** It is available when a browser can take new pages, or was ended because nobody needed it. */
export interface BrowserSource extends AsyncDisposable, Availability {
  /**
   * The browser for new pages, launched if needed. Rejects with the signal's reason. Rejects with `render_crashed` if none has started
   * within `BROWSER_WAIT_MS_MAX`; the render is then tried again later, perhaps elsewhere.
   */
  current(signal: AbortSignal): Promise<RunningBrowser>
  /** Launches a successor. Resolves when `current` returns it. */
  replace(): Promise<void>
  /** Ends the browser for new pages. The next call of `current` launches another. Resolves when it is gone. */
  rest(): Promise<void>
  /** Launches a browser that `current` never returns. The caller must kill it. Rejects as `current` does. */
  launchDedicated(signal: AbortSignal): Promise<RunningBrowser>
  /** Ends a browser that did not answer or obey. `current` replaces it. Resolves when it is gone. */
  discard(browser: RunningBrowser): Promise<void>
}

/**
 * How long a render waits for a browser to start. It is below the deadline of every plan, because a late browser is not the fault of the
 * render.
 */
const BROWSER_WAIT_MS_MAX = 10_000

/** Waits between failed launches, doubling. A browser that lived less than the longest wait counts as failed too. */
const LAUNCH_BACK_OFF: BackOff = { msMin: 100, msMax: 5_000 }

/**
 * We wait for an answer in steps of this length. So if our own process pauses, that counts as one step at most, and the browser is not
 * blamed for it.
 */
const ANSWER_STEP_MS = 1_000

interface BrowserSourcePorts {
  readonly launch: (signal: AbortSignal) => Promise<RunningBrowser>
  readonly rendersOf: (browser: RunningBrowser) => number
  readonly clock: Clock
  readonly log: Log
  readonly meter: EngineMeter
}

/** Begins the first launch without waiting for it. */
export function openBrowserSource(ports: BrowserSourcePorts): BrowserSource {
  const { clock, log, meter, rendersOf } = ports
  const closing = new AbortController()
  const launcher = openLauncher(ports, closing.signal)
  const living = new Set<RunningBrowser>()
  const discards = openDiscards(meter)
  const availability = trackAvailability(clock)
  let current: RunningBrowser | undefined
  const launches = openLaunches(async () => adopt(await launcher.launch()))

  function watch(next: RunningBrowser): RunningBrowser {
    living.add(next)
    void discardWhenUnresponsive(next, ports, discards)
    next.gone.addEventListener('abort', () => living.delete(next))
    return next
  }

  function adopt(next: RunningBrowser): RunningBrowser {
    const startedAt = clock.monotonic()
    current = watch(next)
    availability.markAvailable()
    next.gone.addEventListener('abort', () => {
      // A retired browser is killed too, but is no longer the current one.
      if (current !== next) return
      current = undefined
      availability.markUnavailable()
      if (closing.signal.aborted) return
      const ageMs = Math.round(clock.monotonic() - startedAt)
      void logExit(next, ageMs, ports)
      discards.countExit(next)
      launcher.noteExit(ageMs)
      void launches.next()
    })
    return next
  }

  const dedicated = openDedicatedLaunches(async () => watch(await launcher.launch()), clock)
  void launches.next()
  return {
    state: () => availability.state(),
    ready: (signal) => availability.ready(signal),
    async current(signal) {
      if (current !== undefined) return current
      // It may still be marked available, if the last browser was ended because it was idle.
      availability.markUnavailable()
      return await waitForLaunch(launches.next(), { clock, signal })
    },
    async rest() {
      const last = current
      if (last === undefined) return
      // Before the kill, so that its end does not count as a crash.
      current = undefined
      log.info({ renders: rendersOf(last), idleMs: BROWSER_IDLE_MS_MAX }, 'browser idle, ended')
      await last.kill()
    },
    replace: async () => void (await launches.next()),
    launchDedicated: (signal) => dedicated.launch(signal),
    discard: (browser) => discards.discard(browser),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the browser source was closed'))
      await Promise.allSettled([launches.settled(), dedicated.settled()])
      await killAll(living)
    },
  }
}

interface Launches {
  next(): Promise<RunningBrowser>
  /** Resolves when no launch is running, and rejects if the last one failed. */
  settled(): Promise<unknown>
}

function openLaunches(launch: () => Promise<RunningBrowser>): Launches {
  let launching: Promise<RunningBrowser> | undefined
  return {
    next() {
      launching ??= launch().finally(() => {
        launching = undefined
      })
      // It rejects only when the source closes, and then nobody may be waiting.
      launching.catch(() => undefined)
      return launching
    },
    settled: async () => await launching,
  }
}

interface IdleTimer {
  interrupt(): void
  resume(): void
}

/** Calls `onIdle` each time nobody has wanted a page for `BROWSER_IDLE_MS_MAX`, until `closing` aborts. */
export function openIdleTimer(
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
  onIdle: () => Promise<void>,
): IdleTimer {
  let wanted = 0
  let interruption = new AbortController()
  const begin = () => {
    interruption = new AbortController()
    const { signal } = interruption
    const idle = async () => {
      await onIdle()
      // Again later: a browser that was starting meanwhile is idle, too.
      if (!signal.aborted) begin()
    }
    clock.sleep(BROWSER_IDLE_MS_MAX, AbortSignal.any([closing, signal])).then(idle, () => undefined)
  }
  begin()
  return {
    interrupt() {
      wanted += 1
      // Without a reason, each abort would build an error with its stack.
      interruption.abort('wanted')
    },
    resume() {
      wanted -= 1
      if (wanted === 0) begin()
    },
  }
}

async function killAll(browsers: Iterable<RunningBrowser>): Promise<void> {
  await Promise.all(Array.from(browsers, (browser) => browser.kill()))
}

interface Discards {
  discard(browser: RunningBrowser): Promise<void>
  countExit(browser: RunningBrowser): void
}

function openDiscards(meter: EngineMeter): Discards {
  const discarded = new WeakSet<RunningBrowser>()
  return {
    async discard(browser) {
      if (browser.gone.aborted) return
      discarded.add(browser)
      meter.restarted('browser', 'unresponsive')
      await browser.kill()
    },
    countExit(browser) {
      if (!discarded.has(browser)) meter.restarted('browser', 'crashed')
    },
  }
}

/** The exit is known only a moment after `gone`, when none of its processes runs any more. */
async function logExit(browser: RunningBrowser, ageMs: number, { rendersOf, log }: BrowserSourcePorts): Promise<void> {
  await browser.kill()
  log.warn({ ...browser.exit(), ageMs, renders: rendersOf(browser) }, 'browser ended unexpectedly')
}

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
  settled(): Promise<unknown>
}

/** Each launch is for one caller. A browser that starts too late for its caller is killed. */
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

/** Pings a browser until it has exited, and kills it if it does not respond. Never rejects. */
async function discardWhenUnresponsive(
  running: RunningBrowser,
  { clock, log }: BrowserSourcePorts,
  discards: Discards,
): Promise<void> {
  const { gone } = running
  while (!gone.aborted) {
    await clock.sleep(BROWSER_PING_EVERY_MS, gone).catch(() => undefined)
    if (gone.aborted || (await isResponsive(running, clock)) || gone.aborted) continue
    log.warn({}, 'browser unresponsive, killed')
    await discards.discard(running)
  }
}

/**
 * Waits for an answer as long as the browser works or sends. Work that a page caused comes before the ping, and one message of hundreds of
 * megabytes keeps the browser silent for seconds.
 */
async function isResponsive(running: RunningBrowser, clock: Clock): Promise<boolean> {
  const answer = running.ping()
  let activity = running.activity()
  let silentMs = 0
  for (let waitedMs = 0; silentMs < BROWSER_PING_MS_MAX && waitedMs < BROWSER_BUSY_MS_MAX; waitedMs += ANSWER_STEP_MS) {
    const timedOut = clock.timeout(ANSWER_STEP_MS)
    try {
      await raceAbort(answer, timedOut)
      return true
    } catch {
      if (!timedOut.aborted) return false
    }
    const now = running.activity()
    silentMs = now === activity ? silentMs + ANSWER_STEP_MS : 0
    activity = now
  }
  return false
}

interface Launcher {
  /** Launches a browser, in as many attempts as needed. Rejects only when the source closes. */
  launch(): Promise<RunningBrowser>
  noteExit(ageMs: number): void
}

function openLauncher({ launch, clock, log, meter }: BrowserSourcePorts, closing: AbortSignal): Launcher {
  let failures = 0
  return {
    async launch() {
      for (;;) {
        if (failures > 0) await clock.sleep(backOffMs(failures, LAUNCH_BACK_OFF), closing)
        closing.throwIfAborted()
        try {
          return await launch(closing)
        } catch (err) {
          failures += 1
          if (!closing.aborted) meter.restarted('browser', 'not_started')
          if (!closing.aborted) log.error({ err, failures }, 'browser launch failed')
        }
      }
    },
    noteExit(ageMs) {
      failures = ageMs < LAUNCH_BACK_OFF.msMax ? failures + 1 : 0
    },
  }
}
