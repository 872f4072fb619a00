import type { Warning } from '@platen/contract/domain/warning.ts'
import type { Font } from 'fontkit'
import { EMOJI_FAMILY } from './font/default-fonts.ts'
import { fallbackFamilies } from './font/script.ts'

/** Characters a `missing_glyph` warning names: enough to know the script, few enough to read. */
export const MISSING_GLYPHS_NAMED_MAX = 10

/** Controls, blanks, and what Unicode calls ignorable (joiners, variation selectors, soft hyphens). They are invisible. */
const INVISIBLE = /[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

export function isVisible(character: string): boolean {
  return !INVISIBLE.test(character)
}

/**
 * Whether a font draws a character that it claims to have, or rightly draws nothing. A character table may name glyphs that the font does
 * not have, or that are empty though a reader expects to see something.
 */
export function isDrawn(font: Font, codePoint: number): boolean {
  // Through an object over the font, because a font keeps its glyphs.
  const { id, path } = Object.assign<Font, object>(Object.create(font), { _glyphs: {} }).glyphForCodePoint(codePoint)
  return id < font.numGlyphs && (path.commands.length > 0 || !isVisible(String.fromCodePoint(codePoint)))
}

export interface GlyphSource {
  readonly faces: readonly { readonly family: string }[]
  readonly locale?: string | undefined
}

/** `characters` are single code points in document order. Undefined if there is nothing to warn about. */
export function missingGlyphs(characters: Iterable<string>, { faces, locale }: GlyphSource): Warning | undefined {
  const distinct = Array.from(new Set(characters)).filter(isVisible)
  if (distinct.length === 0) return undefined
  const named = distinct.slice(0, MISSING_GLYPHS_NAMED_MAX).map((character) => `${character} (${nameOf(character)})`)
  const more = distinct.length > named.length ? ` and ${distinct.length - named.length} more` : ''
  const message = `no font of the document has ${named.join(', ')}${more}`
  const present = new Set(faces.map(({ family }) => family))
  const [absent] = distinct.flatMap((character) => absentFamily(character, present, locale) ?? [])
  const remedy = absent === undefined ? '' : `; this installation lacks the font ${absent}`
  return { code: 'missing_glyph', message: `${message}${remedy}` }
}

/** The first family for such a character, if it is not installed. */
function absentFamily(character: string, present: ReadonlySet<string>, locale: string | undefined): string | undefined {
  const isEmoji = /^\p{Emoji_Presentation}/u.test(character)
  const [first] = isEmoji ? [EMOJI_FAMILY] : fallbackFamilies(character, locale)
  return first === undefined || present.has(first) ? undefined : first
}

/** Unicode notation, such as `U+1F600`. */
function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
