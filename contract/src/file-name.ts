/** The name under which a browser saves a PDF. */
import type { RenderRecord } from './render.ts'

/** The file name asked for, else one that says what it is and is nobody else's. */
export function fileNameOf({ id, template, options }: Pick<RenderRecord, 'id' | 'template' | 'options'>): string {
  return options.filename ?? `${template.code}-${id}.pdf`
}

/**
 * A Content-Disposition (RFC 6266) that shows the PDF and offers the name: as `filename*` for everyone, and for what does not
 * know that, as ASCII with `_` for the rest. The request schema has kept out control characters, quotes and separators.
 */
export function contentDisposition(fileName: string): string {
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_')
  // A lone half of a surrogate pair cannot be encoded; attr-char of RFC 8187 is narrower than what encodeURIComponent leaves.
  const encoded = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `inline; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
