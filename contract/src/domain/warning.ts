/**
 * Problems of a document that was printed nevertheless. Engines may find any number of them; `warnedOf` bounds them, and everything behind
 * the engines uses its result. Messages quote templates and data, so they are kept, sent and erased like messages of failures.
 */

import { FAILURE_MESSAGE_CHARS_MAX } from './limit.ts'

export const WARNINGS = {
  missing_glyph: 'The document has characters that none of its fonts has; the message names the first of them.',
  javascript_disabled:
    'The document has scripts, and its plan or its template does not allow page JavaScript, so none was run.',
  text_overflow: 'Something is outside its box or outside the page, so it covers something else or is cut off.',
  text_overlap: 'Something is drawn over text.',
  block_squashed: 'A block that must not break is higher than a page, so it was pressed together.',
  page_blank: 'A page is blank, because the first element after it begins a new page.',
  page_shrunk: 'The document is wider than its page, so all of it was printed smaller.',
  file_refused: 'An image, font, style sheet, script or frame was not loaded, because its address is not allowed.',
  file_damaged: 'An image, font, style sheet or script was loaded and cannot be used, or only in part.',
  image_absent: 'An image has no address, so nothing is drawn.',
  link_broken: 'A link leads nowhere in a PDF.',
  style_ignored:
    'A style, a value or a selector is not known to the engine, or not done on paper, so it has no effect.',
  font_absent: 'None of the font families that a style lists is there, so another one was taken.',
  markup_unclosed: 'A tag of the HTML is not closed, closes nothing, or has an attribute twice.',
  script_error: 'JavaScript of the page threw an error or wrote one to its console.',
  target_absent: 'A link names the page of a place in the document that is not there.',
  variable_absent: 'The template prints a variable that the data does not have, or that is no text.',
} as const satisfies Record<string, string>

/** `code` of an entry of `warnings` in a status record. */
export type WarningCode = keyof typeof WARNINGS

export const WARNING_CODES = Object.keys(WARNINGS) as readonly WarningCode[]

export interface Warning {
  readonly code: WarningCode
  /** If known: a source with line and column (`template.tsx:12:5`), or the page of the PDF (`page 3`). */
  readonly place?: string
  /** For people; at most `FAILURE_MESSAGE_CHARS_MAX` characters. */
  readonly message: string
}

/** Kept per render. Whoever has as many looks at the document. */
export const WARNINGS_MAX = 20

/** Of all messages of a render together: keeps its record far below the limit of a Kafka record, even if each character needs an escape. */
export const WARNING_CHARS_MAX = 4000

const PLACE_CHARS_MAX = 200

/** As stored and shown. */
export interface Warned {
  /** In document order, each once. Absent = none. */
  readonly warnings?: readonly Warning[]
  /** How many more there were. Absent = none. */
  readonly warningsOmitted?: number
}

/** Keeps the first distinct warnings, with their texts cut off. */
export function warnedOf(found: readonly Warning[]): Warned {
  const distinct = new Map<string, Warning>()
  for (const each of found) {
    const warning = bounded(each)
    distinct.set(JSON.stringify([warning.code, warning.place, warning.message]), warning)
  }
  const warnings: Warning[] = []
  let chars = 0
  for (const warning of distinct.values()) {
    chars += warning.message.length
    if (warnings.length === WARNINGS_MAX || chars > WARNING_CHARS_MAX) break
    warnings.push(warning)
  }
  const omitted = distinct.size - warnings.length
  return warningsIn({ warnings, warningsOmitted: omitted })
}

/** A cut may split a surrogate pair, which not every reader of JSON accepts. */
function bounded({ code, place, message }: Warning): Warning {
  return {
    code,
    ...(place !== undefined && { place: place.slice(0, PLACE_CHARS_MAX).toWellFormed() }),
    message: message.slice(0, FAILURE_MESSAGE_CHARS_MAX).toWellFormed(),
  }
}

/** Leaves out absent fields. */
export function warningsIn({ warnings = [], warningsOmitted = 0 }: Warned): Warned {
  return { ...(warnings.length > 0 && { warnings }), ...(warningsOmitted > 0 && { warningsOmitted }) }
}

/** As on the wire, in a status record and in a webhook. */
export function warningFieldsOf(warned: Warned): { warnings?: Warning[]; warnings_omitted?: number } {
  const { warnings, warningsOmitted } = warningsIn(warned)
  return {
    ...(warnings && { warnings: [...warnings] }),
    ...(warningsOmitted !== undefined && { warnings_omitted: warningsOmitted }),
  }
}

/** Counts those that are not kept, too. */
export function warningCountOf({ warnings = [], warningsOmitted = 0 }: Warned): number {
  return warnings.length + warningsOmitted
}

/** Of the kept warnings, each code once. */
export function warningCodesOf({ warnings = [] }: Warned): readonly WarningCode[] {
  return [...new Set(warnings.map(({ code }) => code))]
}

/** Why a strict render fails. */
export function documentWarnings(warned: Warned): { readonly code: 'document_warnings'; readonly message: string } {
  const { warnings = [], warningsOmitted } = warned
  const listed = warnings.map(({ code, place, message }) => [code, place, message].filter(Boolean).join(': '))
  const more = warningsOmitted === undefined ? [] : [`and ${warningsOmitted} more`]
  const number = warningCountOf(warned)
  const head = `the document has ${number} warning${number === 1 ? '' : 's'}, and strict allows none`
  const message = `${head}: ${[...listed, ...more].join('; ')}`.slice(0, FAILURE_MESSAGE_CHARS_MAX).toWellFormed()
  return { code: 'document_warnings', message }
}
