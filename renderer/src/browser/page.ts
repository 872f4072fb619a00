/**
 * One page of one browser context, for the documents of one tenant: HTML in, PDF out. A document gets the assets of its template and files
 * of the hosts it lists. Every other request except `data:` fails. Its scripts do not run by default. A document that may run scripts has
 * the page to itself, and is the last one on it.
 *
 * A document leaves nothing behind for the next one, except what `leavesTraces` detects and the files in the page's cache. The page is
 * cleared before its next use if it has traces, or files that the next document must not see, or has seen more HTML than
 * `PAGE_KEPT_CHARS_MAX`.
 */
import assert from 'node:assert/strict'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { firstAborted, raceAbort } from '@platen/lib/race.ts'
import { type BrowserContext, type CDPSession, type Page, ProtocolError } from 'puppeteer'
import type { StyleAnswer } from '../template/html/lint/ignored.ts'
import { type Finding, findingsOf } from './document/finding.ts'
import { type Inspection, load, nextLoad, type PrintDocument } from './document/load.ts'
import type { PageMemory } from './document/memory.ts'
import { findShrinking, openCutFinder } from './document/overflow.ts'
import { printWithPageNumbers } from './document/page-numbers.ts'
import { answerRequests, type Requests } from './document/request.ts'
import { mayMove } from './document/script/still-script.ts'
import { styleScript } from './document/script/style-script.ts'
import { isSmall } from './document/small-pdf.ts'
import { BrowserLost, type RunningBrowser } from './launch.ts'
import { PAGE_DIALOGS_MAX } from './limit.ts'
import { EVENT_BYTES_MAX, EVENTS_MAX, type PageBudget } from './message-reader.ts'

const MIB = 1024 * 1024

/**
 * Characters of HTML after which a page is cleared. Chromium keeps the address of each image that a page has shown, and a `data:` URL is
 * long: a thousand documents with an image of 160 KB each made a page 160 MB larger.
 */
export const PAGE_KEPT_CHARS_MAX = 8 * MIB

const SECOND_MS = 1000
/** How long a slot may take to work again after a deadline: the render thread or the browser ends or restarts within it. */
const SLOT_RECOVERY_MS_MAX = 2 * SECOND_MS

/**
 * Frames that a document may make in a shared browser. Each costs the process of all pages some 3 ms, so a document with more begins again
 * in a browser of its own. Chromium itself makes no more than a thousand at a time.
 */
const SHARED_FRAMES_MAX = 32

/** `printMs` excludes the time to load the document. */
export type PrintedDocument = Inspection & {
  readonly pdf: Uint8Array
  readonly findings: readonly Finding[]
  readonly styles?: StyleAnswer | undefined
  readonly printMs: number
}

export interface PrintPage {
  readonly browser: RunningBrowser
  readonly page: Page
  /** Aborts when this page can print no more: it crashed, was closed, or the browser exited. */
  readonly gone: AbortSignal
  /**
   * Prints one document. Rejects with the signal's reason when it aborts. After any rejection the caller must close the page: Chromium may
   * still work on the document. Throws `render_crashed`, `template_error`, `asset_unavailable`, `page_limit`, and `BrowserLost`.
   */
  print(document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument>
  /** Removes the traces of the last document. Rejects if that takes too long. */
  clear(): Promise<void>
  /**
   * Destroys the page and everything running in it. Resolves with false if the browser did not do so in time. Never rejects. May be called
   * twice.
   */
  close(): Promise<boolean>
}

/** Opening a page takes 0.1 s, or some seconds on a starved machine. */
const OPEN_MS_MAX = 10_000

/** The other half of the slot's recovery is for the rest. A page of a thousand frames takes longer, but it still closes. */
const CLOSE_MS_MAX = SLOT_RECOVERY_MS_MAX / 2

/** The default reason would take a stack trace each time. */
const OVER = 'the document has ended'

interface PagePorts {
  readonly clock: Clock
  readonly memory: PageMemory
  readonly isShared: boolean
}

/** Opens a page in its own context. Throws `BrowserLost` if the browser cannot open one or has exited. */
export async function openPage(running: RunningBrowser, ports: PagePorts): Promise<PrintPage> {
  try {
    // A browser that hangs never answers. If it exits, only `gone` says why.
    return await raceAbort(open(running, ports), AbortSignal.any([running.gone, ports.clock.timeout(OPEN_MS_MAX)]))
  } catch (cause) {
    throw new BrowserLost(new ServiceError('render_crashed', 'the browser could not open a page', { cause }))
  }
}

async function open(running: RunningBrowser, ports: PagePorts): Promise<PrintPage> {
  const context = await running.browser.createBrowserContext()
  // Minimized: see `openWindow`.
  const page = await context.newPage({ type: 'window', windowBounds: { windowState: 'minimized' } })
  const session = await page.createCDPSession()
  const gone = new AbortController()
  running.gone.addEventListener('abort', () => gone.abort(running.gone.reason), { signal: gone.signal })
  session.once('Inspector.targetCrashed', () => gone.abort(ports.memory.causeOfCrash()))
  const budget = running.budgetOf(session)
  budget.onspent = (method) => {
    gone.abort(tooManyEvents(method))
    // The browser then drops what the page sends to this session, before it builds messages.
    session.detach().catch(() => undefined)
  }
  return printPage({ ...ports, running, context, page, session, budget, ...(await prepare(page, session)), gone })
}

async function prepare(page: Page, session: CDPSession): Promise<Pick<PageParts, 'frameId' | 'windowId'>> {
  const [{ frameTree }, windowId] = await Promise.all([
    session.send('Page.getFrameTree'),
    page.windowId(),
    session.send('Inspector.enable'),
    page.setJavaScriptEnabled(false),
    // With this, fonts that only the print style uses load with the document, and not too late.
    page.emulateMediaType('print'),
    // There is no network, so a policy could only forbid the document's own parts and ours. It would also outlive its document.
    page.setBypassCSP(true),
    session.send('Fetch.enable'),
    // V8 collects garbage for the first time when its heap has grown by 60 MiB, and keeps most of that. After a collection while the page is
    // empty, it never lets the heap grow that far.
    session.send('HeapProfiler.collectGarbage'),
  ])
  return { frameId: frameTree.frame.id, windowId }
}

interface PageParts extends PagePorts {
  readonly running: RunningBrowser
  readonly context: BrowserContext
  readonly page: Page
  /** For commands that puppeteer's page has no methods for. */
  readonly session: CDPSession
  readonly budget: PageBudget
  readonly frameId: string
  readonly windowId: string
  readonly gone: AbortController
}

function printPage(parts: PageParts): PrintPage {
  const { running, context, page, session, gone, clock, memory } = parts
  const documents = openDocuments(parts)
  let closing: Promise<boolean> | undefined
  return {
    browser: running,
    page,
    gone: gone.signal,
    async print(document, signal) {
      using first = firstAborted([signal, gone.signal])
      const { signal: ended } = first
      const over = new AbortController()
      try {
        ended.throwIfAborted()
        // The watch ends with the document, with its browser, or when that browser is too large.
        memory.watch(running, document, over.signal).catch((fault) => fault instanceof BrowserLost && gone.abort(fault))
        // If `ended` is first, everything that still runs ends with the page, which the caller closes.
        return await raceAbort(documents.printNext(document, ended), ended)
      } catch (error) {
        // In a crashed page, meaningless errors may arrive before the crash does. So ask the page: a crashed page never answers.
        if (error instanceof ProtocolError && !session.detached)
          await raceAbort(session.send('Page.getFrameTree'), ended).catch(() => undefined)
        throw toServiceError(error, {
          ended,
          isClosed: session.detached,
          mayCloseItself: document.isScripted && running.browser.connected,
        })
      } finally {
        over.abort(OVER)
      }
    },
    clear: () => raceAbort(documents.clear(), AbortSignal.any([gone.signal, clock.timeout(CLOSE_MS_MAX)])),
    close() {
      gone.abort(new ServiceError('render_crashed', 'the page was closed while it rendered'))
      const over = AbortSignal.any([running.gone, clock.timeout(CLOSE_MS_MAX)])
      closing ??= raceAbort(context.close(), over).then(
        () => true,
        () => running.gone.aborted,
      )
      return closing
    },
  }
}

function openDocuments(parts: PageParts): {
  printNext(document: PrintDocument, ended: AbortSignal): Promise<PrintedDocument>
  clear(): Promise<void>
} {
  const { session, budget, gone, clock } = parts
  const requests = answerRequests(parts, (fault) => gone.abort(fault))
  const frames = countFrames(parts)
  const showWindow = openWindow(parts)
  let isNew = true
  let hasTraces = false
  let keptChars = 0

  async function begin(document: PrintDocument, ended: AbortSignal): Promise<void> {
    if (requests.holdsOther(document)) await clearPage(parts, requests)
    if (document.isScripted) {
      assert(isNew, 'scripts run on a page no document has been on')
      await Promise.all([setIntl(session, document), enableScripts(parts)])
    }
    await showWindow(needsFrames(document))
    isNew = false
    hasTraces = leavesTraces(document.html)
    keptChars += document.html.length
    budget.renew()
    frames.beginDocument()
    requests.beginDocument(document, ended)
  }

  return {
    async printNext(document, ended) {
      await begin(document, ended)
      const loaded = await load(parts, document, ended)
      // Send everything at once, so that nothing comes between Chromium's inspection and its print.
      const loadedAt = clock.monotonic()
      const cuts = openCutFinder(document, loaded)
      const early = cuts.beforePrint()
      const printing = printWithPageNumbers(session, { ...document, ...loaded, isSmall: isSmall(document) })
      const { styleQuestions } = document
      const asking = styleQuestions === undefined ? undefined : loaded.run<StyleAnswer>(styleScript(styleQuestions))
      const [inspection, { pdf, findings: lost }, cut, styles] = await Promise.all([
        loaded.inspect(),
        printing,
        early,
        asking,
      ])
      const shrunk = await findShrinking(session, loaded, pdf)
      const findings = [
        // A link whose page is unknown is reported once.
        ...findingsOf(inspection, requests).filter(
          ({ code, address = '' }) => lost.length === 0 || code !== 'link_broken' || !address.startsWith('#'),
        ),
        ...lost,
        ...(shrunk === undefined ? [] : [shrunk]),
        ...cut,
        ...(await cuts.afterPrint(session)),
      ]
      return { ...inspection, pdf, findings, styles, printMs: clock.monotonic() - loadedAt }
    },
    async clear() {
      if (!hasTraces && keptChars <= PAGE_KEPT_CHARS_MAX) return
      await clearPage(parts, requests)
      hasTraces = false
      keptChars = 0
    },
  }
}

/** If a document makes many frames, takes it out of its browser. Removed frames count, because making them is most of their cost. */
function countFrames({ page, isShared, gone }: PageParts): { beginDocument(): void } {
  let frames = 0
  page.on('frameattached', () => {
    frames += 1
    if (!isShared || frames <= SHARED_FRAMES_MAX) return
    const reason = `the document makes more than ${SHARED_FRAMES_MAX} frames in a browser that it shares`
    gone.abort(new BrowserLost(new ServiceError('template_error', reason)))
  })
  return {
    beginDocument() {
      frames = 0
    },
  }
}

/**
 * Returns a function that shows or minimizes the window of a page; it is minimized at first. In a minimized window Chromium draws no
 * frames: they are for a screen, and cost a quarter of the time of a small document.
 */
function openWindow({ running, windowId }: PageParts): (isShown: boolean) => Promise<void> {
  let wasShown = false
  return async (isShown) => {
    if (isShown === wasShown) return
    wasShown = isShown
    await running.browser.setWindowBounds(windowId, { windowState: isShown ? 'normal' : 'minimized' })
  }
}

/** Whether Chromium must draw frames for a document. Without them, animations would not reach their end. */
function needsFrames({ html, isScripted, remote }: PrintDocument): boolean {
  // The style sheets of hosts are unknown here.
  return isScripted || remote !== undefined || mayMove(html)
}

async function clearPage({ page, session }: PageParts, requests: Requests): Promise<void> {
  const loaded = nextLoad(page)
  await session.send('Page.navigate', { url: 'about:blank' })
  await loaded
  requests.forget()
}

/**
 * Lets the scripts of the next document run. Ends the page if they navigate away, close it, or open dialogs without end. The flags in
 * `launch.ts` prevent new pages and network access.
 */
async function enableScripts({ page, session, frameId, gone }: PageParts): Promise<void> {
  const end = (did: string) => gone.abort(new ServiceError('template_error', `the page’s JavaScript ${did}`))
  let dialogs = 0
  page.on('dialog', (dialog) => {
    dialogs += 1
    if (dialogs > PAGE_DIALOGS_MAX) end(`opened more than ${PAGE_DIALOGS_MAX} dialogs`)
    else dialog.dismiss().catch(() => undefined)
  })
  session.on('Page.frameRequestedNavigation', (request) => {
    if (request.frameId === frameId) end('navigated away from the document')
  })
  page.once('close', () => gone.abort(closedItself()))
  await Promise.all([session.send('Page.enable'), page.setJavaScriptEnabled(true)])
}

/** Not undone, because the page serves no other document. */
async function setIntl(session: CDPSession, { locale, options }: PrintDocument): Promise<void> {
  const { time_zone: timezoneId } = options
  await Promise.all([
    locale !== undefined && session.send('Emulation.setLocaleOverride', { locale }),
    timezoneId !== undefined && session.send('Emulation.setTimezoneOverride', { timezoneId }),
  ])
}

function tooManyEvents(method: string): ServiceError {
  const [, domain = ''] = /^(\w+)\./.exec(method) ?? []
  const what = EVENT_SOURCES[domain] ?? method
  const limits = `${EVENTS_MAX} times, or ${EVENT_BYTES_MAX / 2 ** 20} MiB`
  return new ServiceError('template_error', `the document keeps the browser busy with ${what}: more than ${limits}`)
}

const EVENT_SOURCES: Readonly<Record<string, string>> = {
  Fetch: 'requests that it sends',
  Page: 'frames, their names, addresses and dialogs',
  Target: 'its workers',
}

function closedItself(): ServiceError {
  return new ServiceError('template_error', 'the page’s JavaScript closed the page')
}

/**
 * Matches what stays with the page after its document: the names of preferred style sheets, and pending refreshes. Linear in the length of
 * the HTML, which is untrusted.
 */
const TRACES = /http-equiv(?!\s{0,9}=\s{0,9}["']?(?:content-type|x-ua-compatible)["'\s>])|\stitle\s{0,9}=/i

function leavesTraces(html: string): boolean {
  return TRACES.test(html)
}

function toServiceError(
  error: unknown,
  {
    ended,
    isClosed,
    mayCloseItself,
  }: { readonly ended: AbortSignal; readonly isClosed: boolean; readonly mayCloseItself: boolean },
): unknown {
  if (ended.aborted) return ended.reason
  if (!(error instanceof ProtocolError)) return error
  // A crash would have ended the page earlier.
  if (isClosed && mayCloseItself) return closedItself()
  if (isClosed) return new ServiceError('render_crashed', 'the page ended while it rendered', { cause: error })
  const reason = `Chromium could not print the document: ${error.originalMessage}`
  return new ServiceError('template_error', reason, { cause: error })
}
