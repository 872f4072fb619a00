/**
 * The html engine: a tenant's Liquid template becomes HTML in a render thread, and a PDF in Chromium, on a slot of
 * puppeteer-cluster. One browser serves all slots; it has no network, runs scripts of a page only where template and plan say so,
 * and is replaced when it is worn, crashed or disobedient. A document that loses it is begun again in a browser of its own. What
 * happens to a render is told to its caller at once, and to the slot when it is free again.
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
  /** Chromium itself, no wrapper script: see `findChromium`. */
  readonly executablePath: string
  readonly slots: number
  /** Fills the template, where a deadline can end it. */
  readonly fill: (work: RenderWork, signal: AbortSignal) => Promise<ScannedHtml>
  /** Without it nothing is fetched. */
  readonly remote?: RemoteFiles
  readonly clock: Clock
  readonly log: Log
  /** A folder of this engine's alone; what browsers of an earlier process left there is removed. */
  readonly profileDir: string
  /** False where Chromium cannot have its own sandbox: as root, or without user namespaces. */
  readonly isSandboxed: boolean
  /** Documents after which a browser or a page retires, where it is not the usual number. */
  readonly browserRendersMax?: number
  readonly pageRendersMax?: number
}

/** Longest timer there is: the cluster's own time-out would end a job without ending its work. Ours ends both. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Warm pages per slot: a slot that serves two tenants in turn need not start over each time. */
const WARM_PAGES_PER_SLOT = 2

/** Opens the engine and begins to start Chromium, without waiting for it. A Chromium that does not start is logged and tried again. */
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
  // One job for the life of each slot: the cluster begins a job every ten milliseconds at most, which is what a document takes.
  for (let slot = 0; slot < slots; slot += 1) {
    const keepSlot = async ({ page }: { page: Page }) => {
      slotGate.add(jobOf(page))
      await closed
    }
    // The cluster gives a job up after its longest time-out, weeks on; what the slot prints on is ours, and goes on.
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

/** What Chromium does not write itself, and template and version, as react_pdf has them. */
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

/** The right to print on a slot. It ends when it is disposed of. */
interface SlotLease extends Disposable {
  readonly job: PrintJob
}

/** Gives slots away, first come, first served. */
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
        // The slot may have come together with the abort.
        if (!waiting.delete(resolve)) add(await promise)
        throw error
      }
    },
  }
}
