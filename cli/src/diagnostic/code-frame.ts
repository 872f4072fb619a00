/** Shows the source lines around a position, for a person at a terminal. Pure. */

export interface Excerpt {
  readonly text: string
  /** Number of the first line: 1, or its line in the file that contains the text. */
  readonly firstLine: number
  /** Line within the text, from 1. */
  readonly line: number
  readonly column?: number | undefined
}

/** Lines shown before and after the position. */
const LINES_AROUND = 2

/** Characters shown of a line. Terminals are wider, and text further away does not help. */
const CHARS_MAX = 100
/** Characters shown before the column, where the line is longer than `CHARS_MAX`. */
const CHARS_BEFORE_MAX = 60

/**
 * Marks the line of the position, with a caret under its column. Returns nothing when the text has no such line. Control characters are
 * shown as �, because anybody may have written the text, and a terminal obeys them.
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

/**
 * Such characters end a line, move the cursor or change the direction of writing. A tab becomes one blank, so that columns stay correct.
 */
function withoutControls(text: string): string {
  return text.replaceAll('\t', ' ').replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '�')
}

/** Wide characters take two columns, combining marks none. */
function blanksAsWideAs(text: string): string {
  return text
    .replace(/\p{M}/gu, '')
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/gu, '  ')
    .replace(/./gsu, ' ')
}
