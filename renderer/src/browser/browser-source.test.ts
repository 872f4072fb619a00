import type { EngineMeter } from '@platen/contract/port/renderer-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Browser } from 'puppeteer'
import { expect, test } from 'vitest'
import { NEVER, SILENT, UNCOUNTED } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { ENGINE_START_MS_MAX } from '../port/availability.ts'
import { BROWSER_BUSY_MS_MAX, BROWSER_PING_EVERY_MS, openBrowserSource } from './browser-source.ts'
import type { RunningBrowser } from './launch.ts'
import { BROWSER_IDLE_MS_MAX, BROWSER_PING_MS_MAX } from './limit.ts'

function aBrowser(
  ping: RunningBrowser['ping'] = async () => {},
  activity: RunningBrowser['activity'] = () => 0,
): RunningBrowser {
  const gone = new AbortController()
  return {
    // No test uses it.
    browser: {} as Browser,
    budgetOf: () => ({ sessionId: '', renew() {} }),
    gone: gone.signal,
    exit: () => ({ exitCode: null, signal: gone.signal.aborted ? 'SIGKILL' : null }),
    kill: async () => gone.abort(new Error('killed')),
    ping,
    activity,
    processes: async () => [],
    memoryBytes: async () => undefined,
  }
}

/** A browser source whose launches end as `outcomes` says; the last outcome repeats for ever. `launches` counts them. */
function aSupply(outcomes: readonly ('runs' | 'fails' | 'hangs' | 'is mute' | 'is busy')[]) {
  const clock = manualClock()
  const launched: RunningBrowser[] = []
  const lines: object[] = []
  let launches = 0
  const restarts: string[] = []
  const meter: EngineMeter = { ...UNCOUNTED, restarted: (_part, reason) => void restarts.push(reason) }
  const supply = openBrowserSource({
    clock,
    log: {
      ...SILENT,
      info: (fields, message) => void lines.push({ ...fields, message }),
      warn: (fields, message) => void lines.push({ ...fields, message }),
    },
    rendersOf: () => 7,
    meter,
    async launch(signal) {
      const outcome = outcomes[Math.min(launches, outcomes.length - 1)]
      launches += 1
      if (outcome === 'fails') throw new Error('no such file')
      if (outcome === 'hangs') await clock.sleep(1e9, signal)
      const isMute = outcome === 'is mute' || outcome === 'is busy'
      const activity = () => (outcome === 'is busy' ? clock.monotonic() : 0)
      const browser = isMute ? aBrowser(() => new Promise(() => {}), activity) : aBrowser()
      launched.push(browser)
      return browser
    },
  })
  return { supply, clock, launched, lines, restarts, launches: () => launches }
}

test('begins to launch when it is opened, and gives everyone the same browser', async () => {
  const { supply, launched, launches } = aSupply(['runs'])
  expect(launches()).toBe(1)
  const browsers = await Promise.all([supply.current(NEVER), supply.current(NEVER)])
  expect(browsers).toEqual([launched[0], launched[0]])
  expect(await supply.current(NEVER)).toBe(launched[0])
})

test('tries again with growing waits for as long as launches fail', async () => {
  const { supply, clock, launched, restarts, launches } = aSupply(['fails', 'fails', 'fails', 'runs'])
  const current = supply.current(NEVER)
  await clock.advance(0)
  const counts = []
  for (const ms of [99, 1, 199, 1, 399, 1]) {
    await clock.advance(ms)
    counts.push(launches())
  }
  expect(counts).toEqual([1, 2, 2, 3, 3, 4])
  expect(restarts).toEqual(['not_started', 'not_started', 'not_started'])
  expect(await current).toBe(launched[0])
})

test('tells a render that waited too long that no browser could be started, and goes on trying', async () => {
  const { supply, clock, launches } = aSupply(['fails'])
  const current = supply.current(NEVER)
  const refused = expect(current).rejects.toMatchObject({ code: 'render_crashed' })
  await clock.advance(10_000)
  await refused
  const before = launches()
  await clock.advance(60_000)
  expect(launches()).toBeGreaterThan(before)
})

test('lets a render that is aborted go, and keeps the launch for the next', async () => {
  const { supply, launches } = aSupply(['hangs'])
  const controller = new AbortController()
  const current = supply.current(controller.signal)
  controller.abort(new Error('deadline'))
  await expect(current).rejects.toThrow('deadline')
  expect(launches()).toBe(1)
})

test('logs how a browser ended, how old it was and what it had printed', async () => {
  const { supply, clock, launched, lines } = aSupply(['runs'])
  await supply.current(NEVER)
  await clock.advance(1500)
  await launched[0]?.kill()
  await clock.advance(0)
  const message = 'browser ended unexpectedly'
  expect(lines).toEqual([{ message, exitCode: null, signal: 'SIGKILL', ageMs: 1500, renders: 7 }])
})

test('launches another when the browser dies, without being asked', async () => {
  const { supply, clock, launched, restarts } = aSupply(['runs'])
  const first = await supply.current(NEVER)
  await clock.advance(60_000)
  await first.kill()
  await clock.advance(0)
  expect(launched).toHaveLength(2)
  expect(restarts).toEqual(['crashed'])
  expect(await supply.current(NEVER)).toBe(launched[1])
})

test('ends a browser that nobody needs, is available still, and launches the next when somebody asks', async () => {
  const { supply, clock, launched, lines, restarts } = aSupply(['runs'])
  const first = await supply.current(NEVER)
  await supply.rest()
  await supply.rest()
  await clock.advance(60_000)
  expect([launched.length, first.gone.aborted, supply.state()]).toEqual([1, true, 'running'])
  await supply.ready(NEVER)
  const next = supply.current(NEVER)
  expect(supply.state()).toBe('starting')
  expect([await next, supply.state(), restarts]).toEqual([launched[1], 'running', []])
  expect(lines).toEqual([{ message: 'browser idle, ended', renders: 7, idleMs: BROWSER_IDLE_MS_MAX }])
})

test('is broken when no browser starts after a rest', async () => {
  const { supply, clock } = aSupply(['runs', 'fails'])
  await supply.current(NEVER)
  await supply.rest()
  const refused = expect(supply.current(NEVER)).rejects.toMatchObject({ code: 'render_crashed' })
  await clock.advance(ENGINE_START_MS_MAX + 1)
  await refused
  expect(supply.state()).toBe('broken')
})

test('waits before it replaces a browser that died young, so that a crash at start makes no storm', async () => {
  const { supply, clock, launches } = aSupply(['runs'])
  await (await supply.current(NEVER)).kill()
  await clock.advance(99)
  expect(launches()).toBe(1)
  await clock.advance(1)
  expect(launches()).toBe(2)
})

test('gives the old browser until its replacement runs', async () => {
  const { supply, clock, launched } = aSupply(['runs', 'fails', 'runs'])
  const first = await supply.current(NEVER)
  const replaced = supply.replace()
  await clock.advance(0)
  await clock.advance(50)
  expect(await supply.current(NEVER)).toBe(first)
  await clock.advance(50)
  await replaced
  expect(await supply.current(NEVER)).toBe(launched[1])
  expect(first.gone.aborted).toBe(false)
})

test('launches a separate browser that it gives nobody else, and does not replace', async () => {
  const { supply, clock, launched, launches } = aSupply(['runs'])
  const shared = await supply.current(NEVER)
  const separate = await supply.launchDedicated(NEVER)
  expect([launched.indexOf(separate), await supply.current(NEVER)]).toEqual([1, shared])
  await separate.kill()
  await clock.advance(60_000)
  expect([launches(), await supply.current(NEVER)]).toEqual([2, shared])
})

test('kills a separate browser that comes when nobody waits for it any more, and launches none for who has gone', async () => {
  const { supply, clock, launched, launches } = aSupply(['runs', 'fails', 'runs'])
  await supply.current(NEVER)
  const controller = new AbortController()
  const waiting = supply.launchDedicated(controller.signal)
  controller.abort(new Error('deadline'))
  await expect(waiting).rejects.toThrow('deadline')
  await clock.advance(100)
  expect(launched.map(({ gone }) => gone.aborted)).toEqual([false, true])
  await expect(supply.launchDedicated(controller.signal)).rejects.toThrow('deadline')
  expect(launches()).toBe(3)
})

test('kills a separate browser that gives no sign of life, and all of them when it closes', async () => {
  const { supply, clock, launched } = aSupply(['runs', 'is mute', 'runs'])
  await supply.current(NEVER)
  const mute = await supply.launchDedicated(NEVER)
  await clock.advance(BROWSER_PING_EVERY_MS + BROWSER_PING_MS_MAX)
  expect(mute.gone.aborted).toBe(true)
  await supply.launchDedicated(NEVER)
  await supply[Symbol.asyncDispose]()
  expect(launched.map(({ gone }) => gone.aborted)).toEqual([true, true, true])
})

test('kills every browser when it closes, and launches no more', async () => {
  const { supply, clock, launched, launches } = aSupply(['runs'])
  await supply.current(NEVER)
  await supply.replace()
  await supply[Symbol.asyncDispose]()
  expect(launched.map(({ gone }) => gone.aborted)).toEqual([true, true])
  await clock.advance(60_000)
  expect(launches()).toBe(2)
  await expect(supply.current(NEVER)).rejects.toMatchObject({ code: 'render_crashed' })
})

test('closes while a launch is under way', async () => {
  const { supply, launched } = aSupply(['hangs'])
  await supply[Symbol.asyncDispose]()
  expect(launched).toEqual([])
})

test('kills a browser that gives no sign of life, and launches another', async () => {
  const { supply, clock, launched, restarts } = aSupply(['is mute', 'runs'])
  const mute = await supply.current(NEVER)
  await clock.advance(BROWSER_PING_EVERY_MS + BROWSER_PING_MS_MAX - 1)
  expect(mute.gone.aborted).toBe(false)
  await clock.advance(1)
  expect(mute.gone.aborted).toBe(true)
  await clock.advance(1000)
  expect(await supply.current(NEVER)).toBe(launched[1])
  expect(restarts).toEqual(['unresponsive'])
})

test('lets a browser live that works or sends before it answers, for a while', async () => {
  const { supply, clock } = aSupply(['is busy', 'runs'])
  const busy = await supply.current(NEVER)
  await clock.advance(BROWSER_PING_EVERY_MS + BROWSER_BUSY_MS_MAX - 1)
  expect(busy.gone.aborted).toBe(false)
  await clock.advance(1)
  expect(busy.gone.aborted).toBe(true)
})

test('kills a browser that retires, too, when it gives no sign of life any more', async () => {
  const { supply, clock } = aSupply(['is mute', 'runs'])
  const old = await supply.current(NEVER)
  await supply.replace()
  await clock.advance(BROWSER_PING_EVERY_MS + BROWSER_PING_MS_MAX)
  expect(old.gone.aborted).toBe(true)
})

test('does not take a pause of its own process for one of the browser', async () => {
  const manual = manualClock()
  const answer = Promise.withResolvers<void>()
  const browser = aBrowser(() => answer.promise)
  let steps = 0
  const timeout: Clock['timeout'] = (ms) => {
    if (ms >= BROWSER_PING_MS_MAX) return manual.timeout(ms)
    steps += 1
    // After the pause, overdue timers fire before the answer is read, although the answer arrived long ago.
    if (steps === 1) return AbortSignal.abort(new DOMException('late', 'TimeoutError'))
    answer.resolve()
    return manual.timeout(ms)
  }
  const supply = openBrowserSource({
    clock: { ...manual, timeout },
    log: SILENT,
    rendersOf: () => 0,
    meter: UNCOUNTED,
    launch: async () => browser,
  })
  expect(await supply.current(NEVER)).toBe(browser)
  await manual.advance(BROWSER_PING_EVERY_MS)
  expect(steps).toBe(2)
  expect(browser.gone.aborted).toBe(false)
})

test('is starting at first, running with a browser, and broken when none has started for long', async () => {
  const { supply, clock } = aSupply(['fails', 'fails', 'fails', 'fails', 'runs', 'fails'])
  expect(supply.state()).toBe('starting')
  await clock.advance(0)
  await clock.advance(BACKED_OFF_MS)
  expect(supply.state()).toBe('running')
  await (await supply.current(NEVER)).kill()
  expect(supply.state()).toBe('starting')
  await clock.advance(ENGINE_START_MS_MAX)
  expect(supply.state()).toBe('starting')
  await clock.advance(1)
  expect(supply.state()).toBe('broken')
})

test('is ready when a browser runs, however long that takes, and tells whoever does not wait for it', async () => {
  const { supply, clock } = aSupply([...Array.from({ length: 20 }, () => 'fails' as const), 'runs'])
  const controller = new AbortController()
  const [ready, left] = [supply.ready(NEVER), supply.ready(controller.signal)]
  controller.abort(new Error('stopping'))
  await expect(left).rejects.toThrow('stopping')
  await clock.advance(120_000)
  await ready
  expect(supply.state()).toBe('running')
})

/** The total back-off after four failed launches, before the fifth. */
const BACKED_OFF_MS = 100 + 200 + 400 + 800
