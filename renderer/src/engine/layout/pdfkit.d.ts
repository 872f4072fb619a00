/** What is used of pdfkit, which comes without types. */
declare module 'pdfkit' {
  /** An object of the PDF under way. */
  export interface PdfReference {
    data: Record<string, unknown>
    compress: boolean
    end(chunk?: Uint8Array | string): void
  }

  /** A document that writes itself while it is drawn. Its constructor calls what a subclass overrides. */
  export default class PdfDocument<Options extends object> {
    constructor(options: Options)
    readonly options: Options
    readonly _root: { readonly data: Record<string, unknown> }
    /** Bytes written. */
    _offset: number
    get _font(): object | null
    set _font(font: object | null)
    _fontSource: unknown
    /** The font to begin with; null for none. */
    initFonts(defaultFont: string | null): void
    font(source: object | string, size?: number): this
    fontSize(size: number): this
    ref(data?: object): PdfReference
    _write(data: Uint8Array | string): void
    /** Told null at the end. */
    push(chunk: Uint8Array | null): boolean
  }
}
