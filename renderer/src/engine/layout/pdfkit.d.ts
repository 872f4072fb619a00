/** The parts of pdfkit that we use. It has no types of its own. */
declare module 'pdfkit' {
  /** An object of a PDF that is being written. */
  export interface PdfReference {
    data: Record<string, unknown>
    compress: boolean
    write(chunk: Uint8Array | string): void
    end(chunk?: Uint8Array | string): void
    /** Writes it into the file. */
    finalize(): void
  }

  /** A document that writes itself while it is drawn. Its constructor calls methods that a subclass overrides. */
  export default class PdfDocument<Options extends object> {
    constructor(options: Options)
    readonly options: Options
    readonly _root: { readonly data: Record<string, unknown> }
    /** Bytes written so far. */
    _offset: number
    get _font(): object | null
    set _font(font: object | null)
    _fontSource: unknown
    /** Sets the first font. Null means none. */
    initFonts(defaultFont: string | null): void
    font(source: object | string, size?: number): this
    fontSize(size: number): this
    ref(data?: object): PdfReference
    _write(data: Uint8Array | string): void
    /** Receives each chunk, and null at the end. */
    push(chunk: Uint8Array | null): boolean
  }
}
