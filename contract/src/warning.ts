/** What is wrong with a document that was printed nevertheless. */
/** What a successful render may warn of, and what each warning means. */
export const WARNINGS = {
  missing_glyph: 'The document has characters that none of its fonts has; the message names the first of them.',
  javascript_disabled:
    'The document has scripts, and its plan or its template does not allow page JavaScript, so none was run.',
  text_overflow: 'Text is outside its box or outside the page, so it covers something else or is cut off.',
  text_overlap: 'Something is drawn over text.',
  block_squashed: 'A block that must not break is higher than a page, so it was pressed together.',
  page_shrunk: 'The document is wider than its page, so all of it was printed smaller.',
  file_refused: 'An image, font, style sheet, script or frame was not loaded, because its address is not allowed.',
  file_damaged: 'An image, font, style sheet or script was loaded and cannot be used.',
  script_error: 'JavaScript of the page threw an error or wrote one to its console.',
  target_absent: 'A link names the page of a place in the document that is not there.',
  variable_absent: 'The template prints a variable that the data does not have.',
} as const satisfies Record<string, string>

/** `code` of an entry of `warnings` in a status record. */
export type WarningCode = keyof typeof WARNINGS

/** A problem of a document that was rendered anyway. */
export interface Warning {
  readonly code: WarningCode
  /** Where, if it is known: a source with line and column (`template.tsx:12:5`), or the page of the PDF (`page 3`). */
  readonly place?: string
  /** For people; at most `FAILURE_MESSAGE_CHARS_MAX` characters. */
  readonly message: string
}
