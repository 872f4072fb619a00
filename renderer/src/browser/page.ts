/**
 * One page of one browser context, for documents of one tenant: HTML in, PDF out, over the raw protocol, which costs half of
 * what puppeteer's own `setContent` and `pdf` do. Page JavaScript is off and every request but `data:` fails.
 *
 * A document leaves nothing to the next but what `leavesTraces` knows of; such a page is to be cleared before it is used again.
 */

import { abortable } from '@platen/contract/bell.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { PDF_BYTES_MAX, PDF_PAGES_MAX, SLOT_RECOVERY_MS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { RenderOptions } from '@platen/contract/render.ts'
import type { BrowserContext, CDPSession } from 'puppeteer'
import type { RunningBrowser } from './launch.ts'
import { PAPER_DEFAULT, pageRules, turnsSourcePage } from './paper.ts'
import { countPages, fixDates } from './pdf.ts'

export interface PrintDocument {
  readonly html: string
  readonly header?: string
  readonly footer?: string
  readonly options: RenderOptions
  /** The PDF's title where the document has none. */
  readonly title: string
}

export interface PrintPage {
  readonly browser: RunningBrowser
  /** Aborts when nothing can be printed here any more: crashed, closed, browser gone. */
  readonly gone: AbortSignal
  /**
   * Prints one document. Rejects with the signal's reason when it aborts; then and after any other failure the page is to be
   * closed, as Chromium may still be at work on it. Throws `render_crashed`, `template_error` and `page_limit`.
   */
  print(document: PrintDocument, signal: AbortSignal): Promise<Uint8Array>
  /** Removes the traces of the last document. Rejects when that takes too long. */
  clear(): Promise<void>
  /** Destroys the page and what it is doing, with the browser if there is no other way. Never rejects; twice is fine. */
  close(): Promise<void>
}

/** Everything a document needs is in it, so it has loaded in milliseconds or never will; then it is printed as it is. */
const LOAD_MS_MAX = 5_000

/** A page takes 0.1 s to open; on a starved machine some seconds. */
const OPEN_MS_MAX = 10_000

/** Half for the page to obey, half for the browser to be killed. */
const CLOSE_MS_MAX = SLOT_RECOVERY_MS_MAX / 2

/** Bytes in one answer of the protocol. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** Characters of refused addresses per document. Each is reported to this process, and `<base href>` makes long ones cheap. */
const REFUSED_CHARS_MAX = 8 * 1024 * 1024

/** Opens a page in a context of its own. Throws `render_crashed` when the browser cannot, or has gone. */
export async function openPage(running: RunningBrowser, clock: Clock): Promise<PrintPage> {
  try {
    // Puppeteer waits for ever for a page whose browser dies meanwhile.
    return await abortable(open(running, clock), AbortSignal.any([running.gone, clock.timeout(OPEN_MS_MAX)]))
  } catch (cause) {
    // A browser that cannot give a page is of no use to any render.
    await running.kill()
    throw new ServiceError('render_crashed', 'the browser could not open a page', { cause })
  }
}

async function open(running: RunningBrowser, clock: Clock): Promise<PrintPage> {
  const context = await running.browser.createBrowserContext()
  const page = await context.newPage()
  const gone = new AbortController()
  running.gone.addEventListener('abort', () => gone.abort(running.gone.reason), { signal: gone.signal })
  page.once('error', () => gone.abort(new ServiceError('render_crashed', 'the page crashed while it rendered')))
  const session = await page.createCDPSession()
  const frameId = await prepare(session)
  return printPage({ running, context, session, frameId, gone, clock })
}

async function prepare(session: CDPSession): Promise<string> {
  const [{ frameTree }] = await Promise.all([
    session.send('Page.getFrameTree'),
    session.send('Page.enable'),
    session.send('Emulation.setScriptExecutionDisabled', { value: true }),
    // Fonts that only the print style asks for are loaded with the document then, not when it is too late.
    session.send('Emulation.setEmulatedMedia', { media: 'print' }),
    // With no scripts and no network there is nothing a policy could forbid but our own style, and it would outlive its document.
    session.send('Page.setBypassCSP', { enabled: true }),
    session.send('Fetch.enable'),
  ])
  return frameTree.frame.id
}

interface PageParts {
  readonly running: RunningBrowser
  readonly context: BrowserContext
  readonly session: CDPSession
  readonly frameId: string
  readonly gone: AbortController
  readonly clock: Clock
}

function printPage(parts: PageParts): PrintPage {
  const { running, context, session, frameId, gone, clock } = parts
  const refusals = refuseRequests(session, () =>
    gone.abort(new ServiceError('template_error', 'the document refers to too much outside of it')),
  )
  let isClear = true
  let closing: Promise<void> | undefined

  return {
    browser: running,
    gone: gone.signal,
    async print(document, signal) {
      const ended = AbortSignal.any([signal, gone.signal])
      isClear = !leavesTraces(document.html)
      refusals.reset()
      try {
        ended.throwIfAborted()
        await load({ session, frameId, clock }, document, ended)
        return await print(session, document, ended)
      } catch (error) {
        throw translate(error, ended)
      }
    },
    async clear() {
      if (isClear) return
      const bounded = AbortSignal.any([gone.signal, clock.timeout(CLOSE_MS_MAX)])
      const loaded = nextLoad(session)
      await abortable(session.send('Page.navigate', { url: 'about:blank' }), bounded)
      await abortable(loaded, bounded)
      isClear = true
    },
    close() {
      gone.abort(new ServiceError('render_crashed', 'the page was closed while it rendered'))
      closing ??= abortable(context.close(), clock.timeout(CLOSE_MS_MAX)).catch(() => running.kill())
      return closing
    },
  }
}

/** Fails each request: `data:` never comes to interception, and there is nothing else a document may have. */
function refuseRequests(session: CDPSession, onExcess: () => void): { reset(): void } {
  let chars = 0
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    chars += request.url.length
    if (chars > REFUSED_CHARS_MAX) onExcess()
    // Aborted, as any other reason would show an error page in place of a document that sends its reader elsewhere.
    session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => undefined)
  })
  return {
    reset() {
      chars = 0
    },
  }
}

function nextLoad(session: CDPSession): Promise<void> {
  return new Promise((resolve) => {
    session.once('Page.loadEventFired', () => resolve())
  })
}

type Frame = Pick<PageParts, 'session' | 'frameId' | 'clock'>

/** Loads a document with its fonts and images, and puts the options into force. */
async function load({ session, frameId, clock }: Frame, document: PrintDocument, ended: AbortSignal): Promise<void> {
  const { html, options, title } = document
  const patience = clock.timeout(LOAD_MS_MAX)
  const loaded = nextLoad(session)
  await abortable(session.send('Page.setDocumentContent', { frameId, html }), ended)
  await atMost(loaded, patience, ended)

  const sourceSize = turnsSourcePage(options) ? await abortable(evaluate(session, SOURCE_SIZE), ended) : undefined
  const css = pageRules(options, sourceSize)
  if (css === '' && HAS_TITLE.test(html) && !NAMES_FONTS.test(html)) return
  await atMost(evaluate(session, `(${FINISH})(${JSON.stringify(title)}, ${JSON.stringify(css)})`), patience, ended)
}

/** Waits for `work` while patience lasts, and goes on without it then. */
async function atMost(work: Promise<unknown>, patience: AbortSignal, ended: AbortSignal): Promise<void> {
  try {
    await abortable(work, AbortSignal.any([ended, patience]))
  } catch (error) {
    if (ended.aborted || !patience.aborted) throw error
  }
}

async function evaluate(session: CDPSession, expression: string): Promise<string> {
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression,
    awaitPromise: true,
    returnByValue: true,
  })
  if (exceptionDetails !== undefined) throw new Error(`a script of ours failed in the page: ${exceptionDetails.text}`)
  return String(result.value)
}

// The expressions are linear in the length of the HTML, which is hostile and up to 20 MiB long.
const HAS_TITLE = /<title>\s{0,9}[^<\s]/i
const NAMES_FONTS = /@font-face/i
/** What stays with the page when its document goes: the names of preferred style sheets, and pending refreshes. */
const TRACES = /http-equiv(?!\s{0,9}=\s{0,9}["']?(?:content-type|x-ua-compatible)["'\s>])|\stitle\s{0,9}=/i

function leavesTraces(html: string): boolean {
  return TRACES.test(html)
}

// Scripts of ours for the page. They call the prototypes, as `<img name="title">` would stand for `document.title` otherwise.

/** The size of the last `@page` rule that is for all pages, or ''. */
const SOURCE_SIZE = `(() => {
  let size = ''
  const look = (rules) => {
    for (const rule of rules) {
      if (rule instanceof CSSPageRule) size = (rule.selectorText === '' && rule.style.size) || size
      else if (rule.cssRules) look(rule.cssRules)
    }
  }
  for (const sheet of Object.getOwnPropertyDescriptor(Document.prototype, 'styleSheets').get.call(document)) {
    try { look(sheet.cssRules) } catch { /* a sheet from elsewhere, which did not load either */ }
  }
  return size
})()`

/**
 * Sets the title where there is none, adds the rules, and waits for the fonts the layout asks for. The rules stand first and
 * last: of two important declarations in `@page`, Chromium takes the first, where CSS has it that the last wins.
 */
const FINISH = `async (title, css) => {
  const own = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name)
  const root = Document.prototype.querySelector.call(document, ':root')
  if (own('title').get.call(document) === '') own('title').set.call(document, title)
  const styles = css === '' ? [] : [0, 1].map(() => Document.prototype.createElement.call(document, 'style'))
  for (const style of styles) style.textContent = css
  if (css !== '') root.prepend(styles[0]), root.append(styles[1])
  root.getBoundingClientRect()
  await own('fonts').get.call(document).ready
}`

async function print(session: CDPSession, document: PrintDocument, ended: AbortSignal): Promise<Uint8Array> {
  const { header, footer } = document
  const { stream } = await abortable(
    session.send('Page.printToPDF', {
      ...PAPER_DEFAULT,
      preferCSSPageSize: true,
      printBackground: true,
      generateTaggedPDF: false,
      generateDocumentOutline: false,
      // One page more than allowed tells that there are more, and the rest is not made.
      pageRanges: `1-${PDF_PAGES_MAX + 1}`,
      displayHeaderFooter: header !== undefined || footer !== undefined,
      headerTemplate: marginBox(header),
      footerTemplate: marginBox(footer),
      transferMode: 'ReturnAsStream',
    }),
    ended,
  )
  if (stream === undefined) throw new Error('Chromium printed without giving a stream')
  const pdf = await read(session, stream, ended)
  const pages = countPages(pdf)
  if (pages > PDF_PAGES_MAX) {
    throw new ServiceError('page_limit', `the document has more than the ${PDF_PAGES_MAX} pages that are allowed`)
  }
  return fixDates(pdf)
}

/** Chromium prints date and address where it is given no template, and text of size 0 where the template names no size. */
function marginBox(template: string | undefined): string {
  if (template === undefined) return '<span></span>'
  return `<div style="width: 100%; margin: 0 1cm; font: 9px sans-serif">${template}</div>`
}

/** In chunks, as one answer would be one string, and the longest there can be is in reach of a hostile document. */
async function read(session: CDPSession, handle: string, ended: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for (let eof = false; !eof; ) {
    const chunk = await abortable(session.send('IO.read', { handle, size: CHUNK_BYTES }), ended)
    const data = Buffer.from(chunk.data, chunk.base64Encoded === true ? 'base64' : 'latin1')
    bytes += data.length
    if (bytes > PDF_BYTES_MAX) {
      throw new ServiceError('template_error', `the PDF is larger than ${PDF_BYTES_MAX / 1024 / 1024} MiB`)
    }
    chunks.push(data)
    eof = chunk.eof
  }
  session.send('IO.close', { handle }).catch(() => undefined)
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/** What went wrong in the words of the catalog. By name, as importing puppeteer for its classes costs 0.2 s. */
function translate(error: unknown, ended: AbortSignal): unknown {
  if (ended.aborted) return ended.reason
  if (!(error instanceof Error)) return error
  if (error.name === 'TargetCloseError' || error.name === 'ConnectionClosedError') {
    return new ServiceError('render_crashed', 'the page ended while it rendered', { cause: error })
  }
  if (error.name === 'ProtocolError') {
    const reason = 'originalMessage' in error ? String(error.originalMessage) : error.message
    return new ServiceError('template_error', `Chromium could not print the document: ${reason}`, { cause: error })
  }
  return error
}
