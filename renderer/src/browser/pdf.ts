/** What there is to say and to mend of a PDF as Chromium writes it, without reading more of it than that takes. Pure. */
import { referenceOf } from '../pdf/syntax.ts'
import { openUpdate } from '../pdf/update.ts'

/** The moment documents claim to be made at, as equal input is to give equal bytes: that of react_pdf's. */
const DATE = '20000101000000'

const DATE_KEYS = ['/CreationDate (D:', '/ModDate (D:']

/** The pages of a PDF, as the root of its page tree has them: what a document's own text says is never looked at. */
export function countPages(pdf: Uint8Array): number {
  const update = openUpdate(pdf)
  const tree = referenceOf(update.read(update.root).get('Pages') ?? '')
  return tree === undefined ? 0 : Number(update.read(tree).get('Count'))
}

/** Writes a fixed date over those in `pdf`, digit by digit, so that no offset moves. Returns the same bytes. */
export function fixDates(pdf: Buffer): Buffer {
  for (const key of DATE_KEYS) {
    const at = pdf.indexOf(key)
    // Texts of a PDF escape their parentheses, so none of an author's can look like this.
    if (at !== -1 && /^\d{14}/.test(pdf.toString('latin1', at + key.length, at + key.length + 14))) {
      pdf.write(DATE, at + key.length, 'latin1')
    }
  }
  return pdf
}
