import { codeFrame, type Excerpt } from './code-frame.ts'

/** The file name is as shown to people. Line and column count from 1. */
export interface Location {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly excerpt?: Excerpt
}

export interface Diagnostic extends Location {
  /** For example `Template team-acme/invoice`. */
  readonly resource?: string
  /** A field, or a reason or code from a catalog. */
  readonly subject?: string
  readonly message: string
  readonly isWarning: boolean
  /** True for what the author asked to see, which is not a fault either. */
  readonly isNote?: boolean
}

/**
 * Formats each diagnostic as a line `file:line:column: resource: subject: message`, with the excerpt indented below. Several diagnostics at
 * the same position share one excerpt, below the last of them. A message may contain text that a template's author threw, and a terminal
 * obeys control characters: the result contains none.
 */
export function formatDiagnostics(diagnostics: readonly Diagnostic[]): readonly string[] {
  return diagnostics.flatMap((diagnostic, index) => {
    const next = diagnostics[index + 1]
    const isRepeated = next?.excerpt !== undefined && byLocation(diagnostic, next) === 0
    const frame = diagnostic.excerpt === undefined || isRepeated ? [] : codeFrame(diagnostic.excerpt)
    return [formatLine(diagnostic), ...frame.map((row) => `    ${row}`)]
  })
}

function formatLine({ file, line, column, resource, subject, message, isWarning, isNote }: Diagnostic): string {
  const at = [file, line, column].filter((part) => part !== undefined).join(':')
  const kind = isNote === true ? 'note' : isWarning ? 'warning' : undefined
  const parts = [at, kind, resource, subject, message]
  return withoutControls(parts.filter((part) => part !== undefined).join(': '))
}

/** Returns one line that cannot move the cursor or change the direction of writing. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
}

export function byLocation(one: Location, other: Location): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

export class UsageError extends Error {
  override readonly name = 'CalledWrongly'
}
