/**
 * The html engine. A render thread turns a tenant's Liquid template into HTML, and Chromium turns that into a PDF, on a slot of
 * puppeteer-cluster. One browser serves all slots. It has no network and runs page scripts only if template and plan allow them. It is
 * replaced when it is worn, has crashed, or does not obey. A document that loses its browser begins again in a browser of its own. The
 * caller gets the result of a render at once; the slot is released when it is free again.
 */
import { join } from 'node:path'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { Warning } from '@platen/contract/render.ts'
import type { Page } from 'puppeteer'
import { openBrowserSource } from '../browser/browser-source.ts'
import { jobOf, type PrintJob, pooledConcurrency } from '../browser/concurrency.ts'
import type { PrintDocument, RemoteSource } from '../browser/document/load.ts'
import { openPageMemory } from '../browser/document/memory.ts'
import { writeFontConfig } from '../browser/font-config.ts'
import { launchBrowser, removeStaleProfiles } from '../browser/launch.ts'
import { openPage, type PrintedDocument } from '../browser/page.ts'
import { openPagePool } from '../browser/pool.ts'
import { finishPdf, type Metadata } from '../pdf/finish.ts'
import type { RenderEngine, Rendering, RenderWork } from '../port/engine.ts'
import { missingGlyphs } from '../template/asset/glyph.ts'
import type { ScannedHtml } from '../template/html/fill.ts'
import { NO_REMOTE_FILES, type RemoteFiles } from './remote-files.ts'

export interface HtmlEngineSettings {
  /** The Chromium binary itself, not a wrapper script. See `findChromium`. */
  readonly executablePath: string
  readonly slots: number
  /** Fills the template, in a place where a deadline can end it. */
  readonly fill: (work: RenderWork, signal: AbortSignal) => Promise<ScannedHtml>
  /** Absent means that nothing is fetched. */
  readonly remote?: RemoteFiles
  readonly clock: Clock
  readonly log: Log
  /** A folder that only this engine uses. What browsers of an earlier process left there is removed. */
  readonly profileDir: string
  /** False if Chromium cannot use its own sandbox: as root, or without user namespaces. */
  readonly isSandboxed: boolean
  /** Documents after which a browser or a page retires. Absent means the default. */
  readonly browserRendersMax?: number
  readonly pageRendersMax?: number
}

/** The longest possible timer. The cluster's own timeout would end a job but not its work. Our timeout ends both. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Warm pages per slot. With two, a slot that serves two tenants in turn need not start over each time. */
const WARM_PAGES_PER_SLOT = 2

/** Opens the engine and begins to start Chromium, without waiting for it. If Chromium does not start, logs it and tries again. */
export async function openHtmlEngine(settings: HtmlEngineSettings): Promise<RenderEngine> {
  const { slots, remote = NO_REMOTE_FILES, clock, log, profileDir } = settings
  const [{ default: puppeteer }, { Cluster }, fontConfigFile] = await Promise.all([
    import('puppeteer'),
    import('puppeteer-cluster'),
    writeFontConfig(join(profileDir, 'font')),
    removeStaleProfiles(profileDir),
  ])
  const source = openBrowserSource({
    launch: (signal) => launchBrowser({ ...settings, puppeteer, fontConfigFile }, signal),
    clock,
    log,
  })
  const memory = openPageMemory(clock)
  const pool = openPagePool(
    { source, open: (browser) => openPage(browser, { clock, memory }), clock, log },
    { ...settings, warmPagesMax: slots * WARM_PAGES_PER_SLOT },
  )
  const cluster = await Cluster.launch({
    concurrency: pooledConcurrency(pool),
    maxConcurrency: slots,
    timeout: NO_TIMEOUT_MS,
    puppeteer,
  })
  const slotGate = openSlotGate()
  const closing = new AbortController()
  const closed = new Promise<void>((resolve) => {
    closing.signal.addEventListener('abort', () => resolve())
  })
  // One job for the whole life of each slot. The cluster starts at most one job every ten milliseconds, which is as long as a document
  // takes.
  for (let slot = 0; slot < slots; slot += 1) {
    const keepSlot = async ({ page }: { page: Page }) => {
      slotGate.add(jobOf(page))
      await closed
    }
    // The cluster ends a job after its longest timeout, weeks later. The print job is ours and continues.
    cluster.execute(keepSlot).catch(() => undefined)
  }

  async function fillAndPrint(work: RenderWork, signal: AbortSignal): Promise<Rendering> {
    const filled = await remote.runWithFiles(work, (each) => settings.fill(each, signal), signal)
    using lease = await slotGate.acquire(signal)
    const printed = await lease.job.print(work.tenant, documentOf(work, filled, remote), signal)
    const pdf = finishPdf(printed.pdf, { metadata: metadataOf(work, printed), isSandbox: work.isSandbox })
    return { pdf, warnings: warningsOf(work, printed.missing + filled.missing) }
  }

  return {
    name: 'html',
    slots,
    state: () => source.state(),
    ready: (signal) => source.ready(signal),
    render(work, signal) {
      const ended = AbortSignal.any([signal, closing.signal])
      return raceAbort(fillAndPrint(work, ended), ended)
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new ServiceError('render_crashed', 'the html engine was closed'))
      await source[Symbol.asyncDispose]()
      await cluster.close()
    },
  }
}

function documentOf(work: RenderWork, filled: ScannedHtml, files: RemoteFiles): PrintDocument {
  const isScripted = work.javascriptEnabled && asksForScripts(work)
  const { name: title, allowedHosts = [] } = work.template
  const remote: RemoteSource = {
    allowedHosts,
    fetch: (url, signal) => files.fetch(work, url, signal),
    cached: (url) => files.cached(work, url),
  }
  const document = { ...filled, options: work.options, title, assets: work.assets, isScripted }
  return allowedHosts.length === 0 ? document : { ...document, remote }
}

function asksForScripts({ template }: RenderWork): boolean {
  return template.html?.javascript === true
}

/** The metadata that Chromium does not write, and template and version as in react_pdf. */
function metadataOf({ template }: RenderWork, { author, subject, keywords, language }: PrintedDocument): Metadata {
  const own = { author, subject, language: language || template.locale }
  const given = Object.entries(own).filter(([, text]) => text !== undefined && text !== '')
  const words = [keywords, `template:${template.code}`, `version:${template.version}`].filter((word) => word !== '')
  return { ...Object.fromEntries(given), keywords: words.join(', '), creator: 'Platen' }
}

function warningsOf(work: RenderWork, missing: string): readonly Warning[] {
  const glyphs = missingGlyphs(missing)
  const message = 'the template asks for page JavaScript, which the plan does not allow: its scripts did not run'
  return [
    ...(glyphs === undefined ? [] : [glyphs]),
    ...(asksForScripts(work) && !work.javascriptEnabled ? [{ code: 'javascript_disabled', message } as const] : []),
  ]
}

/** The right to print on a slot. Disposing it frees the slot. */
interface SlotLease extends Disposable {
  readonly job: PrintJob
}

/** Assigns slots, first come, first served. */
function openSlotGate(): { add(job: PrintJob): void; acquire(signal: AbortSignal): Promise<SlotLease> } {
  const waiting = new Set<(job: PrintJob) => void>()
  const free: PrintJob[] = []
  const add = (job: PrintJob) => {
    const [next] = waiting
    if (next === undefined) {
      free.push(job)
      return
    }
    waiting.delete(next)
    next(job)
  }
  const leaseOf = (job: PrintJob): SlotLease => ({ job, [Symbol.dispose]: () => add(job) })
  return {
    add,
    async acquire(signal) {
      signal.throwIfAborted()
      const job = free.pop()
      if (job !== undefined) return leaseOf(job)
      const { promise, resolve } = Promise.withResolvers<PrintJob>()
      waiting.add(resolve)
      try {
        return leaseOf(await raceAbort(promise, signal))
      } catch (error) {
        // The slot may have been assigned at the moment of the abort.
        if (!waiting.delete(resolve)) add(await promise)
        throw error
      }
    },
  }
}
