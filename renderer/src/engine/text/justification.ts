import { type AttributedString, type LayoutOptions, justification as ownJustification } from '@react-pdf/textkit'

/** In points. A smaller excess is a rounding error. */
const EXCESS_MIN = 0.01

/**
 * Stretches or shrinks a line as react-pdf does, and keeps it in its box. react-pdf shrinks a blank by one point at most, but its line
 * breaker counts on a third of the blank, which is more in large letters. The blanks take the rest.
 */
export function justification(options: LayoutOptions): (line: AttributedString) => AttributedString {
  const justify = ownJustification(options)
  return (line) => {
    const justified = justify(line)
    const positions = justified.runs.flatMap(({ positions: all = [] }) => all)
    const width = positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0)
    const excess = width - (justified.box?.width ?? width)
    if (!(excess > EXCESS_MIN)) return justified
    const blanks = justified.runs.flatMap(({ glyphs = [], positions: all = [] }) =>
      all.filter((_, at) => glyphs[at]?.codePoints.includes(BLANK) === true),
    )
    const room = blanks.reduce((sum, { xAdvance }) => sum + xAdvance, 0)
    // A blank that shrinks to less than half no longer separates words.
    const share = Math.min(excess / room, 1 / 2)
    if (room > 0) for (const blank of blanks) blank.xAdvance *= 1 - share
    return justified
  }
}

const BLANK = 0x20
