/**
 * What is known of most texts without a look at each letter: western letters, digits and punctuation in one style. react-pdf asks Unicode
 * tables for the script and the direction of each letter, and looks for emoji and for characters that it leaves out.
 */

export interface Run {
  readonly start: number
  readonly end: number
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface Text {
  readonly string: string
  readonly runs: readonly Run[]
}

/** Latin letters, and of the characters of all scripts those that go with any direction. */
const PLAIN =
  /^[ -~\u00a0-\u00a8\u00ab\u00ac\u00af-\u00b4\u00b6-\u00b9\u00bb-\u024f\u2013\u2014\u2018-\u201e\u2026\u20ac]+$/
const LATIN = /[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]/

/** Whether no part of a text is an emoji, or left out. */
export function isPlain({ string }: { readonly string: string }): boolean {
  return PLAIN.test(string)
}

/** The runs of a plain text, as react-pdf's steps make them. Undefined where `plainParts` is. */
export function plainRuns(text: Text, substitute: Substitute) {
  const runs = plainParts(text, substitute)?.map(({ start, end, attributes }) => {
    return { start, end, attributes, stringIndices: [], glyphIndices: [], glyphs: [], positions: [] }
  })
  return runs && { string: text.string, runs }
}

/** Chooses the fonts of a text. */
type Substitute = (text: Text) => { readonly runs: readonly Run[] }

/**
 * The runs of a plain text: from its first letter on it is Latin. `substitute` chooses the fonts. Undefined for other texts, and for those
 * that need several fonts.
 */
export function plainParts({ string, runs }: Text, substitute: Substitute): readonly Run[] | undefined {
  const [run, ...others] = runs
  if (run === undefined || others.length > 0 || !PLAIN.test(string) || run.attributes['direction'] === 'rtl')
    return undefined
  const [font, ...fonts] = substitute({ string, runs }).runs
  if (font === undefined || fonts.length > 0 || font.start !== 0 || font.end !== string.length) return undefined
  const end = string.length
  const letter = string.search(LATIN)
  const script = letter < 0 ? 'Unknown' : 'Latin'
  const whole = { start: 0, end, attributes: { ...run.attributes, bidiLevel: 0, ...font.attributes, script } }
  if (letter <= 0) return [whole]
  const before = { ...run.attributes, bidiLevel: 0, ...font.attributes }
  return [
    { start: 0, end: letter, attributes: before },
    { ...whole, start: letter },
  ]
}
