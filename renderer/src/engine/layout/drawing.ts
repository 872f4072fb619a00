import { once } from 'node:events'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { Instant } from '@platen/lib/brand.ts'
import draw from '@react-pdf/render'
import PdfDocument from 'pdfkit'
import type { Props } from '../../template/element/prop.ts'
import type { LayoutNode } from './inspect/layout-node.ts'

/**
 * Draws a document that react-pdf has laid out, in memory, on a document of pdfkit. `date` is the date of its creation and last change.
 * Throws `template_error` if the PDF is too large.
 */
export async function drawPdf(layout: LayoutNode, date: Instant): Promise<Uint8Array<ArrayBuffer>> {
  const props = layout.props ?? {}
  const pdf = new PdfDocument({ ...optionsOf(props, new Date(date)), ...fontOf(layout) })
  const { pageMode } = props
  // pdfkit has no option for it. react-pdf sets it in this way, too.
  if (typeof pageMode === 'string' && pageMode !== '')
    pdf._root.data['PageMode'] = pageMode.charAt(0).toUpperCase() + pageMode.slice(1)
  const chunks: Uint8Array[] = []
  let length = 0
  pdf.on('data', (chunk: Uint8Array) => {
    length += chunk.length
    chunks.push(chunk)
    // A destroyed stream keeps nothing that is drawn later.
    if (length > PDF_BYTES_MAX)
      pdf.destroy(new ServiceError('template_error', `the PDF has more than ${PDF_BYTES_MAX} bytes`))
  })
  // From the first chunk on, each one arrives while it is drawn: a PDF that is too large is never in memory as a whole.
  await once(pdf, 'data')
  // `draw` expects react-pdf's own types for the same objects. Another thread separates the alpha channel of transparent images.
  await Promise.all([once(pdf, 'end'), Promise.try(() => draw(pdf as never, layout as never))])
  // A buffer of its own, because it is transferred to another thread as a whole.
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/**
 * pdfkit makes its Helvetica for each document: a sixth of the time of a document with ten rows. Texts bring their own fonts. A form needs
 * one before there is a text, and pdfkit asks it for its height when it draws an image.
 */
function fontOf(layout: LayoutNode): object {
  return needsFont(layout) ? {} : { font: null }
}

function needsFont({ type, children }: LayoutNode): boolean {
  return !FONTLESS_TYPES.has(type ?? '') || (children ?? []).some(needsFont)
}

const FONTLESS_TYPES = new Set(['DOCUMENT', 'PAGE', 'VIEW', 'TEXT', 'TEXT_INSTANCE', 'LINK'])

/** `props` are the document props that `documentProps` has completed. */
function optionsOf(props: Props, date: Date) {
  const { title, author, subject, keywords, creator, producer } = props
  const info = {
    Title: title,
    Author: author,
    Subject: subject,
    Keywords: keywords,
    Creator: creator,
    Producer: producer,
    CreationDate: date,
    ModDate: date,
  }
  return {
    autoFirstPage: false,
    displayTitle: true,
    lang: props['language'],
    pdfVersion: props['pdfVersion'],
    pageLayout: props['pageLayout'],
    info: Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined)),
  }
}
