/** The warning about characters that no font of a document has. Pure. */
import type { Warning } from '@platen/contract/warning.ts'
import { MISSING_GLYPHS_NAMED_MAX } from '../limit.ts'

/** Controls, blanks, and what Unicode calls ignorable (joiners, variation selectors, soft hyphens). They are invisible. */
const INVISIBLE = /[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

/** Whether a reader misses this character if it is not drawn. */
export function isVisible(character: string): boolean {
  return !INVISIBLE.test(character)
}

/** The warning about `characters`: each is one code point, in document order. Undefined if there is nothing to warn about. */
export function missingGlyphs(characters: Iterable<string>): Warning | undefined {
  const distinct = Array.from(new Set(characters)).filter(isVisible)
  if (distinct.length === 0) return undefined
  const named = distinct.slice(0, MISSING_GLYPHS_NAMED_MAX).map((character) => `${character} (${nameOf(character)})`)
  const more = distinct.length > named.length ? ` and ${distinct.length - named.length} more` : ''
  return { code: 'missing_glyph', message: `no font of the document has ${named.join(', ')}${more}` }
}

/** The Unicode notation: `U+1F600`. */
function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
