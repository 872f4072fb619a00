/** Where the letters of a text are on its page. Pure. */
import type { Glyph } from '../font-store.ts'
import { type LayoutNode, type Line, lengthOf } from './layout-node.ts'
import { intersection, type Rectangle } from './rectangle.ts'
import type { Surroundings } from './surroundings.ts'

/** Characters of a text that a warning quotes. */
const QUOTED_CHARS_MAX = 30

export interface InkedLine {
  readonly line: Line
  /** The start of its first letter. */
  readonly x: number
  /**
   * From the base line up to the height of a small letter, without blanks at the ends. In every script most of a letter is there. Ascenders
   * and descenders of two lines may cross where lines are set closely, and stay legible.
   */
  readonly core: Rectangle
  readonly fontSize: number
  /** The share of the line's height that is below the box of its text. */
  readonly below: number
}

/** Height of a small letter: about half of the font size in all fonts. */
const SMALL_LETTER = 0.5

/** The lines that have letters and are not clipped away. */
export function inkedLines({ box, lines, alignOffset }: LayoutNode, around: Surroundings): readonly InkedLine[] {
  const x = around.box.left + lengthOf(box?.['paddingLeft']) - lengthOf(alignOffset)
  const y = around.box.top + lengthOf(box?.['paddingTop']) - lengthOf(lines?.[0]?.box?.y)
  return (lines ?? []).flatMap((line) => {
    const { box: lineBox, ascent, xAdvance, overflowLeft, runs = [] } = line
    const start = x + lengthOf(lineBox?.x)
    const end = start + lengthOf(xAdvance) - trailingWidth(line)
    const left = start + lengthOf(overflowLeft)
    const top = y + lengthOf(lineBox?.y)
    const bottom = top + lengthOf(ascent)
    const fontSize = runs.reduce((size, { attributes }) => Math.max(size, lengthOf(attributes?.fontSize)), 0)
    const ink = { left, top: bottom - fontSize * SMALL_LETTER, right: end, bottom }
    const core = left < end && fontSize > 0 ? intersection(ink, around.clip) : undefined
    if (core === undefined) return []
    const below = (top + lengthOf(lineBox?.height) - around.box.bottom) / Math.max(1, lengthOf(lineBox?.height))
    return [{ line, x: start, core, fontSize, below }]
  })
}

/** The width of what may stand beyond the end of a line: blanks, letter spacing, and the ellipsis, for which react-pdf makes no room. */
function trailingWidth({ string, overflowRight, runs }: Line): number {
  const { attributes, positions } = runs?.at(-1) ?? {}
  const ellipsis = string?.endsWith(ELLIPSIS) === true ? lengthOf(positions?.at(-1)?.xAdvance) : 0
  return lengthOf(overflowRight) + Math.max(0, lengthOf(attributes?.characterSpacing)) + ellipsis
}

/**
 * Whether the end of a text was left out because its box is too low. react-pdf then writes an ellipsis that nobody asked for, or nothing if
 * not even one line fits.
 */
export function isCutOff(text: LayoutNode): boolean {
  const { style, lines, wasSplit } = text
  if (style?.['maxLines'] !== undefined || style?.['textOverflow'] !== undefined || wasSplit === true) return false
  if (!lines) return false
  const last = lines.at(-1)
  if (last === undefined) return lettersIn(text).trim() !== ''
  // Not only at its end: a line from right to left does not end with it.
  return last.string?.includes(ELLIPSIS) === true && !lettersIn(text).includes(ELLIPSIS)
}

const ELLIPSIS = '…'

/** The letters of a text as its template wrote them. */
export function lettersIn({ value, children }: LayoutNode): string {
  return value ?? (children ?? []).map(lettersIn).join('')
}

export function quoted(text: string): string {
  const letters = Array.from(
    text
      .slice(0, 4 * QUOTED_CHARS_MAX)
      .replace(/[\s\p{C}]+/gu, ' ')
      .trim(),
  )
  const isLong = letters.length > QUOTED_CHARS_MAX || text.length > 4 * QUOTED_CHARS_MAX
  return `"${letters.slice(0, QUOTED_CHARS_MAX).join('')}${isLong ? ELLIPSIS : ''}"`
}

/** Where on a line there are letters or digits, in order. Signs and blanks do not count: forms are filled in upon those. */
export function letterSpans({ line: { runs = [] }, x }: InkedLine): readonly Span[] {
  const spans: Span[] = []
  let at = x
  for (const { glyphs = [], positions = [] } of runs) {
    for (const [index, { xAdvance }] of positions.entries()) {
      const end = at + xAdvance
      if (isLetter(glyphs[index])) spans.push([at, end])
      at = end
    }
  }
  return spans
}

export type Span = readonly [number, number]

function isLetter(glyph: Glyph | undefined): boolean {
  const codePoint = glyph?.codePoints[0]
  return codePoint !== undefined && /[\p{L}\p{N}]/u.test(String.fromCodePoint(codePoint))
}
