/**
 * The html engine. A render thread turns a tenant's Liquid template into HTML, and Chromium turns that into a PDF, on a slot of
 * puppeteer-cluster. One browser serves all slots. It has no network and runs page scripts only if template and plan allow them. It is
 * replaced when it is worn, has crashed, or does not obey. A document that loses its browser begins again in a browser of its own. The
 * caller gets the result of a render at once; the slot is released when it is free again.
 */
import { join } from 'node:path'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { EngineMeter } from '@platen/contract/port/renderer-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { firstAborted, raceAbort } from '@platen/lib/race.ts'
import { openBrowserSource } from '../browser/browser-source.ts'
import { openPrintCluster } from '../browser/concurrency.ts'
import type { PrintDocument, RemoteSource } from '../browser/document/load.ts'
import { openPageMemory } from '../browser/document/memory.ts'
import { openStyleAnswers } from '../browser/document/style-answers.ts'
import { warningsOf } from '../browser/document/warning.ts'
import { writeFontConfig } from '../browser/font-config.ts'
import { chromiumFlags, launchBrowser, removeStaleProfiles } from '../browser/launch.ts'
import { openPage, type PrintedDocument } from '../browser/page.ts'
import { openPagePool, openUsages } from '../browser/pool.ts'
import { finishPdf, type Metadata } from '../pdf/finish.ts'
import { pageCountOf } from '../pdf/page-count.ts'
import type { RenderEngine, Rendering, RenderWork } from '../port/engine.ts'
import { defaultFaces, type FontFace } from '../template/asset/font/default-fonts.ts'
import type { ScannedHtml } from '../template/html/fill.ts'
import { NO_REMOTE_FILES, type RemoteFiles } from './remote-files.ts'

export interface HtmlEngineSettings {
  /** The Chromium binary itself, not a wrapper script. See `findChromium`. */
  readonly executablePath: string
  readonly slots: number
  /** The fonts that Chromium sees. Absent means all default faces. */
  readonly faces?: readonly FontFace[]
  /** Fills the template where a deadline can end it. */
  readonly fill: (work: RenderWork, signal: AbortSignal) => Promise<ScannedHtml>
  /** Absent means that nothing is fetched. */
  readonly remote?: RemoteFiles
  readonly clock: Clock
  readonly log: Log
  readonly meter: EngineMeter
  /** A folder that only this engine uses, once it resolves. What browsers of an earlier process left there is removed. */
  readonly profileDir: string | Promise<string>
  /** False if Chromium cannot use its own sandbox: as root, or without user namespaces. */
  readonly isSandboxed: boolean
  readonly browserRendersMax?: number
  readonly pageRendersMax?: number
}

/** With two, a slot that serves two tenants in turn need not start over each time. */
const WARM_PAGES_PER_SLOT = 2

/** Opens the engine and begins to start Chromium, without waiting for it. If Chromium does not start, logs it and tries again. */
export async function openHtmlEngine(settings: HtmlEngineSettings): Promise<RenderEngine> {
  const { slots, faces = defaultFaces(), remote = NO_REMOTE_FILES, clock, log, meter } = settings
  const [profiles, flags] = await Promise.all([openProfiles(settings.profileDir, faces), chromiumFlags(settings)])
  const usageOf = openUsages(clock)
  const source = openBrowserSource({
    launch: (signal) => meter.launching(() => launchBrowser({ ...settings, ...profiles, flags }, signal), signal),
    rendersOf: (browser) => usageOf(browser).renders,
    clock,
    log,
    meter,
  })
  const memory = openPageMemory(clock)
  const closing = new AbortController()
  const ports = { source, usageOf, clock, log, meter, closing: closing.signal }
  const pool = openPagePool(
    { ...ports, open: (browser, isShared) => openPage(browser, { clock, memory, isShared }) },
    { ...settings, warmPagesMax: slots * WARM_PAGES_PER_SLOT },
  )
  const cluster = await openPrintCluster(pool, slots)
  const askStyles = openStyleAnswers()

  async function fillAndPrint(work: RenderWork, signal: AbortSignal): Promise<Rendering> {
    const begunAt = clock.monotonic()
    const filled = await remote.runWithFiles(work, (each) => settings.fill(each, signal), signal)
    const filledAt = clock.monotonic()
    const styles = askStyles(work.tenant, filled.html, filled.linted.questions)
    const document = documentOf(work, { ...filled, styleQuestions: styles.questions }, remote)
    const printed = await cluster.print(work.tenant, document, signal)
    const printedAt = clock.monotonic()
    const pdf = finishPdf(printed.pdf, { metadata: metadataOf(work, printed), isSandbox: work.isSandbox })
    const endedAt = clock.monotonic()
    const phases = [
      { name: 'evaluate', durationMs: filledAt - begunAt },
      { name: 'layout', durationMs: printedAt - printed.printMs - filledAt },
      { name: 'print', durationMs: endedAt - printedAt + printed.printMs },
    ] as const
    return {
      pdf,
      pages: pageCountOf(printed.pdf),
      warnings: [
        ...warningsOf(work, filled, { ...printed, faces }),
        ...filled.absent,
        ...filled.linted.warnings,
        ...styles.warningsOf(printed.styles),
      ],
      phases,
    }
  }

  return {
    name: 'html',
    slots,
    state: () => source.state(),
    ready: (signal) => source.ready(signal),
    async render(work, signal) {
      using ended = firstAborted([signal, closing.signal])
      return await raceAbort(fillAndPrint(work, ended.signal), ended.signal)
    },
    // May be called twice.
    async [Symbol.asyncDispose]() {
      closing.abort(new ServiceError('render_crashed', 'the html engine was closed'))
      await source[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

async function openProfiles(folder: string | Promise<string>, faces: readonly FontFace[]) {
  const profileDir = await folder
  const [fontConfigFile] = await Promise.all([
    writeFontConfig(join(profileDir, 'font'), faces),
    removeStaleProfiles(profileDir),
  ])
  return { profileDir, fontConfigFile }
}

function documentOf(
  work: RenderWork,
  filled: ScannedHtml & Pick<PrintDocument, 'styleQuestions'>,
  files: RemoteFiles,
): PrintDocument {
  const isScripted = work.javascriptEnabled && work.template.html?.javascript === true
  const { name: title, locale, allowedHosts = [] } = work.template
  const remote: RemoteSource = {
    allowedHosts,
    fetch: (url, signal) => files.fetch(work, url, signal),
    cached: (url) => files.cached(work, url),
  }
  const document = { ...filled, options: work.options, date: work.date, locale, title, assets: work.assets, isScripted }
  return allowedHosts.length === 0 ? document : { ...document, remote }
}

/** The metadata that Chromium does not write. Template and version are given as in react_pdf. */
function metadataOf({ template }: RenderWork, { author, subject, keywords, language }: PrintedDocument): Metadata {
  const own = { author, subject, language: language || template.locale }
  const given = Object.entries(own).filter(([, text]) => text !== undefined && text !== '')
  const words = [keywords, `template:${template.code}`, `version:${template.version}`].filter((word) => word !== '')
  return { ...Object.fromEntries(given), keywords: words.join(', '), creator: 'Platen' }
}
