/**
 * The step of text layout that breaks a paragraph into lines. react-pdf's own adds a hyphen wherever there is no blank, knows only scripts
 * with blanks, and lets a long word run out of its box.
 */
import type { AttributedString, LayoutOptions } from '@react-pdf/textkit'
import { isBrokenAnywhere } from '../../template/wrapping.ts'
import { isReordered, withMarks } from './direction.ts'
import { fitLines } from './fit.ts'
import { type MeasuredRun, measure, type Paragraph } from './paragraph.ts'
import { hyphenWidth, sliceLines } from './slice.ts'

/** Breaks a paragraph into lines of the given widths. The last width also stands for all lines after it. */
export function linebreaker(
  options: LayoutOptions,
): (paragraph: AttributedString, widths: readonly number[]) => AttributedString[] {
  const breakLines = linesOf(options)
  return (attributed, widths) => breakLines(attributed, widths).map(withMarks)
}

function linesOf(options: LayoutOptions): ReturnType<typeof linebreaker> {
  return (attributed, widths) => {
    const paragraph = measure(attributed)
    const { text, reach, segments } = paragraph
    const contentEnd = segments.contentEnds[segments.count - 1] ?? 0
    const end = keptEnd(text, contentEnd)
    if ((reach[contentEnd] ?? 0) <= (widths[0] ?? 0) || segments.count === 0) {
      const isWhole = end === attributed.string.length && !isReordered(attributed.runs)
      return isWhole ? [attributed] : sliceLines(paragraph, [{ start: 0, end, isHyphenated: false }])
    }
    const isJustified = attributed.runs[0]?.attributes.align === 'justify'
    const lines = fitLines(paragraph, {
      widths,
      hyphenAt: hyphens(paragraph),
      // A justified line is looser without a hyphen. Any other line just ends earlier.
      hyphenPenalty: options.hyphenationPenalty || (isJustified ? 100 : 600),
      isBrokenAnywhere: isBrokenAnywhere(options.hyphenationCallback),
    })
    const last = lines.pop()
    return sliceLines(paragraph, last === undefined ? lines : [...lines, { ...last, end }])
  }
}

/** Keeps blanks at the end of a paragraph: in a drawing they separate it from the next text. react-pdf lets only these hang. */
function keptEnd(text: string, contentEnd: number): number {
  let end = contentEnd
  while (text.charAt(end) === ' ') end += 1
  return end
}

function hyphens({ runs }: Paragraph): (offset: number) => number {
  let known: MeasuredRun | undefined
  let width = 0
  return (offset) => {
    const found = runEnding(runs, offset)
    if (found !== known) width = found === undefined ? 0 : hyphenWidth(found.run)
    known = found
    return width
  }
}

function runEnding(runs: readonly MeasuredRun[], offset: number): MeasuredRun | undefined {
  let low = 0
  let high = runs.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((runs[middle]?.end ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return runs[low]
}
