/**
 * Expects of a document that its PDF is small. Such a PDF comes in one answer, for which Chromium has a few copies of it in memory. So a
 * document must not be able to make a large one from little: an effect that Chromium draws as pixels may fill each page with noise, and
 * so may an image that we have not looked at.
 */
import { mediaTypeOf } from '../../template/asset/kind.ts'
import type { PrintDocument } from './load.ts'

type Document = Pick<PrintDocument, 'html' | 'header' | 'footer' | 'assets' | 'remote' | 'isScripted'>

/** Of the document with its header and footer: some 300 rows of a table. What takes longer does not notice the gain. */
const HTML_CHARS_MAX = 64 * 1024

/** Of all files of its template together. */
const ASSET_BYTES_MAX = 1024 * 1024

/** Filters and files inside of the document; and, but for what templates write themselves of special characters, all ways to write them otherwise. */
const MAY_GROW = /filter|data:|\\|&(?!(?:amp|lt|gt|quot|apos|nbsp|#3[49]);)/i

/** Whether the PDF of a document is expected to be small. It may still turn out to be large. */
export function isSmall({ html, header = '', footer = '', assets, remote, isScripted }: Document): boolean {
  if (isScripted || remote !== undefined) return false
  if (html.length + header.length + footer.length > HTML_CHARS_MAX) return false
  if ([html, header, footer].some((text) => MAY_GROW.test(text))) return false
  const bytes = assets.reduce((sum, asset) => sum + asset.bytes.byteLength, 0)
  return bytes <= ASSET_BYTES_MAX && assets.every((asset) => mediaTypeOf(asset.bytes) !== 'image/svg+xml')
}
