import { setImmediate } from 'node:timers/promises'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { Browser, Page } from 'puppeteer'
import { expect, test } from 'vitest'
import { NEVER, SILENT, UNCOUNTED } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import type { RunningBrowser } from './launch.ts'
import * as limit from './limit.ts'
import type { PrintPage } from './page.ts'
import {
  BROWSER_AGE_MS_MAX,
  BROWSER_MEMORY_CHECK_EVERY_MS,
  openPagePool,
  openUsages,
  type PoolSettings,
} from './pool.ts'

const { BROWSER_IDLE_MS_MAX, BROWSER_KEPT_MIB_MAX, PAGE_KEPT_MIB_MAX } = limit
const [ACME, ROAD] = ['acme' as TenantId, 'roadrunner' as TenantId]

/** A pool over fake pages and browsers that only know whether they are alive. */
function aPool(settings: Partial<PoolSettings> = {}) {
  const clock = manualClock()
  const weight = { mib: 0, looks: 0 }
  const memoryBytes = async () => {
    weight.looks += 1
    return weight.mib * 1024 * 1024
  }
  const browsers = [aBrowser(memoryBytes)]
  const [separate, opened] = [new Array<RunningBrowser>(), new Array<PrintPage>()]
  const successor = { hold: undefined as Promise<void> | undefined }
  const [closing, closed] = [{ isInTime: true }, new AbortController()]
  const opening = { hold: undefined as Promise<void> | undefined, failure: undefined as Error | undefined }
  const pool = openPagePool(
    {
      clock,
      log: SILENT,
      usageOf: openUsages(clock),
      source: {
        state: () => 'running',
        ready: async () => {},
        async current() {
          const last = browsers.at(-1)
          if (last?.gone.aborted === false) return last
          const next = aBrowser(memoryBytes)
          browsers.push(next)
          return next
        },
        async replace() {
          await successor.hold
          browsers.push(aBrowser(memoryBytes))
        },
        async launchDedicated() {
          const browser = aBrowser(memoryBytes)
          separate.push(browser)
          return browser
        },
        discard: (browser) => browser.kill(),
        rest: async () => browsers.at(-1)?.kill(),
        [Symbol.asyncDispose]: async () => {},
      },
      meter: UNCOUNTED,
      closing: closed.signal,
      async open(browser) {
        await opening.hold
        if (opening.failure !== undefined) throw opening.failure
        const page = aPage(browser, closing)
        opened.push(page)
        return page
      },
    },
    { warmPagesMax: 2, ...settings },
  )
  const take = (tenant: TenantId, signal: AbortSignal, hasOwnBrowser = false) =>
    pool.acquire({ tenant, hasOwnPage: false, hasOwnBrowser }, signal)
  const render = async (tenant: TenantId, hasOwnPage = false) => {
    const page = await pool.acquire({ tenant, hasOwnPage, hasOwnBrowser: false }, NEVER)
    await pool.release(page, true)
    return page
  }
  return {
    take,
    release: (page: PrintPage, isSound: boolean) => pool.release(page, isSound),
    render,
    opened,
    browsers,
    separate,
    opening,
    closing,
    clock,
    weight,
    successor,
    closed,
  }
}

function aBrowser(memoryBytes: RunningBrowser['memoryBytes']): RunningBrowser {
  const gone = new AbortController()
  return {
    // No test uses it.
    browser: {} as Browser,
    budgetOf: () => ({ sessionId: '', renew() {} }),
    gone: gone.signal,
    exit: () => ({ exitCode: null, signal: null }),
    kill: async () => gone.abort(),
    ping: async () => {},
    activity: () => 0,
    processes: async () => [],
    memoryBytes,
  }
}

function aPage(browser: RunningBrowser, closing: { isInTime: boolean }): PrintPage {
  const gone = new AbortController()
  return {
    browser,
    // No test uses it.
    page: {} as Page,
    gone: AbortSignal.any([gone.signal, browser.gone]),
    print: () => Promise.reject(new Error('nobody prints here')),
    clear: async () => {},
    async close() {
      gone.abort()
      return closing.isInTime
    },
  }
}

test('gives a tenant its warm page again', async () => {
  const { render } = aPool()
  expect(await render(ACME)).toBe(await render(ACME))
})

test('never gives a tenant the page of another', async () => {
  const { render } = aPool()
  const [first, other, again] = [await render(ACME), await render(ROAD), await render(ACME)]
  expect(other).not.toBe(first)
  expect(again).toBe(first)
})

test('gives an isolated document a page that no other document uses before or after', async () => {
  const { render } = aPool()
  const warm = await render(ACME)
  const lone = await render(ACME, true)
  expect(lone).not.toBe(warm)
  expect(lone.gone.aborted).toBe(true)
  expect(await render(ACME, true)).not.toBe(warm)
  expect(await render(ACME)).toBe(warm)
})

test('gives two documents of one tenant at once a page each', async () => {
  const { take } = aPool()
  expect(await take(ACME, NEVER)).not.toBe(await take(ACME, NEVER))
})

test('has a page ready before anyone asks, and another once it is taken and given back', async () => {
  const { render, opened } = aPool()
  await setImmediate()
  expect(opened).toHaveLength(1)
  expect(await render(ACME)).toBe(opened[0])
  await setImmediate()
  expect(opened).toHaveLength(2)
})

test('closes a page on which a document failed', async () => {
  const { take, release, render } = aPool()
  const page = await take(ACME, NEVER)
  await release(page, false)
  expect(page.gone.aborted).toBe(true)
  expect(await render(ACME)).not.toBe(page)
})

test('closes a page after its number of documents', async () => {
  const { render } = aPool({ pageRendersMax: 2 })
  const [first, second, third] = [await render(ACME), await render(ACME), await render(ACME)]
  expect(second).toBe(first)
  expect(first.gone.aborted).toBe(true)
  expect(third).not.toBe(first)
})

test('keeps so many warm pages, the last used ones', async () => {
  const { render } = aPool({ warmPagesMax: 2 })
  const pages = [await render('a' as TenantId), await render('b' as TenantId), await render('c' as TenantId)]
  expect(pages.map(({ gone }) => gone.aborted)).toEqual([true, false, false])
})

test('gives nobody a page that crashed while it was idle or spare', async () => {
  const { render, opened } = aPool()
  const warm = await render(ACME)
  await setImmediate()
  for (const page of opened) await page.close()
  const next = await render(ACME)
  expect(next).not.toBe(warm)
  expect(next.gone.aborted).toBe(false)
})

test('leaves a page whose taker gave up to the next', async () => {
  const { take, opened, opening } = aPool()
  await take(ACME, NEVER)
  const held = Promise.withResolvers<void>()
  opening.hold = held.promise
  const controller = new AbortController()
  const given = take(ACME, controller.signal)
  controller.abort(new Error('deadline'))
  await expect(given).rejects.toThrow('deadline')
  held.resolve()
  expect(await take(ROAD, NEVER)).toBe(opened[1])
  expect(opened).toHaveLength(2)
})

test('tells the taker when no page can be opened, and opens the next one', async () => {
  const { take, opening } = aPool()
  await take(ACME, NEVER)
  opening.failure = new Error('no page')
  await expect(take(ACME, NEVER)).rejects.toThrow('no page')
  opening.failure = undefined
  expect((await take(ACME, NEVER)).gone.aborted).toBe(false)
})

test('retires a browser after its number of documents, when those in it are finished', async () => {
  const { take, release, render, browsers } = aPool({ browserRendersMax: 2 })
  const busy = await take(ACME, NEVER)
  await render(ROAD)
  await setImmediate()
  const [old, next] = browsers
  expect(old?.gone.aborted).toBe(false)
  expect((await render(ROAD)).browser).toBe(next)
  await release(busy, true)
  expect(old?.gone.aborted).toBe(true)
  expect(next?.gone.aborted).toBe(false)
})

test('retires a browser that has no page any more when its successor runs', async () => {
  const { take, release, browsers, opening } = aPool({ browserRendersMax: 1 })
  await setImmediate()
  opening.hold = new Promise(() => {})
  await release(await take(ACME, NEVER), false)
  opening.hold = undefined
  await setImmediate()
  expect(browsers).toHaveLength(2)
})

test('ends a browser that retires while its next page is still opening', async () => {
  const { take, release, browsers, opening } = aPool({ browserRendersMax: 2 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const page = await take(ACME, NEVER)
  opening.hold = promise
  await release(page, true)
  await release(await take(ACME, NEVER), true)
  await setImmediate()
  resolve()
  await setImmediate()
  expect(browsers[0]?.gone.aborted).toBe(true)
})

test('retires a browser in which a page does not close in time, and leaves it to those who are at work in it', async () => {
  const { take, release, render, browsers, closing } = aPool()
  const [abandoned, victim] = [await take(ROAD, NEVER), await take(ACME, NEVER)]
  closing.isInTime = false
  await release(abandoned, false)
  closing.isInTime = true
  await setImmediate()
  const [old, next] = browsers
  expect([browsers.length, old?.gone.aborted, victim.gone.aborted]).toEqual([2, false, false])
  expect((await render(ROAD)).browser).toBe(next)
  await release(victim, true)
  expect(browsers.map(({ gone }) => gone.aborted)).toEqual([true, false])
})

test('retires a browser that gives no page, and leaves it to those who are at work in it', async () => {
  const { take, browsers, opening, successor } = aPool()
  const victim = await take(ACME, NEVER)
  const { promise, resolve } = Promise.withResolvers<void>()
  successor.hold = promise
  opening.failure = new Error('no page')
  await expect(take(ROAD, NEVER)).rejects.toThrow('no page')
  opening.failure = undefined
  resolve()
  await setImmediate()
  const [old, next] = browsers
  expect([browsers.length, old?.gone.aborted]).toEqual([2, false])
  expect((await take(ROAD, NEVER)).browser).toBe(next)
  expect(victim.gone.aborted).toBe(false)
})

test('kills a browser that gives no page, or does not close one, where nobody is at work in it', async () => {
  const { take, browsers, opening } = aPool()
  opening.failure = new Error('no page')
  await expect(take(ACME, NEVER)).rejects.toThrow('no page')
  expect(browsers[0]?.gone.aborted).toBe(true)
  const other = aPool()
  const page = await other.take(ACME, NEVER)
  other.closing.isInTime = false
  await other.release(page, false)
  expect(other.browsers[0]?.gone.aborted).toBe(true)
})

test('launches a browser for a document that needs its own, gives no other a page of it, and ends it afterwards', async () => {
  const { take, release, render, browsers, separate } = aPool()
  const apart = await take(ACME, NEVER, true)
  const [own] = separate
  expect([apart.browser, separate.length]).toEqual([own, 1])
  expect((await render(ACME)).browser).toBe(browsers[0])
  await release(apart, true)
  expect([own?.gone.aborted, browsers[0]?.gone.aborted]).toEqual([true, false])
  expect((await render(ACME)).browser).toBe(browsers[0])
})

test('ends the browser of a document that needs its own and gives up, or gets no page', async () => {
  const { take, separate, opening, opened } = aPool()
  const held = Promise.withResolvers<void>()
  await setImmediate()
  opening.hold = held.promise
  const controller = new AbortController()
  const given = take(ACME, controller.signal, true)
  await setImmediate()
  controller.abort(new Error('deadline'))
  await expect(given).rejects.toThrow('deadline')
  held.resolve()
  opening.hold = undefined
  await setImmediate()
  expect(opened.at(-1)?.browser).toBe(separate[0])
  opening.failure = new Error('no page')
  await expect(take(ACME, NEVER, true)).rejects.toThrow('no page')
  expect(separate.map(({ gone }) => gone.aborted)).toEqual([true, true])
})

test('ends a browser that has had no document for long, also one that never had any, and starts another for the next', async () => {
  const { render, browsers, opened, clock } = aPool()
  await clock.advance(BROWSER_IDLE_MS_MAX)
  const page = await render(ACME)
  await clock.advance(BROWSER_IDLE_MS_MAX - 1)
  expect(await render(ACME)).toBe(page)
  await clock.advance(BROWSER_IDLE_MS_MAX - 1)
  expect(browsers.map(({ gone }) => gone.aborted)).toEqual([true, false])
  await clock.advance(1 + 2 * BROWSER_IDLE_MS_MAX)
  expect([...browsers, ...opened].every(({ gone }) => gone.aborted)).toBe(true)
})

test('ends no browser in which a document runs, however long that takes, nor one of a pool that has closed', async () => {
  const { take, release, render, browsers, clock, closed } = aPool()
  const page = await take(ACME, NEVER)
  await expect(take(ROAD, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  await clock.advance(2 * BROWSER_IDLE_MS_MAX)
  await release(page, true)
  await clock.advance(BROWSER_IDLE_MS_MAX - 1)
  expect(page.gone.aborted).toBe(false)
  await clock.advance(1)
  await render(ACME)
  closed.abort()
  await clock.advance(2 * BROWSER_IDLE_MS_MAX)
  expect(browsers.map(({ gone }) => gone.aborted)).toEqual([true, false])
})

test('retires a browser at its age, with the next document', async () => {
  const { render, browsers, clock } = aPool()
  await render(ACME)
  const stepMs = BROWSER_IDLE_MS_MAX / 2
  for (let age = stepMs; age <= BROWSER_AGE_MS_MAX; age += stepMs) {
    await clock.advance(age === BROWSER_AGE_MS_MAX ? stepMs - 1 : stepMs)
    await render(ACME)
  }
  await setImmediate()
  expect(browsers).toHaveLength(1)
  await clock.advance(1)
  await render(ACME)
  await setImmediate()
  expect(browsers.map(({ gone }) => gone.aborted)).toEqual([true, false])
})

/** The memory limit of a browser that has one warm page and the spare one. */
const TWO_PAGES_MIB_MAX = BROWSER_KEPT_MIB_MAX + 2 * PAGE_KEPT_MIB_MAX

test.for([
  [TWO_PAGES_MIB_MAX, 1],
  [TWO_PAGES_MIB_MAX + 1, 2],
] as const)('with %d MiB after a document there have been %d browsers', async ([mib, count]) => {
  const { render, browsers, clock, weight } = aPool()
  await render(ACME)
  await setImmediate()
  weight.mib = mib
  await clock.advance(BROWSER_MEMORY_CHECK_EVERY_MS)
  await render(ACME)
  await setImmediate()
  expect(browsers).toHaveLength(count)
  expect(browsers.slice(0, -1).every(({ gone }) => gone.aborted)).toBe(true)
})

test('looks at the memory of a browser now and then, not after each document', async () => {
  const { render, clock, weight } = aPool()
  for (let round = 0; round < 100; round += 1) {
    await render(ACME)
    await clock.advance(BROWSER_MEMORY_CHECK_EVERY_MS / 50)
  }
  expect(weight.looks).toBe(1)
})

test('goes on with the old browser, and retires it once, for as long as its successor does not start', async () => {
  const { render, browsers, successor } = aPool({ browserRendersMax: 2 })
  const { promise, resolve } = Promise.withResolvers<void>()
  successor.hold = promise
  for (let round = 0; round < 10; round += 1) expect((await render(ACME)).browser).toBe(browsers[0])
  expect(browsers[0]?.gone.aborted).toBe(false)
  resolve()
  await setImmediate()
  expect(browsers.map(({ gone }) => gone.aborted)).toEqual([true, false])
  expect((await render(ACME)).browser).toBe(browsers[1])
})
