/**
 * Cuts lines out of a paragraph. Later steps of react-pdf index the characters and glyphs of a line; here both count UTF-16 units, as the
 * offsets of runs do. Linear: each glyph is copied once.
 */
import type { AttributedString, Glyph, Position, Run } from '@react-pdf/textkit'
import { endWithoutBlanks, isReordered } from './direction.ts'
import type { Line } from './fit.ts'
import type { MeasuredRun, Paragraph } from './paragraph.ts'

const HYPHEN = 0x2d

export function sliceLines(paragraph: Paragraph, lines: readonly Line[]): AttributedString[] {
  const { text, runs } = paragraph
  let first = 0
  return lines.map(({ start, end: wanted, isHyphenated }) => {
    while (first + 1 < runs.length && (runs[first]?.end ?? 0) <= start) first += 1
    let next = first + 1
    while (next < runs.length && (runs[next]?.run.start ?? 0) < wanted) next += 1
    const inLine = runs.slice(first, next)
    const end = isReordered(inLine.map(({ run }) => run)) ? endWithoutBlanks(text, start, wanted) : wanted
    const parts = inLine
      .filter(({ run }, at) => at === 0 || run.start < end)
      .map((measured) => sliceRun(text, measured, { start, end }))
    return isHyphenated ? withHyphen(text.slice(start, end), parts) : { string: text.slice(start, end), runs: parts }
  })
}

export function hyphenWidth(run: Run): number {
  return (hyphenOf(run)?.advanceWidth ?? 0) * (run.attributes.scale ?? 0)
}

/** If the font lacks the character, shows no hyphen rather than a box. */
function hyphenOf({ attributes: { font: [font] = [] } }: Run): Glyph | undefined {
  return font?.hasGlyphForCodePoint?.(HYPHEN) ? font.glyphForCodePoint(HYPHEN) : undefined
}

function withHyphen(text: string, runs: readonly Run[]): AttributedString {
  const last = runs.at(-1)
  const glyph = last && hyphenOf(last)
  if (last === undefined || glyph === undefined) return { string: text, runs: [...runs] }
  const { glyphs = [], positions = [], glyphIndices = [], stringIndices = [], end } = last
  const hyphenated: Run = {
    ...last,
    end: end + 1,
    glyphs: [...glyphs, glyph],
    positions: [...positions, { xAdvance: hyphenWidth(last), yAdvance: 0, xOffset: 0, yOffset: 0 }],
    glyphIndices: [...glyphIndices, end - last.start],
    stringIndices: [...stringIndices, glyphs.length],
  }
  return { string: `${text}-`, runs: [...runs.slice(0, -1), hyphenated] }
}

interface Span {
  readonly start: number
  readonly end: number
}

/** `starts`: where in the paragraph the characters of each glyph begin. */
interface Shape {
  readonly glyphs: Glyph[]
  readonly positions: Position[]
  readonly starts: number[]
}

function sliceRun(text: string, measured: MeasuredRun, line: Span): Run {
  const { run } = measured
  const start = Math.max(run.start, line.start)
  const end = Math.max(start, Math.min(measured.end, line.end))
  const { glyphs, positions, starts } = shapeBetween(text, measured, { start, end })
  const stringIndices: number[] = []
  for (const [glyph, from] of starts.entries()) {
    const to = starts[glyph + 1] ?? end
    for (let at = from; at < to; at += 1) stringIndices.push(glyph)
  }
  return {
    ...run,
    start: start - line.start,
    end: end - line.start,
    glyphs,
    positions,
    glyphIndices: starts.map((at) => at - start),
    stringIndices,
  }
}

/** A line may end between characters of one glyph, such as a ligature. Each line then gets its own glyphs for them. */
function shapeBetween(text: string, { run, glyphStarts, end: runEnd }: MeasuredRun, { start, end }: Span): Shape {
  const from = indexFrom(glyphStarts, start)
  let to = end === runEnd ? glyphStarts.length : indexFrom(glyphStarts, end)
  const head = Math.min(glyphStarts[from] ?? runEnd, end)
  const isCut = to > from && (glyphStarts[to] ?? runEnd) > end
  const tail = isCut ? (glyphStarts[to - 1] ?? end) : end
  if (isCut) to = indexFrom(glyphStarts, tail)
  const shapes: Shape[] = [
    ...(head > start ? [shape(text, run, { start, end: head })] : []),
    {
      glyphs: (run.glyphs ?? []).slice(from, to),
      positions: (run.positions ?? []).slice(from, to),
      starts: Array.from(glyphStarts.subarray(from, to)),
    },
    ...(tail < end ? [shape(text, run, { start: tail, end })] : []),
  ]
  const [only] = shapes
  if (shapes.length === 1 && only !== undefined) return only
  return {
    glyphs: shapes.flatMap(({ glyphs }) => glyphs),
    positions: shapes.flatMap(({ positions }) => positions),
    starts: shapes.flatMap(({ starts }) => starts),
  }
}

/** Index of the first of the sorted numbers that is not less. */
function indexFrom(sorted: Uint32Array, least: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** Sets characters of a run alone, as react-pdf set the run. */
function shape(text: string, { attributes }: Run, { start, end }: Span): Shape {
  const { font: [font] = [], features, scale = 0, characterSpacing = 0, yOffset = 0 } = attributes
  if (font === undefined) return { glyphs: [], positions: [], starts: [] }
  const part = text.slice(start, end)
  const run = font.layout(part, features, undefined, undefined, 'ltr')
  let next = start
  const starts = run.glyphs.map(({ codePoints }, index) => {
    const at = codePoints.length === 0 && index > 0 ? Math.max(start, next - 1) : next
    next = Math.min(end, next + codePoints.length)
    return Math.min(at, end)
  })
  const positions = run.positions.map(({ xAdvance, yAdvance, xOffset }) => ({
    xAdvance: xAdvance * scale + characterSpacing,
    yAdvance: yAdvance * scale,
    xOffset: xOffset * scale,
    yOffset: yOffset * (font.unitsPerEm ?? 0),
  }))
  return { glyphs: [...run.glyphs] as Glyph[], positions, starts }
}
