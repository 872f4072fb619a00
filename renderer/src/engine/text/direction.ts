/**
 * Corrects react-pdf's layout of text from right to left (https://github.com/diegomura/react-pdf/issues/747). It lays lines out in the
 * order in which they are read, and then reverses their parts. Pure.
 */
import type { AttributedString, Attributes, Position, Run } from '@react-pdf/textkit'

/**
 * Gives each run the side that its alignment means. react-pdf knows neither `start` nor `end`, and begins the last line of a justified text
 * at the left.
 */
export function withSides(text: AttributedString): AttributedString {
  if (text.runs.every(({ attributes }) => hasSide(attributes))) return text
  return { ...text, runs: text.runs.map((run) => ({ ...run, attributes: attributesWithSide(run.attributes) })) }
}

function hasSide({ align, direction }: Attributes): boolean {
  return align !== 'start' && align !== 'end' && (align !== 'justify' || direction !== 'rtl')
}

function attributesWithSide(attributes: Attributes): Attributes {
  const [start, end] = attributes.direction === 'rtl' ? ['right', 'left'] : ['left', 'right']
  if (attributes.align === 'start') return { ...attributes, align: start }
  if (attributes.align === 'end') return { ...attributes, align: end }
  return attributes.align === 'justify' ? { ...attributes, alignLastLine: start } : attributes
}

/** Whether react-pdf reverses any part of a line with these runs. */
export function isReordered(runs: readonly Run[]): boolean {
  return runs.some(({ attributes }) => (attributes.bidiLevel ?? 0) > 0)
}

/**
 * The end of a reordered line without its blanks. They have the direction of the paragraph, whatever the word before them has (UAX #9, rule
 * L1). react-pdf moves them along with the word, into the line. At the edge of a line they are invisible, so we leave them out.
 */
export function endWithoutBlanks(text: string, start: number, end: number): number {
  let last = end
  while (last > start && ' \t\n\r'.includes(text.charAt(last - 1))) last -= 1
  return last > start ? last : end
}

/**
 * The positions of glyphs as react-pdf draws them. It has the distance of a mark from its letter in points, but draws it as thousandths of
 * the font size (https://github.com/diegomura/react-pdf/issues/3381). In a reversed run a mark comes before its letter, so its distance
 * counts from where the letter begins, not from where it ends.
 */
export function withMarks(line: AttributedString): AttributedString {
  if (!line.runs.some(hasMarks)) return line
  return { ...line, runs: line.runs.map((run) => (hasMarks(run) ? { ...run, positions: markPositions(run) } : run)) }
}

function hasMarks({ positions = [] }: Run): boolean {
  return positions.some(({ xOffset }) => xOffset !== 0)
}

function markPositions({ glyphs = [], positions = [], attributes: { bidiLevel = 0, fontSize = 12 } }: Run): Position[] {
  const isReversed = bidiLevel % 2 === 1
  let advance = 0
  return positions.map((position, at) => {
    const { xAdvance, xOffset } = position
    const before = advance
    const isMark = glyphs[at]?.isMark === true
    advance = isMark ? advance + xAdvance : xAdvance
    if (xOffset === 0) return position
    return { ...position, xOffset: ((isReversed && isMark ? xOffset + before : xOffset) * 1000) / fontSize }
  })
}
