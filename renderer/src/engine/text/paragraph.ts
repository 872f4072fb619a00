/**
 * Measures a paragraph for a line breaker: how wide each part is, and where a line may end. A **segment** is the text between two such
 * places, with the blanks at its end. These hang over the end of the line, and take no room there. Pure.
 */
import type { AttributedString, Run } from '@react-pdf/textkit'
import { breakOpportunities } from './rule/opportunities.ts'

/** Offsets count UTF-16 units of `text`. */
export interface Paragraph {
  readonly text: string
  readonly runs: readonly MeasuredRun[]
  /** How far the text reaches up to each offset, in points. */
  readonly reach: Float64Array
  /** The same for its spaces alone, which stretch and shrink. */
  readonly blank: Float64Array
  readonly segments: Segments
}

export interface MeasuredRun {
  readonly run: Run
  /** The offset of each glyph's first character. */
  readonly glyphStarts: Uint32Array
  readonly end: number
}

/** Each array has one entry per segment. Segments follow each other without a gap. */
interface Segments {
  readonly count: number
  readonly starts: Uint32Array
  /** Where the blanks at the end of the segment begin. */
  readonly contentEnds: Uint32Array
  readonly ends: Uint32Array
  /** 1 if a line that ends here shows a hyphen. */
  readonly hyphens: Uint8Array
}

/** Ignores the line feed that ends the paragraph. */
export function measure({ string, runs, syllables = [] }: AttributedString): Paragraph {
  const text = string.endsWith('\n') ? string.slice(0, -1) : string
  const advances = new Float64Array(text.length + 1)
  const measured = runs.map((run) => measureRun(text, run, advances))
  const reach = new Float64Array(text.length + 1)
  const blank = new Float64Array(text.length + 1)
  for (let at = 0; at < text.length; at += 1) {
    const advance = advances[at] ?? 0
    reach[at + 1] = (reach[at] ?? 0) + advance
    blank[at + 1] = (blank[at] ?? 0) + (text.charAt(at) === ' ' ? advance : 0)
  }
  return { text, runs: measured, reach, blank, segments: segmentsOf(text, runs, syllables) }
}

/** Adds the advance of each character of a run. The characters of one glyph share its advance equally. */
function measureRun(text: string, run: Run, advances: Float64Array): MeasuredRun {
  const { glyphs = [], positions = [] } = run
  const end = Math.min(run.end, text.length)
  const glyphStarts = new Uint32Array(glyphs.length)
  let start = Math.min(run.start, end)
  let next = start
  for (const [index, glyph] of glyphs.entries()) {
    const letters = glyph?.codePoints?.length ?? 0
    // A glyph without characters is a part of the one before.
    if (letters > 0) {
      start = next
      for (let letter = 0; letter < letters && next < end; letter += 1) next += widthOf(text.codePointAt(next))
    }
    glyphStarts[index] = start
    const advance = positions[index]?.xAdvance ?? 0
    const share = advance / Math.max(1, next - start)
    for (let at = start; at < next; at += 1) advances[at] = (advances[at] ?? 0) + share
  }
  return { run, glyphStarts, end }
}

function widthOf(codePoint = 0): number {
  return codePoint > 0xffff ? 2 : 1
}

/** Blanks that hang over the end of a line. A no-break space does not. */
function isBlank(unit: number): boolean {
  if (unit === 0x20 || unit === 0x09) return true
  if (unit < 0x1680) return false
  return unit === 0x1680 || (unit >= 0x2000 && unit <= 0x200b && unit !== 0x2007) || unit === 0x205f || unit === 0x3000
}

function segmentsOf(text: string, runs: readonly Run[], syllables: readonly string[]): Segments {
  const breaks = breakOpportunities(unmirrored(text, runs))
  markHyphens(text, syllables, breaks)
  let count = 0
  for (const kind of breaks) if (kind > 0) count += 1
  const starts = new Uint32Array(count)
  const contentEnds = new Uint32Array(count)
  const ends = new Uint32Array(count)
  const hyphens = new Uint8Array(count)
  let at = 0
  let start = 0
  for (let end = 1; end <= text.length; end += 1) {
    const kind = breaks[end] ?? 0
    if (kind === 0) continue
    let contentEnd = end
    while (contentEnd > start && isBlank(text.charCodeAt(contentEnd - 1))) contentEnd -= 1
    if (contentEnd === start && end < text.length) {
      // Blanks at the start of a paragraph are a part of its first word. All others end the word before.
      if (at > 0) {
        ends[at - 1] = end
        start = end
      }
      continue
    }
    starts[at] = start
    contentEnds[at] = contentEnd
    ends[at] = end
    hyphens[at] = kind === HYPHEN ? 1 : 0
    start = end
    at += 1
  }
  return { count: at, starts, contentEnds, ends, hyphens }
}

const HYPHEN = 2
const BETWEEN_LETTERS = /[\p{L}\p{M}\p{N}][\p{L}\p{N}]/uy

/** Marks where a word may be hyphenated: `wordHyphenation` leaves an empty syllable there. */
function markHyphens(text: string, syllables: readonly string[], breaks: Uint8Array): void {
  let at = 0
  for (const syllable of syllables) {
    if (syllable !== '') at += syllable.length
    else if (at > 0 && breaks[at] === 0 && isBetweenLetters(text, at)) breaks[at] = HYPHEN
  }
}

function isBetweenLetters(text: string, at: number): boolean {
  const isAstral = /[\udc00-\udfff]/.test(text.charAt(at - 1))
  BETWEEN_LETTERS.lastIndex = isAstral ? at - 2 : at - 1
  return BETWEEN_LETTERS.test(text)
}

const MIRRORED = new Map(
  ['()', '[]', '{}', '<>', '«»', '‹›'].flatMap(([one = '', other = '']) => [
    [one, other],
    [other, one],
  ]),
)

/** react-pdf has mirrored the brackets of right-to-left runs already. The rules want the original ones. */
function unmirrored(text: string, runs: readonly Run[]): string {
  if (runs.every(({ attributes }) => (attributes.bidiLevel ?? 0) % 2 === 0)) return text
  return runs
    .map(({ start, end, attributes }) => {
      const part = text.slice(start, end)
      if ((attributes.bidiLevel ?? 0) % 2 === 0) return part
      return part.replaceAll(/[()[\]{}<>«»‹›]/g, (bracket) => MIRRORED.get(bracket) ?? bracket)
    })
    .join('')
}
