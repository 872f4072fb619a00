import { ServiceError } from '@platen/contract/domain/error.ts'
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { type CDPSession, type Protocol, ProtocolError } from 'puppeteer'
import { PDF_PAGES_MAX } from '../../limit.ts'
import { pageCountOf } from '../../pdf/page-count.ts'
import { PAGE_DEFAULT } from '../../template/html/page-css.ts'
import { ANSWER_TOO_LARGE } from '../message-reader.ts'
import { setDates } from '../pdf.ts'
import type { LoadedDocument, PrintDocument } from './load.ts'
import { SMALL_PAGES_MAX } from './small-pdf.ts'

export interface PrintedBeside
  extends Pick<PrintDocument, 'header' | 'footer' | 'date'>,
    Pick<LoadedDocument, 'sides'> {
  /** See `isSmall`. */
  readonly isSmall: boolean
}

const CHUNK_BYTES = 4 * 1024 * 1024

/** Prints the page of `session`, with header and footer in the margins of each page. Throws `page_limit` and `template_error`. */
export async function print(session: CDPSession, beside: PrintedBeside): Promise<Uint8Array> {
  const { header, footer, date } = beside
  const pdf = await printToPdf(session, beside.isSmall, {
    ...PAGE_DEFAULT,
    preferCSSPageSize: true,
    printBackground: true,
    generateTaggedPDF: false,
    generateDocumentOutline: false,
    displayHeaderFooter: header !== undefined || footer !== undefined,
    headerTemplate: marginBox(header, beside),
    footerTemplate: marginBox(footer, beside),
  })
  const pages = pageCountOf(pdf)
  if (pages > PDF_PAGES_MAX) {
    throw new ServiceError('page_limit', `the document has more than the ${PDF_PAGES_MAX} pages that are allowed`)
  }
  return setDates(pdf, date)
}

/** Without a template Chromium prints date and address. If the template names no font size, Chromium prints text of size 0. */
function marginBox(template: string | undefined, { sides: { left, right } }: PrintedBeside): string {
  if (template === undefined) return '<span></span>'
  return `<div style="width: 100%; margin: 0 ${right} 0 ${left}; font: 9px sans-serif">${template}</div>`
}

/** Chromium writes a stream to a file and reads it from there. For a small document, that takes a tenth of the time. */
async function printToPdf(session: CDPSession, isSmall: boolean, parameters: Parameters): Promise<Buffer> {
  const small = isSmall ? await printSmall(session, parameters) : undefined
  if (small !== undefined) return small
  const { stream } = await session.send('Page.printToPDF', {
    ...parameters,
    ...firstPages(PDF_PAGES_MAX),
    transferMode: 'ReturnAsStream',
  })
  if (stream === undefined) throw new Error('Chromium printed without giving a stream')
  return await readStream(session, stream)
}

type Parameters = Omit<Protocol.Page.PrintToPDFRequest, 'pageRanges' | 'transferMode'>

/** Undefined if the PDF is not small. Chromium then holds no more of it than the first pages. */
async function printSmall(session: CDPSession, parameters: Parameters): Promise<Buffer | undefined> {
  try {
    const { data } = await session.send('Page.printToPDF', {
      ...parameters,
      ...firstPages(SMALL_PAGES_MAX),
      transferMode: 'ReturnAsBase64',
    })
    const pdf = Buffer.from(data, 'base64')
    return pageCountOf(pdf) > SMALL_PAGES_MAX ? undefined : pdf
  } catch (error) {
    if (!(error instanceof ProtocolError && error.originalMessage === ANSWER_TOO_LARGE)) throw error
    return undefined
  }
}

/** One page above the limit shows that there are too many. Chromium does not make the rest. */
function firstPages(pagesMax: number): Pick<Protocol.Page.PrintToPDFRequest, 'pageRanges'> {
  return { pageRanges: `1-${pagesMax + 1}` }
}

/** Reads in chunks. One answer would be one string, and a hostile document can reach the maximum length of a string. */
async function readStream(session: CDPSession, handle: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for (let eof = false; !eof; ) {
    const chunk = await session.send('IO.read', { handle, size: CHUNK_BYTES })
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
