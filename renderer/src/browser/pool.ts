/**
 * The pages of the html engine. A page is warm for the tenant whose documents it has printed and for nobody else: another
 * tenant, and a document that is to be alone, gets a context no document has been in, one of which is made ahead of time. Pages
 * retire after so many documents, browsers also when they have grown too large or too old, and a page on which a document failed
 * is never used again.
 */
import assert from 'node:assert/strict'
import {
  BROWSER_AGE_MS_MAX,
  BROWSER_KEPT_MIB_MAX,
  BROWSER_MEMORY_CHECK_EVERY_MS,
  BROWSER_RENDERS_MAX,
  PAGE_KEPT_MIB_MAX,
  PAGE_RENDERS_MAX,
} from '@platen/contract/limit.ts'
import { raceAbort } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { TenantId } from '@platen/contract/tenant.ts'
import type { RunningBrowser } from './launch.ts'
import type { PrintPage } from './page.ts'
import type { BrowserSupply } from './supply.ts'

/** Whom a page is for. */
export interface PageRequest {
  readonly tenant: TenantId
  /** Must no other document have been on the page, nor come after? */
  readonly isLone: boolean
  /** Must no other document be in its browser? Then that is launched for it, and ends with it. */
  readonly isApart: boolean
}

export interface PagePool {
  /** A page for one document. To be released. Throws `render_crashed` when no browser starts, and `BrowserLost` when it gives no page. */
  take(request: PageRequest, signal: AbortSignal): Promise<PrintPage>
  /** Gives a page back; `isSound` when its document came out. Resolves when nothing of that document is at work any more. Never rejects. */
  release(page: PrintPage, isSound: boolean): Promise<void>
}

export interface PoolSettings {
  /** Warm pages kept; each is a process of some 30 MB. */
  readonly warmPagesMax: number
  readonly browserRendersMax?: number
  readonly pageRendersMax?: number
}

interface PoolPorts {
  readonly supply: BrowserSupply
  /** Opens a page in a context of its own. */
  readonly open: (browser: RunningBrowser) => Promise<PrintPage>
  readonly clock: Clock
  readonly log: Log
}

/** What the pool knows of a page that was taken at least once. */
interface Use extends Pick<PageRequest, 'tenant' | 'isLone'> {
  renders: number
}

const NEVER = new AbortController().signal

/** Opens the pool and begins with the first page, without waiting for it. Closing the supply ends all its pages. */
export function openPagePool(ports: PoolPorts, settings: PoolSettings): PagePool {
  const { warmPagesMax, browserRendersMax = BROWSER_RENDERS_MAX, pageRendersMax = PAGE_RENDERS_MAX } = settings
  const fleet = openFleet(ports, { rendersMax: browserRendersMax, onRetired: sweep })
  const nursery = openNursery(ports, fleet)
  const uses = new WeakMap<PrintPage, Use>()
  /** Warm pages nobody has, the longest unused first. */
  const idle = new Set<PrintPage>()

  function warm(tenant: TenantId): PrintPage | undefined {
    return Array.from(idle).findLast((page) => uses.get(page)?.tenant === tenant && fleet.isFit(page))
  }

  function sweep(): void {
    for (const page of idle) {
      if (idle.size <= warmPagesMax && fleet.isFit(page)) continue
      idle.delete(page)
      void fleet.close(page)
    }
    nursery.fill()
  }

  nursery.fill()
  return {
    async take({ tenant, isLone, isApart }, signal) {
      const known = isLone || isApart ? undefined : warm(tenant)
      const page = known ?? (await (isApart ? fleet.openApart(signal) : nursery.take(signal)))
      idle.delete(page)
      const use = uses.get(page) ?? { tenant, isLone, renders: 0 }
      assert(use.tenant === tenant && use.isLone === isLone, 'a page serves one tenant, or one document')
      use.renders += 1
      uses.set(page, use)
      fleet.begin(page.browser)
      return page
    },
    async release(page, isSound) {
      fleet.end(page.browser)
      const use = uses.get(page)
      const isWorn = use === undefined || use.isLone || use.renders >= pageRendersMax
      if (isSound && !isWorn && fleet.isFit(page) && (await isCleared(page))) idle.add(page)
      else await fleet.close(page)
      void fleet.weigh(page.browser)
      sweep()
    },
  }
}

async function isCleared(page: PrintPage): Promise<boolean> {
  return page.clear().then(
    () => true,
    () => false,
  )
}

interface Nursery {
  /** A page no document has been in. */
  take(signal: AbortSignal): Promise<PrintPage>
  /** Makes one ahead of need, in place of one that is no longer fit. */
  fill(): void
}

function openNursery({ supply }: PoolPorts, fleet: Fleet): Nursery {
  let spare: { readonly opening: Promise<PrintPage>; page?: PrintPage } | undefined
  const make = async () => fleet.open(await supply.current(NEVER))

  async function keep(opening: Promise<PrintPage>): Promise<void> {
    const kept: typeof spare = { opening }
    spare = kept
    try {
      kept.page = await opening
      // Its browser may have retired meanwhile, and would live until somebody asks for a page.
      if (spare === kept) fill()
    } catch {
      // Whoever takes the next one is told, if it does no better.
      if (spare === kept) spare = undefined
    }
  }

  function fill(): void {
    if (spare?.page !== undefined && !fleet.isFit(spare.page)) {
      void fleet.close(spare.page)
      spare = undefined
    }
    if (spare === undefined) void keep(make())
  }

  async function takeNext(signal: AbortSignal): Promise<PrintPage> {
    const opening = spare?.opening ?? make()
    spare = undefined
    try {
      return await raceAbort(opening, signal)
    } catch (error) {
      // Whoever gives up waiting leaves the page to the next.
      if (signal.aborted && spare === undefined) void keep(opening)
      else opening.then((page) => fleet.close(page)).catch(() => undefined)
      throw error
    }
  }

  return {
    async take(signal) {
      for (;;) {
        const page = await takeNext(signal)
        if (fleet.isFit(page)) return page
        void fleet.close(page)
      }
    },
    fill,
  }
}

interface Fleet {
  open(browser: RunningBrowser): Promise<PrintPage>
  /** A page in a browser that has no other, and ends with it. */
  openApart(signal: AbortSignal): Promise<PrintPage>
  /** Never rejects. */
  close(page: PrintPage): Promise<void>
  /** A document is at work in it from here on. */
  begin(browser: RunningBrowser): void
  end(browser: RunningBrowser): void
  /** Looks how large a browser has grown, now and then. Never rejects. */
  weigh(browser: RunningBrowser): Promise<void>
  /** May the page have another document? */
  isFit(page: PrintPage): boolean
}

/** What is known of a browser. */
interface Tally {
  readonly bornAt: number
  weighedAt: number
  renders: number
  pages: number
  /** Documents at work. */
  busy: number
  /** Is its successor being started, or running? */
  isRetiring: boolean
  isRetired: boolean
}

const MIB = 1024 * 1024

type TallyOf = (browser: RunningBrowser) => Tally

/** The tally of each browser, begun when it is first asked for. */
function tallies(clock: Clock): TallyOf {
  const known = new WeakMap<RunningBrowser, Tally>()
  return (browser) => {
    const now = clock.monotonic()
    const fresh = { bornAt: now, weighedAt: now, renders: 0, pages: 0, busy: 0, isRetiring: false, isRetired: false }
    const tally = known.get(browser) ?? fresh
    known.set(browser, tally)
    return tally
  }
}

interface Retirement {
  /** Retires a browser: the next one is running before, and the pages in use are finished. */
  soon(browser: RunningBrowser, reason: object): void
  /** Ends a browser that has not done as it was told, at once where nobody is at work in it. */
  distrust(browser: RunningBrowser, cause: string): Promise<void>
  /** A page of it has gone. */
  leave(browser: RunningBrowser): Promise<void>
}

function openRetirement({ supply, clock, log }: PoolPorts, tallyOf: TallyOf, onRetired: () => void): Retirement {
  const killIfDone = async (browser: RunningBrowser) => {
    const { isRetired, pages } = tallyOf(browser)
    if (isRetired && pages === 0) await browser.kill()
  }

  async function retire(browser: RunningBrowser, reason: object): Promise<void> {
    const tally = tallyOf(browser)
    if (tally.isRetiring || browser.gone.aborted) return
    tally.isRetiring = true
    await supply.replace()
    tally.isRetired = true
    const ageMs = Math.round(clock.monotonic() - tally.bornAt)
    log.info({ renders: tally.renders, ageMs, ...reason }, 'browser retired')
    onRetired()
    await killIfDone(browser)
  }

  // Closing the supply is all that ends it early, and it ends the browser as well.
  const soon = (browser: RunningBrowser, reason: object) => void retire(browser, reason).catch(() => undefined)
  return {
    soon,
    async distrust(browser, cause) {
      if (tallyOf(browser).busy === 0) await browser.kill()
      else soon(browser, { cause })
    },
    leave(browser) {
      tallyOf(browser).pages -= 1
      return killIfDone(browser)
    },
  }
}

function openFleet(ports: PoolPorts, options: { rendersMax: number; onRetired: () => void }): Fleet {
  const { supply, open, clock } = ports
  const tallyOf = tallies(clock)
  const retirement = openRetirement(ports, tallyOf, options.onRetired)

  async function openIn(browser: RunningBrowser): Promise<PrintPage> {
    tallyOf(browser).pages += 1
    try {
      return await open(browser)
    } catch (error) {
      await retirement.distrust(browser, 'it could not open a page')
      await retirement.leave(browser)
      throw error
    }
  }

  async function close(page: PrintPage): Promise<void> {
    // What did not close in time goes with its browser, if not before.
    if (!(await page.close())) await retirement.distrust(page.browser, 'a page did not close')
    await retirement.leave(page.browser)
  }

  return {
    open: openIn,
    close,
    async openApart(signal) {
      const browser = await supply.separate(signal)
      // From its first moment, so that nobody else is given a page of it.
      Object.assign(tallyOf(browser), { isRetiring: true, isRetired: true })
      const opening = openIn(browser)
      try {
        return await raceAbort(opening, signal)
      } catch (error) {
        opening.then(close).catch(() => undefined)
        throw error
      }
    },
    begin(browser) {
      const tally = tallyOf(browser)
      tally.renders += 1
      tally.busy += 1
      const isWorn = tally.renders >= options.rendersMax || clock.monotonic() - tally.bornAt >= BROWSER_AGE_MS_MAX
      if (isWorn) retirement.soon(browser, {})
    },
    end(browser) {
      tallyOf(browser).busy -= 1
    },
    async weigh(browser) {
      const tally = tallyOf(browser)
      if (clock.monotonic() - tally.weighedAt < BROWSER_MEMORY_CHECK_EVERY_MS) return
      tally.weighedAt = clock.monotonic()
      const bytes = (await browser.memoryBytes()) ?? 0
      const bytesMax = (BROWSER_KEPT_MIB_MAX + tally.pages * PAGE_KEPT_MIB_MAX) * MIB
      if (bytes > bytesMax) retirement.soon(browser, { bytes })
    },
    isFit: ({ gone, browser }) => !gone.aborted && !tallyOf(browser).isRetired,
  }
}
