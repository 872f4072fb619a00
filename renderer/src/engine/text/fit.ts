/**
 * Chooses where the lines of a paragraph end. Text with blanks is set as a whole if possible: Knuth and Plass, "Breaking Paragraphs into
 * Lines" (1981), with the weights of react-pdf. All other text is set line by line. Pure.
 */
import type { Paragraph } from './paragraph.ts'

/** From the offset `start` to `end`. Blanks between `end` and the next line are not shown. */
export interface Line {
  readonly start: number
  readonly end: number
  readonly isHyphenated: boolean
}

interface Fit {
  /** The room of each line in points; the last entry also stands for all lines after it. */
  readonly widths: readonly number[]
  /** The width of a hyphen after an offset. */
  readonly hyphenAt: (offset: number) => number
  /** A full line costs nothing, a loose or tight one up to 100. */
  readonly hyphenPenalty: number
  /** Whether a word that is wider than a line may break at any letter. */
  readonly isBrokenAnywhere: boolean
}

/** A blank stretches by half of its width and shrinks by a third. */
const STRETCH = 1 / 2
const SHRINK = 1 / 3

/**
 * Above these, text is set line by line, because total fit takes time and memory for each pair of segments within a line. Text of a few
 * dozen pages stays below.
 */
const TOTAL_FIT_SEGMENTS_MAX = 20_000
const TOTAL_FIT_PAIRS_MAX = 4_000_000

/** How loose a line may be. The first tolerance that sets the paragraph is used. */
const TOLERANCES = [4, 9, 14, 19, 24, 29, 34, 39, 44, 49, 54]

/** Cost of a line that ends after a hyphen or slash of the text. */
const BREAK_PENALTY = 50

const INFINITE = 10_000

export function fitLines(paragraph: Paragraph, fit: Fit): Line[] {
  const ends = canFitInTotal(paragraph, fit) ? firstTotalFit(paragraph, fit) : []
  return ends.length > 0 ? linesOf(paragraph, ends) : fitLineByLine(paragraph, fit)
}

function firstTotalFit(paragraph: Paragraph, fit: Fit): readonly number[] {
  for (const tolerance of TOLERANCES) {
    const ends = fitInTotal(paragraph, fit, tolerance)
    if (ends.length > 0) return ends
  }
  return []
}

/** Only blanks stretch. So each line needs one, and no line may have a word that is too wide. */
function canFitInTotal({ text, reach, segments }: Paragraph, { widths }: Fit): boolean {
  const { count, starts, contentEnds, ends } = segments
  if (count > TOTAL_FIT_SEGMENTS_MAX) return false
  const room = Math.min(...widths)
  const total = reach[text.length] ?? 0
  if ((count * count * Math.max(...widths)) / Math.max(total, 1) > TOTAL_FIT_PAIRS_MAX) return false
  for (let at = 0; at < count; at += 1) {
    const start = starts[at] ?? 0
    const end = contentEnds[at] ?? 0
    if ((reach[end] ?? 0) - (reach[start] ?? 0) > room) return false
    const isUnspaced = end === ends[at] && at + 1 < count && segments.hyphens[at] === 0
    if (isUnspaced && LETTER_BEFORE.test(text.slice(Math.max(0, end - 2), end))) return false
  }
  return true
}

/** A line may end between letters only in scripts that are written without blanks. */
const LETTER_BEFORE = /[\p{L}\p{M}]$/u

function linesOf({ segments }: Paragraph, ends: readonly number[]): Line[] {
  let start = 0
  return ends.map((at) => {
    const line = { start, end: segments.contentEnds[at] ?? 0, isHyphenated: segments.hyphens[at] === 1 }
    start = segments.ends[at] ?? 0
    return line
  })
}

/** The best way to a place where a line may end. Candidates form a list in the order of their lines. */
interface Candidate {
  /** The segment that ends the line. -1 is the start of the paragraph. */
  readonly at: number
  readonly line: number
  /** 0 for a tight line to 3 for a very loose one. */
  readonly tightness: number
  readonly demerits: number
  readonly before: Candidate | undefined
  next: Candidate | undefined
  previous: Candidate | undefined
}

interface Best {
  demerits: number
  before: Candidate | undefined
}

/** The segments that end the lines. Empty if no way is within the tolerance. */
function fitInTotal(paragraph: Paragraph, fit: Fit, tolerance: number): readonly number[] {
  const { count } = paragraph.segments
  const list = { first: undefined as Candidate | undefined, last: undefined as Candidate | undefined }
  insert(list, { at: -1, line: 0, tightness: 0, demerits: 0, before: undefined }, undefined)
  for (let at = 0; at < count; at += 1) {
    let active = list.first
    while (active !== undefined) {
      const bests: Best[] = [0, 1, 2, 3].map(() => ({ demerits: Number.POSITIVE_INFINITY, before: undefined }))
      let line = 0
      while (active !== undefined) {
        line = active.line + 1
        const ratio = ratioOf({ paragraph, fit }, active, at)
        if (ratio < -1 || at === count - 1) remove(list, active)
        if (ratio >= -1 && ratio <= tolerance) weigh(bests, { before: active, at, ratio }, { paragraph, fit })
        active = active.next
        // Lines of the same width form one group, which keeps only its best candidates.
        if (active !== undefined && active.line >= line && line < fit.widths.length) break
      }
      for (const [tightness, { demerits, before }] of bests.entries()) {
        if (before !== undefined) insert(list, { at, line: before.line + 1, tightness, demerits, before }, active)
      }
    }
  }
  return endsOf(list.first)
}

function insert(
  list: { first: Candidate | undefined; last: Candidate | undefined },
  candidate: Omit<Candidate, 'next' | 'previous'>,
  next: Candidate | undefined,
): void {
  const previous = next === undefined ? list.last : next.previous
  const linked: Candidate = { ...candidate, next, previous }
  if (previous === undefined) list.first = linked
  else previous.next = linked
  if (next === undefined) list.last = linked
  else next.previous = linked
}

function remove(
  list: { first: Candidate | undefined; last: Candidate | undefined },
  { previous, next }: Candidate,
): void {
  if (previous === undefined) list.first = next
  else previous.next = next
  if (next === undefined) list.last = previous
  else next.previous = previous
}

interface Task {
  readonly paragraph: Paragraph
  readonly fit: Fit
}

/** How far the blanks of a line must stretch, or shrink if negative. */
function ratioOf({ paragraph, fit }: Task, { at: from, line }: Candidate, at: number): number {
  const { reach, blank, segments } = paragraph
  const start = from < 0 ? 0 : (segments.ends[from] ?? 0)
  const end = segments.contentEnds[at] ?? 0
  const room = roomOf(fit, line)
  const hyphen = segments.hyphens[at] === 1 ? fit.hyphenAt(end) : 0
  const width = (reach[end] ?? 0) - (reach[start] ?? 0) + hyphen
  const blanks = (blank[end] ?? 0) - (blank[start] ?? 0)
  if (width < room) {
    const stretch = blanks * STRETCH + (at === segments.count - 1 ? INFINITE : 0)
    return stretch > 0 ? (room - width) / stretch : INFINITE
  }
  if (width === room) return 0
  return blanks > 0 ? (room - width) / (blanks * SHRINK) : INFINITE
}

function roomOf({ widths }: Fit, line: number): number {
  return widths[Math.min(line, widths.length - 1)] ?? 0
}

interface Step {
  readonly before: Candidate
  readonly at: number
  readonly ratio: number
}

function demeritsOf({ before, at, ratio }: Step, { paragraph: { segments }, fit }: Task): number {
  const isLast = at === segments.count - 1
  const isFlagged = isLast || segments.hyphens[at] === 1
  const line = 10 + badness(ratio)
  let demerits = line * line
  if (!isLast && isFlagged) demerits += fit.hyphenPenalty * fit.hyphenPenalty
  else if (!isLast && segments.contentEnds[at] === segments.ends[at]) demerits += BREAK_PENALTY * BREAK_PENALTY
  if (isFlagged && before.at >= 0 && segments.hyphens[before.at] === 1) demerits += 100
  if (Math.abs(tightnessOf(ratio) - before.tightness) > 1) demerits += 3000
  return demerits + before.demerits
}

function badness(ratio: number): number {
  return 100 * Math.abs(ratio) ** 3
}

function tightnessOf(ratio: number): number {
  if (ratio < -0.5) return 0
  if (ratio <= 0.5) return 1
  return ratio <= 1 ? 2 : 3
}

function weigh(bests: readonly Best[], step: Step, task: Task): void {
  const best = bests[tightnessOf(step.ratio)]
  const demerits = demeritsOf(step, task)
  if (best === undefined || demerits >= best.demerits) return
  best.demerits = demerits
  best.before = step.before
}

/** The list has only ways to the end of the paragraph left. */
function endsOf(first: Candidate | undefined): readonly number[] {
  let best = first
  for (let other = first?.next; other !== undefined; other = other.next)
    if (best !== undefined && other.demerits < best.demerits) best = other
  const ends: number[] = []
  for (let way = best; way !== undefined && way.at >= 0; way = way.before) ends.push(way.at)
  return ends.toReversed()
}

/** Fills one line after the other. If a word is too wide, breaks it at the last letter that fits. */
function fitLineByLine(paragraph: Paragraph, fit: Fit): Line[] {
  const { segments, text } = paragraph
  const lines: Line[] = []
  let clusters: Intl.Segments | undefined
  for (let start = 0, from = 0; from < segments.count; ) {
    const room = roomOf(fit, lines.length)
    const { at, overflow } = bestEnd(paragraph, fit, { start, from, room })
    if (at !== undefined) {
      lines.push({ start, end: segments.contentEnds[at] ?? 0, isHyphenated: segments.hyphens[at] === 1 })
      start = segments.ends[at] ?? 0
      from = at + 1
      continue
    }
    clusters ??= new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)
    const end = Math.min(letterEnd(paragraph, clusters, { start, room }), segments.contentEnds[overflow] ?? 0)
    lines.push({ start, end, isHyphenated: false })
    start = end
    while (from < segments.count && (segments.contentEnds[from] ?? 0) <= end) {
      start = segments.ends[from] ?? 0
      from += 1
    }
  }
  return lines
}

function letterEnd(
  { reach, text }: Paragraph,
  clusters: Intl.Segments,
  { start, room }: Pick<OpenLine, 'start' | 'room'>,
): number {
  let end = start + 1
  while (end < text.length && (reach[end + 1] ?? 0) - (reach[start] ?? 0) <= room) end += 1
  const letter = clusters.containing(end)
  if (letter === undefined) return text.length
  return letter.index > start ? letter.index : letter.index + letter.segment.length
}

interface OpenLine {
  readonly start: number
  readonly from: number
  readonly room: number
}

/** The segment that ends a line best. Undefined if the line must end within a segment: `overflow` is the first that does not fit. */
function bestEnd(paragraph: Paragraph, fit: Fit, line: OpenLine): { at: number | undefined; overflow: number } {
  const { reach, blank, segments } = paragraph
  const { start, from, room } = line
  let best: number | undefined
  let least = Number.POSITIVE_INFINITY
  for (let at = from; at < segments.count; at += 1) {
    const end = segments.contentEnds[at] ?? 0
    const width = (reach[end] ?? 0) - (reach[start] ?? 0)
    const blanks = (blank[end] ?? 0) - (blank[start] ?? 0)
    if (width - blanks * SHRINK > room) {
      const canBreak = fit.isBrokenAnywhere && room > 0
      return { at: best ?? (canBreak ? undefined : from), overflow: at }
    }
    if (at === segments.count - 1) return { at, overflow: at }
    // react-pdf also counts the blank after the line, and looks no further if it does not fit.
    const next = segments.ends[at] ?? 0
    const blanksToNext = (blank[next] ?? 0) - (blank[start] ?? 0)
    if ((reach[next] ?? 0) - (reach[start] ?? 0) - blanksToNext * SHRINK > room) return { at: best ?? at, overflow: at }
    const isHyphenated = segments.hyphens[at] === 1
    if (isHyphenated && width + fit.hyphenAt(end) - blanks * SHRINK > room) continue
    const weight = isHyphenated
      ? badness(INFINITE) + fit.hyphenPenalty
      : badness(looseness(paragraph, { start, at, room }))
    if (weight > least) continue
    least = weight
    best = at
  }
  return { at: best, overflow: segments.count - 1 }
}

/** How loose a line is, with all blanks up to the next segment. react-pdf counts these, too. */
function looseness(
  { reach, blank, segments }: Paragraph,
  { start, at, room }: { start: number; at: number; room: number },
): number {
  const end = segments.ends[at] ?? 0
  const contentEnd = segments.contentEnds[at] ?? 0
  const width = (reach[end] ?? 0) - (reach[start] ?? 0)
  const blanks = (blank[end] ?? 0) - (blank[start] ?? 0)
  const inner = (blank[contentEnd] ?? 0) - (blank[start] ?? 0)
  if (width === room) return 0
  if (inner <= 0) return INFINITE
  return width < room ? (room - width) / (blanks * STRETCH) : (room - width) / (blanks * SHRINK)
}
