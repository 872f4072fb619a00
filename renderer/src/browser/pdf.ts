/** Reads and repairs what we need in a PDF from Chromium, without parsing more than necessary. Pure. */
import type { Instant } from '@platen/contract/brand.ts'
import { referenceOf } from '../pdf/syntax.ts'
import { openUpdate } from '../pdf/update.ts'

const DATE_KEYS = ['/CreationDate (D:', '/ModDate (D:']

/** Counts the pages from the root of the page tree. It never searches the document's own text. */
export function countPages(pdf: Uint8Array): number {
  const update = openUpdate(pdf)
  const tree = referenceOf(update.read(update.root).get('Pages') ?? '')
  return tree === undefined ? 0 : Number(update.read(tree).get('Count'))
}

/** Overwrites the dates in `pdf`, which Chromium writes in UTC, digit by digit, so that no offset moves. Returns the same bytes. */
export function setDates(pdf: Buffer, date: Instant): Buffer {
  const digits = new Date(date).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replaceAll(/\D/g, '')
  for (const key of DATE_KEYS) {
    const at = pdf.indexOf(key)
    // Texts in a PDF escape their parentheses, so no text of an author can look like this.
    if (at !== -1 && /^\d{14}/.test(pdf.toString('latin1', at + key.length, at + key.length + 14))) {
      pdf.write(digits, at + key.length, 'latin1')
    }
  }
  return pdf
}
