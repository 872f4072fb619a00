/** What react-pdf's drawing computes anew for each run of letters and each border. */
import { openDocumentMap } from './document-map.ts'

interface Color {
  readonly value: string
  readonly opacity: number
}

/** The colors of a document that is being drawn. */
const colors = openDocumentMap<object, Map<unknown, Color>>()

/** A color as `parse` reads it, read once for each document. A box with one border reads four. */
export function knownColor(pdf: object, color: unknown, parse: (color: unknown) => Color): Color {
  let ofDocument = colors.get(pdf)
  if (ofDocument === undefined) {
    ofDocument = new Map()
    colors.set(pdf, ofDocument)
  }
  const known = ofDocument.get(color)
  if (known !== undefined) return known
  const parsed = parse(color)
  ofDocument.set(color, parsed)
  return parsed
}

/** Four hexadecimal digits for each glyph of a subset that was drawn before. There are at most 65,536. */
const codes: string[] = []

/** The number of a glyph, as a PDF has it in a text. */
export function glyphCode(glyph: number): string {
  let code = codes[glyph]
  if (code === undefined) {
    code = `0000${glyph.toString(16)}`.slice(-4)
    codes[glyph] = code
  }
  return code
}
