/**
 * One page of one browser context, for documents of one tenant: HTML in, PDF out, over the raw protocol, which costs half of
 * what puppeteer's own `setContent` and `pdf` do. A document gets the assets of its template and files of the hosts it lists; every
 * other request but `data:` fails. Its scripts do not run, unless it may run them: then it has the page to itself, and is its last.
 *
 * A document leaves nothing to the next but what `leavesTraces` knows of, and what the page remembers of what it was given. A page
 * with traces, or with assets or files the next document must not be given, is cleared before it is used again.
 */
import assert from 'node:assert/strict'
import { ServiceError } from '@platen/contract/error.ts'
import { PAGE_DIALOGS_MAX, SLOT_RECOVERY_MS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { BrowserContext, CDPSession, Page } from 'puppeteer'
import { type LoadedDocument, load, nextLoad, type PrintDocument } from './document/load.ts'
import type { PageMemory } from './document/memory.ts'
import { print } from './document/print.ts'
import { answerRequests, type Requests } from './document/request.ts'
import { BrowserLost, type RunningBrowser } from './launch.ts'

/** The PDF of a document, and what it turned out to hold. */
export type PrintedDocument = Awaited<ReturnType<LoadedDocument['inspect']>> & { readonly pdf: Uint8Array }

export interface PrintPage {
  readonly browser: RunningBrowser
  /** Aborts when nothing can be printed here any more: crashed, closed, browser gone. */
  readonly gone: AbortSignal
  /**
   * Prints one document. Rejects with the signal's reason when it aborts; then and after any other failure the page is to be
   * closed, as Chromium may still be at work on it. Throws `render_crashed`, `template_error`, `asset_unavailable` and `page_limit`,
   * and `BrowserLost`.
   */
  print(document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument>
  /** Removes the traces of the last document. Rejects when that takes too long. */
  clear(): Promise<void>
  /** Destroys the page and what it is doing. Gives false when the browser has not done so in time. Never rejects; twice is fine. */
  close(): Promise<boolean>
}

/** A page takes 0.1 s to open; on a starved machine some seconds. */
const OPEN_MS_MAX = 10_000

/** The slot has the other half for what else it takes. A page of a thousand frames takes longer, and ends all the same. */
const CLOSE_MS_MAX = SLOT_RECOVERY_MS_MAX / 2

interface PagePorts {
  readonly clock: Clock
  readonly memory: PageMemory
}

/** Opens a page in a context of its own. Throws `BrowserLost` when the browser cannot, or has gone. */
export async function openPage(running: RunningBrowser, ports: PagePorts): Promise<PrintPage> {
  try {
    // Puppeteer waits for ever for a page whose browser dies meanwhile.
    return await raceAbort(open(running, ports), AbortSignal.any([running.gone, ports.clock.timeout(OPEN_MS_MAX)]))
  } catch (cause) {
    throw new BrowserLost(new ServiceError('render_crashed', 'the browser could not open a page', { cause }))
  }
}

async function open(running: RunningBrowser, ports: PagePorts): Promise<PrintPage> {
  const context = await running.browser.createBrowserContext()
  const page = await context.newPage()
  const gone = new AbortController()
  running.gone.addEventListener('abort', () => gone.abort(running.gone.reason), { signal: gone.signal })
  page.once('error', () => gone.abort(ports.memory.causeOfCrash()))
  const session = await page.createCDPSession()
  const frameId = await prepare(session)
  return printPage({ ...ports, running, context, page, session, frameId, gone })
}

async function prepare(session: CDPSession): Promise<string> {
  const [{ frameTree }] = await Promise.all([
    session.send('Page.getFrameTree'),
    session.send('Page.enable'),
    session.send('Emulation.setScriptExecutionDisabled', { value: true }),
    // Fonts that only the print style asks for are loaded with the document then, not when it is too late.
    session.send('Emulation.setEmulatedMedia', { media: 'print' }),
    // With no network there is nothing a policy could forbid but the document's own parts and ours, and it would outlive its document.
    session.send('Page.setBypassCSP', { enabled: true }),
    session.send('Fetch.enable'),
  ])
  return frameTree.frame.id
}

interface PageParts extends PagePorts {
  readonly running: RunningBrowser
  readonly context: BrowserContext
  readonly page: Page
  readonly session: CDPSession
  readonly frameId: string
  readonly gone: AbortController
}

function printPage(parts: PageParts): PrintPage {
  const { running, context, session, gone, clock, memory } = parts
  const requests = answerRequests(session, (fault) => gone.abort(fault))
  let isNew = true
  let isClear = true
  let closing: Promise<boolean> | undefined

  async function beginDocument(document: PrintDocument, ended: AbortSignal): Promise<void> {
    if (requests.holdsOther(document)) await clearPage(session, requests)
    if (document.isScripted) {
      assert(isNew, 'scripts run on a page no document has been on')
      await enableScripts(parts)
    }
    isNew = false
    isClear = !leavesTraces(document.html)
    requests.beginDocument(document, ended)
  }

  return {
    browser: running,
    gone: gone.signal,
    async print(document, signal) {
      const ended = AbortSignal.any([signal, gone.signal])
      const over = new AbortController()
      try {
        ended.throwIfAborted()
        // It ends with the document, with the browser it looks at, or by having found that too large.
        memory.watch(running, document, over.signal).catch((fault) => fault instanceof BrowserLost && gone.abort(fault))
        await raceAbort(beginDocument(document, ended), ended)
        const loaded = await load(parts, document, ended)
        // Both at once: Chromium looks the document over before it prints it, without another turn in between.
        const edges = { ...document, sides: loaded.sides }
        const [findings, pdf] = await Promise.all([raceAbort(loaded.inspect(), ended), print(session, edges, ended)])
        return { ...findings, pdf }
      } catch (error) {
        // What fails in a page that has crashed may be told before the crash is, and says nothing: such a page does not answer.
        if (isProtocolError(error)) await raceAbort(session.send('Page.getFrameTree'), ended).catch(() => undefined)
        throw toServiceError(error, ended, document.isScripted && running.browser.connected)
      } finally {
        over.abort()
      }
    },
    async clear() {
      if (isClear) return
      await raceAbort(clearPage(session, requests), AbortSignal.any([gone.signal, clock.timeout(CLOSE_MS_MAX)]))
      isClear = true
    },
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

/** Empties the page, and its memory of what it was given. */
async function clearPage(session: CDPSession, requests: Requests): Promise<void> {
  const loaded = nextLoad(session)
  await session.send('Page.navigate', { url: 'about:blank' })
  await loaded
  requests.forget()
}

/**
 * Lets the scripts of the document to come run, and ends it when they leave it, close the page, or open dialogs without end.
 * That they open no further page and reach no network is seen to by the flags in `launch.ts`.
 */
async function enableScripts({ running, page, session, frameId, gone }: PageParts): Promise<void> {
  const end = (did: string) => gone.abort(new ServiceError('template_error', `the page’s JavaScript ${did}`))
  let dialogs = 0
  session.on('Page.javascriptDialogOpening', () => {
    dialogs += 1
    if (dialogs > PAGE_DIALOGS_MAX) end(`opened more than ${PAGE_DIALOGS_MAX} dialogs`)
    else session.send('Page.handleJavaScriptDialog', { accept: false }).catch(() => undefined)
  })
  session.on('Page.frameRequestedNavigation', (request) => {
    if (request.frameId === frameId) end('left the document, which is printed where it is')
  })
  page.once('close', () => {
    // A page ends with its browser, too.
    if (running.browser.connected) gone.abort(closedItself())
  })
  await session.send('Emulation.setScriptExecutionDisabled', { value: false })
}

function closedItself(): ServiceError {
  return new ServiceError('template_error', 'the page’s JavaScript closed the page')
}

/** What stays with the page when its document goes: the names of preferred style sheets, and pending refreshes. Linear in the length of the HTML, which is hostile. */
const TRACES = /http-equiv(?!\s{0,9}=\s{0,9}["']?(?:content-type|x-ua-compatible)["'\s>])|\stitle\s{0,9}=/i

function leavesTraces(html: string): boolean {
  return TRACES.test(html)
}

/** What went wrong in the words of the catalog. By name, as importing puppeteer for its classes costs 0.2 s. */
function toServiceError(error: unknown, ended: AbortSignal, mayCloseItself: boolean): unknown {
  if (ended.aborted) return ended.reason
  if (!(error instanceof Error)) return error
  // A crash has ended the page before.
  if (error.name === 'TargetCloseError' && mayCloseItself) return closedItself()
  if (error.name === 'TargetCloseError' || error.name === 'ConnectionClosedError') {
    return new ServiceError('render_crashed', 'the page ended while it rendered', { cause: error })
  }
  if (isProtocolError(error)) {
    const reason = 'originalMessage' in error ? String(error.originalMessage) : error.message
    return new ServiceError('template_error', `Chromium could not print the document: ${reason}`, { cause: error })
  }
  return error
}

function isProtocolError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ProtocolError'
}
