/** What the commands have to say about a folder, and how it is printed: for people, their editors and `grep` alike. Pure. */
import { codeFrame, type Excerpt } from './code-frame.ts'

/** Where something stands: a file as it is named to a person, and in it a line and a column from 1. */
export interface Location {
  readonly file: string
  readonly line?: number
  readonly column?: number
  /** What to show of the text there. */
  readonly excerpt?: Excerpt
}

export interface Diagnostic extends Location {
  /** As `Template team-acme/invoice`. */
  readonly resource?: string
  /** A field, or a reason or code from one of the catalogs. */
  readonly subject?: string
  readonly message: string
  /** Worth knowing, and nothing wrong. */
  readonly isWarning: boolean
}

/**
 * A line for each, `file:line:column: resource: subject: message`, and the excerpt indented below it: of several at the same
 * place, below the last. Messages may hold what a template's author threw, and a terminal obeys control characters: there are
 * none in the answer.
 */
export function formatDiagnostics(diagnostics: readonly Diagnostic[]): readonly string[] {
  return diagnostics.flatMap((diagnostic, index) => {
    const next = diagnostics[index + 1]
    const isRepeated = next?.excerpt !== undefined && byLocation(diagnostic, next) === 0
    const frame = diagnostic.excerpt === undefined || isRepeated ? [] : codeFrame(diagnostic.excerpt)
    return [formatLine(diagnostic), ...frame.map((row) => `    ${row}`)]
  })
}

function formatLine({ file, line, column, resource, subject, message, isWarning }: Diagnostic): string {
  const at = [file, line, column].filter((part) => part !== undefined).join(':')
  const parts = [at, isWarning ? 'warning' : undefined, resource, subject, message]
  return withoutControls(parts.filter((part) => part !== undefined).join(': '))
}

/** A text on one line of a terminal, which neither moves the cursor nor turns the direction of writing. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
}

/** By file, then by line and column. */
export function byLocation(one: Location, other: Location): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
}

/** `1 page`, `2 pages`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** What was asked for cannot be done; `message` says what to ask for instead. */
export class UsageError extends Error {
  override readonly name = 'CalledWrongly'
}
