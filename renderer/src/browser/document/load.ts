/** A document into a page: its HTML with everything it shows, the options in force over it, and what it turns out to hold. */
import { ServiceError } from '@platen/contract/error.ts'
import { METADATA_CHARS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { RenderOptions } from '@platen/contract/render-options.ts'
import type { Asset } from '@platen/contract/tenant.ts'
import type { CDPSession } from 'puppeteer'
import type { Coverage } from '../../template/html/coverage.ts'
import type { FilledHtml } from '../../template/html/fill.ts'
import {
  marginFaultOf,
  needsSourcePage,
  pageRules,
  type SourcePage,
  sideMargins,
} from '../../template/html/page-css.ts'
import { assetNamed } from '../../template/html/reference.ts'
import type { RemoteFile } from '../../template/remote-images.ts'
import { type DocumentFacts, finishScript, inspectScript, SOURCE_PAGE } from './script.ts'

export interface PrintDocument extends FilledHtml {
  readonly options: RenderOptions
  /** The PDF's title where the document has none. */
  readonly title: string
  /** What it may show. */
  readonly assets: readonly Asset[]
  /** Where else it may have files from; absent = from nowhere. */
  readonly remote?: RemoteSource
  /** Do its scripts run? Then it must be the first document of its page, and is to be the last. */
  readonly isScripted: boolean
  /** What its fonts have, where it may hold characters that none has. */
  readonly coverage?: Coverage
}

/** The hosts of a template, and how to have a file of theirs; see `RemoteFiles`. */
export interface RemoteSource {
  readonly allowedHosts: readonly string[]
  fetch(url: string, signal: AbortSignal): Promise<RemoteFile>
  cached(url: string): RemoteFile | undefined
}

/** The frame a document is loaded into. */
export interface PageFrame {
  readonly session: CDPSession
  readonly frameId: string
  readonly clock: Clock
}

/** A document that can be printed. */
export interface LoadedDocument {
  /** Margins at the sides of its pages, as CSS has them. */
  readonly sides: { readonly left: string; readonly right: string }
  /** Looks it over. Throws `asset_unavailable` where an asset it shows as an image is none. */
  inspect(): Promise<Omit<DocumentFacts, 'broken'>>
}

/**
 * Everything a document needs is in it or at hand, so it has loaded in milliseconds or never will; then it is printed as it is. One
 * that fetches has until its deadline: what it waits for comes, or fails it.
 */
const LOAD_MS_MAX = 5_000

/** 1. Scripts run, images and fonts load; 2. the options come into force and what fonts they ask for are loaded. Throws `template_error` and `asset_unavailable`. */
export async function load(frame: PageFrame, document: PrintDocument, ended: AbortSignal): Promise<LoadedDocument> {
  const { session, frameId, clock } = frame
  const { html, options, title, isScripted } = document
  const timedOut = document.remote === undefined ? clock.timeout(LOAD_MS_MAX) : ended
  const loaded = nextLoad(session)
  await raceAbort(session.send('Page.setDocumentContent', { frameId, html }), ended)
  await unlessTimedOut(loaded, timedOut, ended)

  const world = isScripted ? await raceAbort(openIsolatedWorld(frame), ended) : undefined
  const run = <Result>(expression: string) => evaluate<Result>(session, expression, world)
  const hasEdges = document.header !== undefined || document.footer !== undefined
  const source = needsSourcePage(options, hasEdges) ? await raceAbort(run<SourcePage>(SOURCE_PAGE), ended) : undefined
  const fault = marginFaultOf(options, source?.size)
  if (fault !== undefined) throw new ServiceError('template_error', fault)

  const css = pageRules(options, source?.size)
  const mayNameFonts = document.remote !== undefined || NAMES_FONTS.test(html)
  const isTitled = HAS_TITLE.test(html) && !HAS_LONG_TITLE.test(html)
  if (css !== '' || !isTitled || mayNameFonts || isScripted) {
    const hosts = document.remote?.allowedHosts ?? []
    const finish = { title, css, isScripted, hosts, needsAllFonts: HAS_MARGIN_BOXES.test(html) }
    const [family] = (await unlessTimedOut(run<readonly string[]>(finishScript(finish)), timedOut, ended)) ?? []
    if (family !== undefined) throw notShown(`the font ${family.slice(0, 100)} could not be loaded`)
  }
  return {
    sides: sideMargins(options, source),
    async inspect() {
      const hosts = document.remote?.allowedHosts ?? []
      const { broken, ...findings } = await run<DocumentFacts>(inspectScript(document.coverage, hosts))
      if (broken === '') return findings
      if (hosts.includes(broken)) throw notShown(`${broken}: what it gave cannot be shown as an image`)
      const { name } = assetNamed(document.assets, broken, 'the document')
      throw notShown(`the asset ${name} is damaged: it cannot be shown as an image`)
    },
  }
}

function notShown(reason: string): ServiceError {
  return new ServiceError('asset_unavailable', `the document: ${reason}`)
}

/** Resolves when what is being loaded has come to its end. */
export function nextLoad(session: CDPSession): Promise<void> {
  return new Promise((resolve) => {
    session.once('Page.loadEventFired', () => resolve())
  })
}

/** A world in which scripts of the document cannot change what ours call. */
async function openIsolatedWorld({ session, frameId }: PageFrame): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId })).executionContextId
}

/** Waits for `work` while patience lasts, and goes on without it then. */
async function unlessTimedOut<Result>(
  work: Promise<Result>,
  timedOut: AbortSignal,
  ended: AbortSignal,
): Promise<Result | undefined> {
  try {
    return await raceAbort(work, AbortSignal.any([ended, timedOut]))
  } catch (error) {
    if (ended.aborted || !timedOut.aborted) throw error
    return undefined
  }
}

/** Runs one of our scripts, each of which gives its result as JSON. */
async function evaluate<Result>(session: CDPSession, expression: string, world: number | undefined): Promise<Result> {
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression,
    awaitPromise: true,
    returnByValue: true,
    ...(world === undefined ? {} : { contextId: world }),
  })
  if (exceptionDetails !== undefined && world === undefined) {
    throw new Error(`a script of ours failed in the page: ${exceptionDetails.text}`)
  }
  if (exceptionDetails !== undefined) {
    throw new ServiceError('template_error', 'the page’s JavaScript left a document that cannot be printed')
  }
  // The scripts are ours, and where a document's own might meddle they run in a world of their own.
  return JSON.parse(String(result.value)) as Result
}

// The expressions are linear in the length of the HTML, which is hostile and up to 20 MiB long.
const HAS_TITLE = /<title>\s{0,9}[^<\s]/i
const HAS_LONG_TITLE = new RegExp(`<title>[^<]{${METADATA_CHARS_MAX}}`, 'i')
const NAMES_FONTS = /@font-face/i
const HAS_MARGIN_BOXES = /@(?:top|right|bottom|left)-/i
