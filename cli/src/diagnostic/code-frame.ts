/** The lines of a source around a place, as a person at a terminal reads them. Pure. */

/** A place in a text, and how its lines are numbered. */
export interface Excerpt {
  readonly text: string
  /** The number of the text's first line: 1, or where the text begins in its file. */
  readonly firstLine: number
  /** In the text itself, from 1. */
  readonly line: number
  readonly column?: number | undefined
}

/** Lines shown before and after the one that matters. */
const LINES_AROUND = 2

/** Characters shown of a line: terminals are wider, and what is further off is no help. */
const CHARS_MAX = 100
/** Characters before the column that matters, where the line is longer than that. */
const CHARS_BEFORE_MAX = 60

/**
 * The lines around a place, numbered, with a mark at its line and a caret under its column; none where the text has no such
 * line. Control characters are shown as �, since the text may be anybody's and the terminal obeys them.
 */
export function codeFrame({ text, firstLine, line, column }: Excerpt): readonly string[] {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const middle = lines[line - 1]
  if (middle === undefined) return []
  const from = Math.max(line - LINES_AROUND, 1)
  const to = Math.min(line + LINES_AROUND, lines.length)
  const digits = `${firstLine + to - 1}`.length
  const at = column === undefined ? 0 : Math.min(Math.max(column - 1, 0), middle.length)
  const start = middle.length > CHARS_MAX ? Math.max(at - CHARS_BEFORE_MAX, 0) : 0
  const row = (mark: string, number: string, content: string) =>
    `${mark} ${number.padStart(digits)} | ${content}`.trimEnd()
  const shown = lines.slice(from - 1, to).map((content, index) => {
    const number = from + index
    return row(number === line ? '>' : ' ', `${firstLine + number - 1}`, printable(content, start))
  })
  if (column === undefined) return shown
  const caret = row(' ', '', `${blanksAsWideAs(printable(middle, start).slice(0, at - start))}^`)
  return shown.toSpliced(line - from + 1, 0, caret)
}

function printable(content: string, start: number): string {
  return withoutControls(content.slice(start, start + CHARS_MAX))
}

/** What ends a line, moves the cursor or turns the direction of writing; a tab is one blank, so that columns stay columns. */
function withoutControls(text: string): string {
  return text.replaceAll('\t', ' ').replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '�')
}

/** Blanks as wide as the text: characters of two columns take two, and combining marks none. */
function blanksAsWideAs(text: string): string {
  return text
    .replace(/\p{M}/gu, '')
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/gu, '  ')
    .replace(/./gsu, ' ')
}
