/**
 * One page of one browser context, for the documents of one tenant: HTML in, PDF out. A document gets the assets of its template and files
 * of the hosts it lists. Every other request except `data:` fails. Its scripts do not run by default. A document that may run scripts gets
 * the page for itself, and is the last one on it.
 *
 * A document leaves nothing behind for the next one, except what `leavesTraces` detects and the files in the page's cache. The page is
 * cleared before its next use if it has traces, or files that the next document must not see, or has seen so much HTML that what Chromium
 * keeps of it counts.
 */
import assert from 'node:assert/strict'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { firstAborted, raceAbort } from '@platen/contract/race.ts'
import { CommandRefused, type Session, SessionClosed } from './connection.ts'
import { type Finding, findingsOf } from './document/finding.ts'
import { type Inspection, load, nextLoad, type PrintDocument } from './document/load.ts'
import type { PageMemory } from './document/memory.ts'
import { printNumbered } from './document/numbered.ts'
import { answerRequests, type Requests } from './document/request.ts'
import { shrinkage } from './document/shrinkage.ts'
import { isSmall } from './document/small.ts'
import { BrowserLost, type RunningBrowser } from './launch.ts'
import { PAGE_DIALOGS_MAX, PAGE_KEPT_CHARS_MAX, SLOT_RECOVERY_MS_MAX } from './limit.ts'

/** The PDF of a document, and the facts found in it. `printMs` is without the time to load it. */
export type PrintedDocument = Inspection & {
  readonly pdf: Uint8Array
  readonly findings: readonly Finding[]
  readonly printMs: number
}

export interface PrintPage {
  readonly browser: RunningBrowser
  /** Aborts when this page can print no more: it crashed, was closed, or the browser exited. */
  readonly gone: AbortSignal
  /**
   * Prints one document. Rejects with the signal's reason when it aborts. After any rejection the caller must close the page, because
   * Chromium may still work on the document. Throws `render_crashed`, `template_error`, `asset_unavailable`, `page_limit`, and
   * `BrowserLost`.
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

/** A page takes 0.1 s to open, or some seconds on a starved machine. */
const OPEN_MS_MAX = 10_000

/** The other half of the time is for the rest of the slot's recovery. A page of a thousand frames takes longer, but it still closes. */
const CLOSE_MS_MAX = SLOT_RECOVERY_MS_MAX / 2

/** With the default reason, a stack trace would be taken each time. */
const OVER = 'the document has ended'

interface PagePorts {
  readonly clock: Clock
  readonly memory: PageMemory
}

/** Opens a page in its own context. Throws `BrowserLost` if the browser cannot open one or has exited. */
export async function openPage(running: RunningBrowser, ports: PagePorts): Promise<PrintPage> {
  try {
    // A browser that hangs never answers, and of one that exits only `gone` says why.
    return await raceAbort(open(running, ports), AbortSignal.any([running.gone, ports.clock.timeout(OPEN_MS_MAX)]))
  } catch (cause) {
    throw new BrowserLost(new ServiceError('render_crashed', 'the browser could not open a page', { cause }))
  }
}

async function open(running: RunningBrowser, ports: PagePorts): Promise<PrintPage> {
  const { connection } = running
  const { browserContextId } = await connection.send('Target.createBrowserContext')
  // In a window that is minimized: see `openWindow`.
  const target = { url: 'about:blank', windowState: 'minimized', browserContextId } as const
  const { targetId } = await connection.send('Target.createTarget', target)
  const session = await connection.attach(targetId)
  const gone = new AbortController()
  running.gone.addEventListener('abort', () => gone.abort(running.gone.reason), { signal: gone.signal })
  session.once('Inspector.targetCrashed', () => gone.abort(ports.memory.causeOfCrash()))
  return printPage({ ...ports, running, browserContextId, session, ...(await prepare(session)), gone })
}

async function prepare(session: Session): Promise<Pick<PageParts, 'frameId' | 'windowId'>> {
  const [{ frameTree }, { windowId }] = await Promise.all([
    session.send('Page.getFrameTree'),
    session.send('Browser.getWindowForTarget'),
    session.send('Inspector.enable'),
    session.send('Page.enable'),
    session.send('Emulation.setScriptExecutionDisabled', { value: true }),
    // Then fonts that only the print style uses load with the document, and not too late.
    session.send('Emulation.setEmulatedMedia', { media: 'print' }),
    // Without a network, a policy could only forbid the document's own parts and ours. It would also outlive its document.
    session.send('Page.setBypassCSP', { enabled: true }),
    session.send('Fetch.enable'),
    // V8 collects garbage for the first time when its heap has grown by 60 MiB, and keeps most of that. After a collection while the page is
    // empty, it never lets the heap grow that far.
    session.send('HeapProfiler.collectGarbage'),
  ])
  return { frameId: frameTree.frame.id, windowId }
}

interface PageParts extends PagePorts {
  readonly running: RunningBrowser
  readonly browserContextId: string
  readonly session: Session
  readonly frameId: string
  readonly windowId: number
  readonly gone: AbortController
}

function printPage(parts: PageParts): PrintPage {
  const { running, browserContextId, session, gone, clock, memory } = parts
  const documents = openDocuments(parts)
  let closing: Promise<boolean> | undefined
  return {
    browser: running,
    gone: gone.signal,
    async print(document, signal) {
      using first = firstAborted([signal, gone.signal])
      const { signal: ended } = first
      const over = new AbortController()
      try {
        ended.throwIfAborted()
        // It ends with the document, with the browser it checks, or when that browser is too large.
        memory.watch(running, document, over.signal).catch((fault) => fault instanceof BrowserLost && gone.abort(fault))
        // If `ended` is first, whatever is under way ends with the page, which the caller closes.
        return await raceAbort(documents.printNext(document, ended), ended)
      } catch (error) {
        // In a crashed page, other errors may arrive before the crash does, and they mean nothing. So ask the page: a crashed page never
        // answers.
        if (error instanceof CommandRefused)
          await raceAbort(session.send('Page.getFrameTree'), ended).catch(() => undefined)
        throw toServiceError(error, ended, document.isScripted && !running.connection.closed.aborted)
      } finally {
        over.abort(OVER)
      }
    },
    clear: () => raceAbort(documents.clear(), AbortSignal.any([gone.signal, clock.timeout(CLOSE_MS_MAX)])),
    close() {
      gone.abort(new ServiceError('render_crashed', 'the page was closed while it rendered'))
      const over = AbortSignal.any([running.gone, clock.timeout(CLOSE_MS_MAX)])
      closing ??= raceAbort(running.connection.send('Target.disposeBrowserContext', { browserContextId }), over).then(
        () => true,
        () => running.gone.aborted,
      )
      return closing
    },
  }
}

/** The documents of a page, one after the other, and what they leave behind. */
function openDocuments(parts: PageParts): {
  printNext(document: PrintDocument, ended: AbortSignal): Promise<PrintedDocument>
  clear(): Promise<void>
} {
  const { session, gone, clock } = parts
  const requests = answerRequests(parts, (fault) => gone.abort(fault))
  const showWindow = openWindow(parts)
  let isNew = true
  let hasTraces = false
  let keptChars = 0

  async function begin(document: PrintDocument, ended: AbortSignal): Promise<void> {
    if (requests.holdsOther(document)) await clearPage(session, requests)
    if (document.isScripted) {
      assert(isNew, 'scripts run on a page no document has been on')
      await Promise.all([setIntl(session, document), enableScripts(parts)])
    }
    await showWindow(mayMove(document))
    isNew = false
    hasTraces = leavesTraces(document.html)
    keptChars += document.html.length
    requests.beginDocument(document, ended)
  }

  return {
    async printNext(document, ended) {
      await begin(document, ended)
      const loaded = await load(parts, document, ended)
      // Send both at once, so that Chromium inspects the document and prints it with nothing in between.
      const loadedAt = clock.monotonic()
      const printing = printNumbered(session, { ...document, ...loaded, isSmall: isSmall(document) })
      const [inspection, { pdf, findings: lost }] = await Promise.all([loaded.inspect(), printing])
      const findings = [...findingsOf(inspection, requests.refused()), ...lost]
      const shrunk = await shrinkage(session, loaded, pdf)
      if (shrunk !== undefined) findings.push(shrunk)
      return { ...inspection, pdf, findings, printMs: clock.monotonic() - loadedAt }
    },
    async clear() {
      if (!hasTraces && keptChars <= PAGE_KEPT_CHARS_MAX) return
      await clearPage(session, requests)
      hasTraces = false
      keptChars = 0
    },
  }
}

/**
 * Returns a function that shows the window of a page, or minimizes it. In a minimized window Chromium draws no frames: they are for a screen,
 * and cost a quarter of what a small document costs. The first state is minimized.
 */
function openWindow({ session, windowId }: PageParts): (isShown: boolean) => Promise<void> {
  let wasShown = false
  return async (isShown) => {
    if (isShown === wasShown) return
    wasShown = isShown
    const windowState = isShown ? 'normal' : 'minimized'
    await session.send('Browser.setWindowBounds', { windowId, bounds: { windowState } })
  }
}

/** Whether anything in a document may move. Where no frames are drawn, it would stay as it is at its beginning. */
function mayMove({ html, isScripted, remote }: PrintDocument): boolean {
  // Style sheets of hosts are not read here.
  return isScripted || remote !== undefined || MOVES.test(html)
}

/** Linear in the length of the HTML, which is untrusted. */
const MOVES = /animat|transition|<(?:set|marquee|video|audio)\b/i

/** Clears the page and its cache. */
async function clearPage(session: Session, requests: Requests): Promise<void> {
  const loaded = nextLoad(session)
  await session.send('Page.navigate', { url: 'about:blank' })
  await loaded
  requests.forget()
}

/**
 * Lets the scripts of the next document run. Ends the page if they navigate away, close it, or open dialogs without end. The flags in
 * `launch.ts` prevent new pages and network access.
 */
async function enableScripts({ running, session, frameId, gone }: PageParts): Promise<void> {
  const end = (did: string) => gone.abort(new ServiceError('template_error', `the page’s JavaScript ${did}`))
  let dialogs = 0
  session.on('Page.javascriptDialogOpening', () => {
    dialogs += 1
    if (dialogs > PAGE_DIALOGS_MAX) end(`opened more than ${PAGE_DIALOGS_MAX} dialogs`)
    else session.send('Page.handleJavaScriptDialog', { accept: false }).catch(() => undefined)
  })
  session.on('Page.frameRequestedNavigation', (request) => {
    if (request.frameId === frameId) end('navigated away from the document')
  })
  session.closed.addEventListener('abort', () => {
    // A page also closes when its browser exits.
    if (!running.connection.closed.aborted) gone.abort(closedItself())
  })
  await Promise.all([
    // Without it V8 places an exception where it was thrown, and not where it was made.
    session.send('Runtime.enable'),
    session.send('Emulation.setScriptExecutionDisabled', { value: false }),
  ])
}

/** The page serves no other document, so this need not be undone. */
async function setIntl(session: Session, { locale, options }: PrintDocument): Promise<void> {
  const { time_zone: timezoneId } = options
  await Promise.all([
    locale !== undefined && session.send('Emulation.setLocaleOverride', { locale }),
    timezoneId !== undefined && session.send('Emulation.setTimezoneOverride', { timezoneId }),
  ])
}

function closedItself(): ServiceError {
  return new ServiceError('template_error', 'the page’s JavaScript closed the page')
}

/**
 * Finds what stays with the page after its document: the names of preferred style sheets, and pending refreshes. Linear in the length of
 * the HTML, which is untrusted.
 */
const TRACES = /http-equiv(?!\s{0,9}=\s{0,9}["']?(?:content-type|x-ua-compatible)["'\s>])|\stitle\s{0,9}=/i

function leavesTraces(html: string): boolean {
  return TRACES.test(html)
}

/** Translates an error into the catalog. */
function toServiceError(error: unknown, ended: AbortSignal, mayCloseItself: boolean): unknown {
  if (ended.aborted) return ended.reason
  // A crash would have ended the page before this.
  if (error instanceof SessionClosed && mayCloseItself) return closedItself()
  if (error instanceof SessionClosed) {
    return new ServiceError('render_crashed', 'the page ended while it rendered', { cause: error })
  }
  if (error instanceof CommandRefused) {
    const reason = `Chromium could not print the document: ${error.message}`
    return new ServiceError('template_error', reason, { cause: error })
  }
  return error
}
