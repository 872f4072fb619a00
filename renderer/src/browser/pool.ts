/**
 * The pages of the html engine. A page stays warm only for the tenant whose documents it has printed. Another tenant, or a document that
 * must be alone, gets a context that no document has used. One such page is opened ahead of time. Pages retire after a number of documents.
 * Browsers also retire when they are too large or too old, and end when idle for long. A page on which a document failed is never used
 * again.
 */
import assert from 'node:assert/strict'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { EngineMeter } from '@platen/contract/port/renderer-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { type BrowserSource, openIdleTimer } from './browser-source.ts'
import type { RunningBrowser } from './launch.ts'
import { BROWSER_KEPT_MIB_MAX, PAGE_KEPT_MIB_MAX } from './limit.ts'
import type { PrintPage } from './page.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * 1000

/** Age after which a browser is replaced, so that growth too slow to notice starts over. */
export const BROWSER_AGE_MS_MAX = 6 * HOUR_MS

/** Minimum interval between two memory measurements of a browser. The system adds it up process by process. */
export const BROWSER_MEMORY_CHECK_EVERY_MS = 5 * SECOND_MS

/** Renders after which a warm page is replaced. A new page costs as much CPU as ten small documents. */
const PAGE_RENDERS_MAX = 1000

const BROWSER_RENDERS_MAX = 2000

export interface PageRequest {
  readonly tenant: TenantId
  /** Whether no other document may use the page, before or after. */
  readonly hasOwnPage: boolean
  /** Whether no other document may run in its browser. The browser is then launched for this document and ends with it. */
  readonly hasOwnBrowser: boolean
}

export interface PagePool {
  /**
   * The caller must release the page. Throws `render_crashed` if no browser starts, and `BrowserLost` if the browser cannot open a page.
   */
  acquire(request: PageRequest, signal: AbortSignal): Promise<PrintPage>
  /** `isSound` says that its document succeeded. Resolves when nothing of that document runs any more. Never rejects. */
  release(page: PrintPage, isSound: boolean): Promise<void>
}

export interface PoolSettings {
  /** Each is a process of some 30 MB. */
  readonly warmPagesMax: number
  readonly browserRendersMax?: number
  readonly pageRendersMax?: number
}

interface PoolPorts {
  readonly source: BrowserSource
  readonly usageOf: UsageOf
  readonly open: (browser: RunningBrowser, isShared: boolean) => Promise<PrintPage>
  readonly clock: Clock
  readonly log: Log
  readonly meter: EngineMeter
  /** Aborts when the browser source closes. */
  readonly closing: AbortSignal
}

interface PageUsage extends Pick<PageRequest, 'tenant' | 'hasOwnPage'> {
  renders: number
}

const NEVER = new AbortController().signal

/** Begins to open the first page, without waiting for it. Closing the browser source closes all pages. */
export function openPagePool(ports: PoolPorts, settings: PoolSettings): PagePool {
  const { warmPagesMax, browserRendersMax = BROWSER_RENDERS_MAX, pageRendersMax = PAGE_RENDERS_MAX } = settings
  const lifecycle = openBrowserLifecycle(ports, { rendersMax: browserRendersMax, onRetired: closeUnusable })
  const sparePage = openSparePage(ports, lifecycle)
  const usages = new WeakMap<PrintPage, PageUsage>()
  /** Warm pages without a document, the longest idle first. */
  const idle = new Set<PrintPage>()

  function warmPageOf(tenant: TenantId): PrintPage | undefined {
    return Array.from(idle).findLast((page) => usages.get(page)?.tenant === tenant && lifecycle.isUsable(page))
  }

  function closeUnusable(): void {
    for (const page of idle) {
      if (idle.size <= warmPagesMax && lifecycle.isUsable(page)) continue
      idle.delete(page)
      void lifecycle.close(page)
    }
    sparePage.refill()
  }

  const idleTimer = openIdleTimer(ports, async () => {
    for (const page of idle) void lifecycle.close(page)
    idle.clear()
    sparePage.discard()
    await lifecycle.rest()
  })

  async function acquire({ tenant, hasOwnPage, hasOwnBrowser }: PageRequest, signal: AbortSignal): Promise<PrintPage> {
    const known = hasOwnPage || hasOwnBrowser ? undefined : warmPageOf(tenant)
    const page = known ?? (await (hasOwnBrowser ? lifecycle.openDedicated(signal) : sparePage.take(signal)))
    idle.delete(page)
    const use = usages.get(page) ?? { tenant, hasOwnPage, renders: 0 }
    assert(use.tenant === tenant && use.hasOwnPage === hasOwnPage, 'a page serves one tenant, or one document')
    use.renders += 1
    usages.set(page, use)
    lifecycle.beginDocument(page.browser)
    return page
  }

  sparePage.refill()
  return {
    async acquire(request, signal) {
      idleTimer.interrupt()
      try {
        return await acquire(request, signal)
      } catch (error) {
        idleTimer.resume()
        throw error
      }
    },
    async release(page, isSound) {
      lifecycle.endDocument(page.browser)
      const use = usages.get(page)
      const isWorn = use === undefined || use.hasOwnPage || use.renders >= pageRendersMax
      if (isSound && !isWorn && lifecycle.isUsable(page) && (await isCleared(page))) idle.add(page)
      else await lifecycle.close(page)
      void lifecycle.checkMemory(page.browser)
      closeUnusable()
      idleTimer.resume()
    },
  }
}

async function isCleared(page: PrintPage): Promise<boolean> {
  return page.clear().then(
    () => true,
    () => false,
  )
}

interface SparePage {
  take(signal: AbortSignal): Promise<PrintPage>
  /** Opens a spare page, or replaces one that is no longer usable. */
  refill(): void
  /** There is no spare page until the next `refill`. */
  discard(): void
}

function openSparePage({ source }: PoolPorts, lifecycle: BrowserLifecycle): SparePage {
  let spare: { readonly opening: Promise<PrintPage>; page?: PrintPage } | undefined
  const make = async () => lifecycle.open(await source.current(NEVER))

  async function keep(opening: Promise<PrintPage>): Promise<void> {
    const kept: typeof spare = { opening }
    spare = kept
    try {
      kept.page = await opening
      // The browser may have retired meanwhile, and the spare page would keep it alive until the next request for a page.
      if (spare === kept) refill()
    } catch {
      // The next caller opens a page itself, and gets the error if that fails too.
      if (spare === kept) spare = undefined
    }
  }

  function refill(): void {
    if (spare?.page !== undefined && !lifecycle.isUsable(spare.page)) {
      void lifecycle.close(spare.page)
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
      // If the caller gives up, the page becomes the spare one.
      if (signal.aborted && spare === undefined) void keep(opening)
      else opening.then((page) => lifecycle.close(page)).catch(() => undefined)
      throw error
    }
  }

  return {
    async take(signal) {
      for (;;) {
        const page = await takeNext(signal)
        if (lifecycle.isUsable(page)) return page
        void lifecycle.close(page)
      }
    },
    refill,
    discard() {
      spare?.opening.then((page) => lifecycle.close(page)).catch(() => undefined)
      spare = undefined
    },
  }
}

interface BrowserLifecycle {
  open(browser: RunningBrowser): Promise<PrintPage>
  /** The browser of the page ends with it. */
  openDedicated(signal: AbortSignal): Promise<PrintPage>
  /** Never rejects. */
  close(page: PrintPage): Promise<void>
  /** Ends the browser of new pages, in which no document may run. Another starts when needed. */
  rest(): Promise<void>
  beginDocument(browser: RunningBrowser): void
  endDocument(browser: RunningBrowser): void
  /** Measures a browser at most once in a while, and retires it if it is too large. Never rejects. */
  checkMemory(browser: RunningBrowser): Promise<void>
  isUsable(page: PrintPage): boolean
}

interface BrowserUsage {
  readonly startedAt: number
  memoryCheckedAt: number
  renders: number
  pages: number
  busy: number
  /** Whether its successor is starting or running. */
  isRetiring: boolean
  isRetired: boolean
}

const MIB = 1024 * 1024

type UsageOf = (browser: RunningBrowser) => BrowserUsage

export function openUsages(clock: Clock): UsageOf {
  const usages = new WeakMap<RunningBrowser, BrowserUsage>()
  return (browser) => {
    const now = clock.monotonic()
    const fresh = {
      startedAt: now,
      memoryCheckedAt: now,
      renders: 0,
      pages: 0,
      busy: 0,
      isRetiring: false,
      isRetired: false,
    }
    const usage = usages.get(browser) ?? fresh
    usages.set(browser, usage)
    return usage
  }
}

interface Retirement {
  /** Retires a browser once its successor runs. Its pages finish their documents. */
  schedule(browser: RunningBrowser, reason: object): void
  /** Ends a browser that did not obey: kills it at once if no document runs in it, else retires it. */
  discard(browser: RunningBrowser, cause: string): Promise<void>
  pageClosed(browser: RunningBrowser): Promise<void>
}

function openRetirement({ source, usageOf, clock, log, meter }: PoolPorts, onRetired: () => void): Retirement {
  const killIfDone = async (browser: RunningBrowser) => {
    const { isRetired, pages } = usageOf(browser)
    if (isRetired && pages === 0) await browser.kill()
  }

  async function retire(browser: RunningBrowser, reason: object): Promise<void> {
    const usage = usageOf(browser)
    if (usage.isRetiring || browser.gone.aborted) return
    usage.isRetiring = true
    await source.replace()
    usage.isRetired = true
    const ageMs = Math.round(clock.monotonic() - usage.startedAt)
    log.info({ renders: usage.renders, ageMs, ...reason }, 'browser retired')
    meter.restarted('browser', 'cause' in reason ? 'unresponsive' : 'worn')
    onRetired()
    await killIfDone(browser)
  }

  // It rejects only when the source closes, which kills the browser as well.
  const schedule = (browser: RunningBrowser, reason: object) => void retire(browser, reason).catch(() => undefined)
  return {
    schedule,
    async discard(browser, cause) {
      if (usageOf(browser).busy === 0) await source.discard(browser)
      else schedule(browser, { cause })
    },
    pageClosed(browser) {
      usageOf(browser).pages -= 1
      return killIfDone(browser)
    },
  }
}

function openBrowserLifecycle(
  ports: PoolPorts,
  options: { rendersMax: number; onRetired: () => void },
): BrowserLifecycle {
  const { source, usageOf, open, clock } = ports
  const retirement = openRetirement(ports, options.onRetired)

  async function openIn(browser: RunningBrowser, isShared = true): Promise<PrintPage> {
    usageOf(browser).pages += 1
    try {
      return await open(browser, isShared)
    } catch (error) {
      await retirement.discard(browser, 'it could not open a page')
      await retirement.pageClosed(browser)
      throw error
    }
  }

  async function close(page: PrintPage): Promise<void> {
    // A page that does not close in time ends with its browser at the latest.
    if (!(await page.close())) await retirement.discard(page.browser, 'a page did not close')
    await retirement.pageClosed(page.browser)
  }

  return {
    open: openIn,
    close,
    rest: () => source.rest(),
    async openDedicated(signal) {
      const browser = await source.launchDedicated(signal)
      // Set this first, so that no other document gets a page of this browser.
      Object.assign(usageOf(browser), { isRetiring: true, isRetired: true })
      const opening = openIn(browser, false)
      try {
        return await raceAbort(opening, signal)
      } catch (error) {
        opening.then(close).catch(() => undefined)
        throw error
      }
    },
    beginDocument(browser) {
      const usage = usageOf(browser)
      usage.renders += 1
      usage.busy += 1
      const isWorn = usage.renders >= options.rendersMax || clock.monotonic() - usage.startedAt >= BROWSER_AGE_MS_MAX
      if (isWorn) retirement.schedule(browser, {})
    },
    endDocument(browser) {
      usageOf(browser).busy -= 1
    },
    async checkMemory(browser) {
      const usage = usageOf(browser)
      if (clock.monotonic() - usage.memoryCheckedAt < BROWSER_MEMORY_CHECK_EVERY_MS) return
      usage.memoryCheckedAt = clock.monotonic()
      const bytes = (await browser.memoryBytes()) ?? 0
      const bytesMax = (BROWSER_KEPT_MIB_MAX + usage.pages * PAGE_KEPT_MIB_MAX) * MIB
      if (bytes > bytesMax) retirement.schedule(browser, { bytes })
    },
    isUsable: ({ gone, browser }) => !gone.aborted && !usageOf(browser).isRetired,
  }
}
