import type { RenderRecord } from './render.ts'

/** Ends in `.pdf`. Without a requested name it is made of template and id, and unique. */
export function fileNameOf({ id, template, options }: Pick<RenderRecord, 'id' | 'template' | 'options'>): string {
  const { filename = `${template.code}-${id}` } = options
  return filename.toLowerCase().endsWith('.pdf') ? filename : `${filename}.pdf`
}

/**
 * A Content-Disposition header (RFC 6266) that shows the PDF inline and suggests the name: `filename*` in full, and for older clients
 * `filename` in ASCII, with `_` for other characters. The request schema refuses control characters, quotes and separators.
 */
export function contentDisposition(fileName: string): string {
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_')
  // A lone surrogate cannot be encoded. The attr-char of RFC 8187 allows fewer characters than encodeURIComponent leaves.
  const encoded = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `inline; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
