/**
 * Draws a laid-out document as a PDF. react-pdf draws with pdfkit, whose documents share nothing. Work that it would repeat for each
 * document or each run of letters is done once here. Its output stays in memory.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { PDF_BYTES_MAX } from '@platen/contract/limit.ts'
import draw from '@react-pdf/render'
import PdfDocument, { type PdfReference } from 'pdfkit'
import type { Props } from '../../template/element/prop.ts'
import type { LayoutNode } from './inspect/layout-node.ts'
import { PackedFont } from './subset-cache.ts'

/** Draws a document that react-pdf has laid out, with `date` as the date of its creation and last change. Throws `template_error` if the PDF is too large. */
export async function drawPdf(layout: LayoutNode, date: Instant): Promise<Uint8Array<ArrayBuffer>> {
  const { promise: drawn, resolve } = Promise.withResolvers<void>()
  const pdf = new Pdf({
    ...optionsOf(layout.props ?? {}, new Date(date)),
    chunks: [],
    fonts: new Map(),
    finish: resolve,
  })
  // Its parameters have react-pdf's own types for the same objects.
  draw(pdf as never, layout as never)
  // Another thread separates the alpha channel of transparent images.
  await drawn
  return pdf.bytes()
}

/** The options of pdfkit, from the document props that `documentProps` has completed. */
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
    pageMode: props['pageMode'],
    info: Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined)),
  }
}

/** Everything arrives with the options, because pdfkit's constructor calls the methods below before our fields exist. */
interface PdfOptions extends ReturnType<typeof optionsOf> {
  readonly chunks: Uint8Array[]
  readonly fonts: Map<object, object | null>
  /** The font of the next letters. */
  current?: object | undefined
  /** The font that was written last. Its ToUnicode CMap comes next. */
  packed?: PackedFont | undefined
  readonly finish: () => void
}

class Pdf extends PdfDocument<PdfOptions> {
  constructor(options: PdfOptions) {
    super(options)
    const { pageMode } = options
    if (typeof pageMode === 'string' && pageMode !== '')
      this._root.data['PageMode'] = pageMode.charAt(0).toUpperCase() + pageMode.slice(1)
  }

  bytes(): Uint8Array<ArrayBuffer> {
    // A buffer of its own, because it is transferred to another thread as a whole.
    const bytes = new Uint8Array(this._offset)
    let at = 0
    for (const chunk of this.options.chunks) {
      bytes.set(chunk, at)
      at += chunk.length
    }
    return bytes
  }

  /** Does not start with Helvetica. Few pages need it, and pdfkit parses it from text each time. */
  override initFonts(): void {
    super.initFonts(null)
  }

  /** Returns Helvetica anyway: for lengths in units of the font before the first text, and for forms. */
  override get _font(): object | null {
    if (this.options.current === undefined) this.font('Helvetica')
    return this.options.current ?? null
  }

  override set _font(font: object | null) {
    this.options.current = font ?? undefined
  }

  /** Each text has its own font object. pdfkit would make a font for each, and only then find that it already had it. */
  override font(source: object | string, size?: number): this {
    const origin: unknown = typeof source === 'string' ? source : Object.getPrototypeOf(source)
    if (typeof origin !== 'object' || origin === null) return super.font(source, size)
    const known = this.options.fonts.get(origin)
    if (known === undefined) {
      super.font(source, size)
      this.options.fonts.set(origin, this._font)
      return this
    }
    this._font = known
    this._fontSource = source
    return size === undefined ? this : this.fontSize(size)
  }

  override ref(data?: object): PdfReference {
    return data === undefined ? withPackedFonts(gathering(super.ref()), this.options) : gathering(super.ref(data))
  }

  override _write(data: Uint8Array | string): void {
    const chunk = typeof data === 'string' ? Buffer.from(`${data}\n`, 'latin1') : data
    this.options.chunks.push(chunk)
    this._offset += chunk.length
    if (this._offset > PDF_BYTES_MAX)
      throw new ServiceError('template_error', `the PDF has more than ${PDF_BYTES_MAX} bytes`)
  }

  override push(chunk: Uint8Array | null): boolean {
    if (chunk === null) this.options.finish()
    return true
  }
}

/** Turns what is written into bytes at the end. pdfkit does so for each operation of a page, letter by letter. */
function gathering(reference: PdfReference): PdfReference {
  let text = ''
  const write = reference.write.bind(reference)
  const finalize = reference.finalize.bind(reference)
  const flush = () => {
    if (text !== '') write(Buffer.from(text, 'latin1'))
    text = ''
  }
  reference.write = (chunk) => {
    if (typeof chunk === 'string') {
      text += `${chunk}\n`
      return
    }
    flush()
    write(chunk)
  }
  reference.finalize = () => {
    flush()
    finalize()
  }
  return reference
}

/** A font that was packed for an earlier document is already compressed, and so is its ToUnicode CMap. */
function withPackedFonts(reference: PdfReference, options: Pick<PdfOptions, 'packed'>): PdfReference {
  const end = reference.end.bind(reference)
  reference.end = (chunk) => {
    const { packed } = options
    if (typeof chunk !== 'string') options.packed = chunk instanceof PackedFont ? chunk : undefined
    if (chunk instanceof PackedFont) {
      reference.data['Filter'] = 'FlateDecode'
      reference.compress = false
      return end(chunk.deflated())
    }
    if (typeof chunk !== 'string' || packed === undefined || !chunk.startsWith(CMAP_START)) return end(chunk)
    // In the order in which pdfkit sets them.
    Object.assign(reference.data, { Length: 0, Filter: 'FlateDecode' })
    reference.compress = false
    end(packed.deflatedCMap(`${chunk}\n`))
  }
  return reference
}

const CMAP_START = '/CIDInit /ProcSet findresource begin'
