/** What there is to say and to mend of a PDF as Chromium writes it, without parsing it. Pure. */

/** The moment documents claim to be made at, as equal input is to give equal bytes: that of react_pdf's. */
const DATE = '20000101000000'

const DATE_KEYS = ['/CreationDate (D:', '/ModDate (D:']
const COUNT_KEY = '/Count '

/** The pages of a PDF. Skia writes its page tree in plain text; the root counts all, and what else looks like a count is smaller or the author's own doing. */
export function countPages(pdf: Buffer): number {
  let pages = 0
  for (let at = pdf.indexOf(COUNT_KEY); at !== -1; at = pdf.indexOf(COUNT_KEY, at + 1)) {
    const digits = /^\d{1,9}/.exec(pdf.toString('latin1', at + COUNT_KEY.length, at + COUNT_KEY.length + 9))?.[0]
    pages = Math.max(pages, Number(digits ?? 0))
  }
  return pages
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
