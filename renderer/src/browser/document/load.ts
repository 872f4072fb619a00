/** Loads a document into a page: its HTML with its assets, then the render options. Then reports what the document contains. */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import type { Asset } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import type { CDPSession, Page } from 'puppeteer'
import type { RemoteFile } from '../../template/asset/remote-images.ts'
import type { Coverage } from '../../template/html/coverage.ts'
import type { DamagedImage } from '../../template/html/data-image.ts'
import type { FilledHtml } from '../../template/html/fill.ts'
import {
  marginFaultOf,
  needsSourcePage,
  pageRules,
  type SourcePage,
  sideMargins,
} from '../../template/html/page-css.ts'
import { assetNamed, withFirst } from '../../template/html/reference.ts'
import { METADATA_CHARS_MAX } from '../limit.ts'
import { fallbackScript } from './script/fallback.ts'
import { ADDRESS_END_CHARS, mayStyleRelatively } from './script/fault-script.ts'
import { plainFacts } from './script/plain-facts.ts'
import { READY, REPORTS, type Report, reportsOf, withPreface } from './script/preface.ts'
import { type DocumentFacts, finishScript, inspectScript, SOURCE_PAGE } from './script/script.ts'
import { HOLD_STILL, mayMove, withoutMotion } from './script/still-script.ts'

export interface PrintDocument extends FilledHtml {
  readonly options: RenderOptions
  /** The creation and modification date of the PDF. */
  readonly date: Instant
  /** The locale of its scripts. Absent means en-US. */
  readonly locale?: string | undefined
  /** The PDF's title if the document has none. */
  readonly title: string
  readonly assets: readonly Asset[]
  /** From where it may fetch other files. Absent means that it fetches nothing. */
  readonly remote?: RemoteSource
  /** Whether its scripts run. Then it must be the first and the last document of its page. */
  readonly isScripted: boolean
  /** The characters of its fonts. Present if the document may contain characters that no font has. */
  readonly coverage?: Coverage
  readonly damaged?: readonly DamagedImage[]
  /** Whether it may need other fonts than those of Latin, Greek and Cyrillic text. */
  readonly isMultiscript: boolean
  readonly styleQuestions?: string | undefined
}

/** The hosts of a template, and how to fetch a file from them. See `RemoteFiles`. */
export interface RemoteSource {
  readonly allowedHosts: readonly string[]
  fetch(url: string, signal: AbortSignal): Promise<RemoteFile>
  cached(url: string): RemoteFile | undefined
}

interface PageFrame {
  readonly page: Page
  readonly session: CDPSession
  readonly frameId: string
  readonly clock: Clock
}

export interface LoadedDocument {
  readonly sides: { readonly left: string; readonly right: string }
  /** Reports what the document contains. Throws `asset_unavailable` if an asset that it shows as an image is not an image. */
  inspect(): Promise<Inspection>
  /** See `evaluate`. */
  run<Result>(expression: string): Promise<Result>
}

export interface Inspection extends Omit<DocumentFacts, 'broken'> {
  readonly reports: readonly Report[]
}

/**
 * A document without remote files has everything it needs, so it loads within milliseconds or never. After this time it is printed as it
 * is. A document that fetches files has until its deadline: a file that does not arrive fails the document.
 */
export const LOAD_MS_MAX = 5_000

/**
 * Loads in two steps: 1. scripts run, images and fonts load; 2. the options apply, and the fonts they need load. Throws `template_error`
 * and `asset_unavailable`. The caller need not wait for it once `ended` aborts.
 */
export async function load(frame: PageFrame, document: PrintDocument, ended: AbortSignal): Promise<LoadedDocument> {
  const { page, session, frameId, clock } = frame
  const { options, title, isScripted } = document
  const mayDrawIcons = isScripted || UNADDRESSED.test(document.html)
  const styled = mayDrawIcons ? withFirst(document.html, WITHOUT_ICONS) : document.html
  const isMoving = !isScripted && mayMove(styled)
  const still = isMoving ? withoutMotion(styled) : styled
  const html = isScripted ? withPreface(styled, document.assets) : still
  const timeout = () => (document.remote === undefined ? clock.timeout(LOAD_MS_MAX) : ended)
  const timedOut = timeout()
  const loaded = nextLoad(page)
  await session.send('Page.setDocumentContent', { frameId, html })
  await unlessTimedOut(loaded, timedOut)
  const hasWaited = isScripted && (await askPreface(session, READY)) === 'waited'

  const world = isScripted ? await openIsolatedWorld(frame) : undefined
  const run = <Result>(expression: string) => evaluate<Result>(session, expression, world)
  const hasEdges = document.header !== undefined || document.footer !== undefined
  const source = needsSourcePage(options, hasEdges) ? await run<SourcePage>(SOURCE_PAGE) : undefined
  const fault = marginFaultOf(options, source?.size)
  if (fault !== undefined) throw new ServiceError('invalid_options', fault)

  if (document.isMultiscript || isScripted) await run(fallbackScript(document.locale))
  const css = pageRules(options, source?.size)
  const mayNameFonts = document.remote !== undefined || NAMES_FONTS.test(html)
  const isTitled = HAS_TITLE.test(html) && !HAS_LONG_TITLE.test(html)
  if (css !== '' || !isTitled || mayNameFonts || isScripted) {
    const hosts = document.remote?.allowedHosts ?? []
    const finish = { title, css, isScripted, hosts, hasWaited, needsAllFonts: HAS_MARGIN_BOXES.test(html) }
    const finished = run<readonly string[]>(finishScript(finish))
    const [family] = (await unlessTimedOut(finished, hasWaited ? timeout() : timedOut)) ?? []
    if (family !== undefined) throw notShown(`the font ${family.slice(0, 100)} could not be loaded`)
  }
  if (isMoving || document.remote !== undefined) await run(HOLD_STILL)
  return {
    sides: sideMargins(options, source),
    run,
    async inspect() {
      const hosts = document.remote?.allowedHosts ?? []
      const { coverage } = document
      const known = isScripted || coverage !== undefined ? undefined : plainFacts(html)
      if (known !== undefined) return { ...known, reports: [] }
      const damagedAddresses = (document.damaged ?? []).map(
        ({ url }) => [url.slice(0, ADDRESS_END_CHARS), url.slice(-ADDRESS_END_CHARS)] as const,
      )
      const looking = { coverage, hosts, isScripted, mayStyleRelatively: mayStyleRelatively(html), damagedAddresses }
      const [{ broken, ...facts }, reports] = await Promise.all([
        run<DocumentFacts>(inspectScript(looking)),
        isScripted ? askPreface(session, REPORTS) : '',
      ])
      const findings = { ...facts, reports: reportsOf(reports) }
      if (broken === '') return findings
      if (hosts.includes(broken)) throw notShown(`${broken}: the file cannot be shown as an image`)
      const { name } = assetNamed(document.assets, broken, 'the document')
      throw notShown(`the asset ${name} is damaged: it cannot be shown as an image`)
    },
  }
}

/**
 * For Chromium an image without an address is broken: it draws an icon and the alt text. An image in a `picture` may have another address.
 */
const WITHOUT_ICONS = `<style>${[
  'img:not([srcset],picture:has(source[srcset]:not([srcset=""]))>*)',
  'input[type=image i]',
]
  .map((image) => `${image}:is(:not([src]),[src=""],[src=" "])`)
  .join()}{visibility:hidden!important}</style>`

function notShown(reason: string): ServiceError {
  return new ServiceError('asset_unavailable', `the document: ${reason}`)
}

export function nextLoad(page: Page): Promise<void> {
  return new Promise((resolve) => {
    page.once('load', () => resolve())
  })
}

/** The document's scripts cannot change the functions that our scripts call in an isolated world. */
async function openIsolatedWorld({ session, frameId }: PageFrame): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId })).executionContextId
}

async function unlessTimedOut<Result>(work: Promise<Result>, timedOut: AbortSignal): Promise<Result | undefined> {
  try {
    return await raceAbort(work, timedOut)
  } catch (error) {
    if (!timedOut.aborted) throw error
    return undefined
  }
}

/** Runs one of our scripts. Each returns its result as JSON. */
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
  // The scripts are ours. If the document has its own scripts, ours run in a separate world.
  return JSON.parse(String(result.value)) as Result
}

/**
 * Asks the preface, in the document's own world, where scripts of the document may have run before. Returns '' for an answer that is no
 * text.
 */
async function askPreface(session: CDPSession, expression: string): Promise<string> {
  const { result } = await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
  return typeof result.value === 'string' ? result.value : ''
}

// The expressions are linear in the length of the HTML, which is untrusted and up to 20 MiB long.
const HAS_TITLE = /<title>\s{0,9}[^<\s]/i
const HAS_LONG_TITLE = new RegExp(`<title>[^<]{${METADATA_CHARS_MAX}}`, 'i')
const NAMES_FONTS = /@font-face/i
const UNADDRESSED = /<(?:img|input)\b(?![^<>]*\ssrc(?:set)?\s{0,9}=\s{0,9}["']?\s{0,9}[^\s"'<>])/i
const HAS_MARGIN_BOXES = /@(?:top|right|bottom|left)-/i
