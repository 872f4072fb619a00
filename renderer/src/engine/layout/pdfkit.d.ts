/** The parts of pdfkit that we use. It has no types of its own. */
declare module 'pdfkit' {
  import type { Readable } from 'node:stream'

  /** It writes itself while it is drawn. */
  export default class PdfDocument extends Readable {
    constructor(options: object)
    readonly _root: { readonly data: Record<string, unknown> }
  }
}
