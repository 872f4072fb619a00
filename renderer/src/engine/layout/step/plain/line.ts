/**
 * A plain text that fits in one line, as most cells of a table are. react-pdf takes it through some twenty steps, and each copies it. Here
 * it is set in one. Whatever is uncommon in it is left to react-pdf.
 */
import type { Font, Glyph, GlyphPosition } from 'fontkit'
import { plainParts, type Run, type Text } from './text.ts'

/** Where a text is set. Lengths are in points. */
interface Container {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly maxLines?: number | null | undefined
  readonly exclusions?: readonly unknown[] | undefined
}

/** A run with react-pdf's defaults. */
interface StyledRun extends Run {
  readonly attributes: Readonly<Record<string, unknown>> & {
    readonly font: readonly Font[]
    readonly features: string[]
    readonly fontSize: number
    readonly lineHeight: number | null
    readonly characterSpacing: number
    readonly alignLastLine: string
  }
}

/** What textkit has for these steps. */
export interface LineTools {
  readonly applyRunStyles: (run: Run) => StyledRun
  readonly substitute: (text: Text) => { readonly runs: readonly Run[] }
  readonly scaleOf: (run: Run) => number
  readonly heightOf: (run: Run) => number
  readonly ascentOf: (run: Run) => number
  readonly descentOf: (run: Run) => number
}

/** How much of the free room of a line is before it. A justified line has none. */
const ALIGNMENTS = new Map(Object.entries({ left: 0, center: 0.5, right: 1 }))

/** In font sizes. If a text fits only with narrower letters, it is not tried: it would be shaped twice. */
const LETTER_WIDTH = 0.45

/** The line of a text, as react-pdf's steps set it. Undefined if it has several lines, several styles or an uncommon one. */
export function plainLine({ string, runs }: Text, room: Container, tools: LineTools): object | undefined {
  const [only, ...others] = runs
  if (only === undefined || others.length > 0 || !isOneLine(room)) return undefined
  const run = tools.applyRunStyles(only)
  const { alignLastLine, fontSize, lineHeight } = run.attributes
  const alignment = ALIGNMENTS.get(alignLastLine)
  if (alignment === undefined || isMore(run) || string.length * fontSize * LETTER_WIDTH > room.width) return undefined
  // They have the attributes of the run.
  const parts = plainParts({ string, runs: [run] }, tools.substitute) as readonly StyledRun[] | undefined
  const set = parts && setRuns(string, parts, tools)
  if (set === undefined) return undefined
  const { reach, xAdvance, measures } = set
  const height = Math.max(measures.height, lineHeight ?? 0)
  const isFit = reach <= room.width && xAdvance <= room.width && height <= room.height
  if (!isFit) return undefined
  return {
    string,
    runs: set.runs,
    box: { x: room.x + (room.width - xAdvance) * alignment, y: room.y, width: room.width, height },
    overflowLeft: 0,
    overflowRight: 0,
    decorationLines: [],
    height: measures.height,
    ascent: measures.ascent,
    descent: Math.max(0, measures.descent),
    xAdvance,
  }
}

function isOneLine({ maxLines, exclusions = [] }: Container): boolean {
  return exclusions.length === 0 && (maxLines === undefined || maxLines === null || maxLines >= 1)
}

/** Whether there is more to a run than letters beside each other. */
function isMore({ attributes }: Run): boolean {
  return MORE.some((name) => Boolean(attributes[name]))
}

const MORE = ['attachment', 'indent', 'underline', 'strike', 'verticalAlign', 'yOffset']

interface SetRuns {
  readonly runs: readonly object[]
  /** Of each run. */
  readonly measures: { readonly height: number; readonly ascent: number; readonly descent: number }
  readonly xAdvance: number
  /** The same, added up without regard to runs: in the last bits it may differ. */
  readonly reach: number
}

/** Sets runs of one style. Undefined if a letter has no glyph, or if a blank begins or ends the line. */
function setRuns(string: string, runs: readonly StyledRun[], tools: LineTools): SetRuns | undefined {
  const [first] = runs
  const font = first?.attributes.font[0]
  if (first === undefined || font === undefined) return undefined
  const { features, characterSpacing, fontSize } = first.attributes
  const scale = tools.scaleOf(first)
  const measures = { height: tools.heightOf(first), ascent: tools.ascentOf(first), descent: tools.descentOf(first) }
  const set: object[] = []
  let [reach, width] = [0, 0]
  for (const run of runs) {
    const part = string.slice(run.start, run.end)
    const { glyphs, positions } = font.layout(part, features, undefined, undefined, 'ltr')
    const indices = indicesOf(glyphs, part)
    if (indices === undefined) return undefined
    if ((run === first && isBlank(glyphs[0])) || (run.end === string.length && isBlank(glyphs.at(-1)))) return undefined
    let xAdvance = 0
    for (const position of positions) {
      place(position, { scale, characterSpacing, fontSize })
      xAdvance += position.xAdvance
      reach += position.xAdvance
    }
    width += xAdvance
    set.push({
      start: run.start,
      end: run.end,
      attributes: run.attributes,
      ...measures,
      string: part,
      glyphs,
      positions,
      xAdvance,
      ...indices,
    })
  }
  return { runs: set, measures, xAdvance: width, reach }
}

interface Indices {
  /** Of the glyph of each letter. */
  readonly stringIndices: readonly number[]
  /** Of the first letter of each glyph. */
  readonly glyphIndices: readonly number[]
}

/** Which glyph belongs to which letters: a ligature has several. Undefined if a glyph has none, or a letter no glyph. */
function indicesOf(glyphs: readonly Glyph[], letters: string): Indices | undefined {
  const counts = glyphs.map(({ codePoints }) => codePoints.length)
  if (counts.includes(0) || counts.reduce((sum, count) => sum + count, 0) !== letters.length) return undefined
  if (glyphs.length === letters.length) {
    const same = indicesTo(glyphs.length)
    return { stringIndices: same, glyphIndices: same }
  }
  const stringIndices: number[] = []
  const glyphIndices = counts.map((count, at) => {
    const first = stringIndices.length
    for (let letter = 0; letter < count; letter++) stringIndices.push(at)
    return first
  })
  return { stringIndices, glyphIndices }
}

function isBlank(glyph: Glyph | undefined): boolean {
  return glyph?.codePoints[0] === BLANK
}

const BLANK = 0x20

/** The same list for all runs of one length, in all documents. */
function indicesTo(length: number): readonly number[] {
  const known = indices[length]
  if (known !== undefined) return known
  const made = Object.freeze(Array.from({ length }, (_, at) => at))
  if (length <= INDICES_MAX) indices[length] = made
  return made
}

const indices: (readonly number[])[] = []

/** Longer lines are rare. */
const INDICES_MAX = 200

interface Scaling {
  readonly scale: number
  readonly characterSpacing: number
  readonly fontSize: number
}

/** From units of the font to points, and the height to thousandths of the font size. In place: the font makes positions for each text. */
function place(position: GlyphPosition, { scale, characterSpacing, fontSize }: Scaling): void {
  position.xAdvance = position.xAdvance * scale + characterSpacing
  if (position.yAdvance !== 0) position.yAdvance *= scale
  if (position.xOffset !== 0) position.xOffset *= scale
  if (position.yOffset !== 0) position.yOffset = (position.yOffset * scale * 1000) / fontSize
}
