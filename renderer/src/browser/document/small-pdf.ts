/**
 * Predicts whether the PDF of a document is small. Such a PDF comes in one answer, for which Chromium's own process holds five times its
 * bytes. So a document must not be able to make a large PDF from little: an effect that Chromium draws as pixels may fill each page with
 * noise, some effects draw a text many times, and an image may have many more pixels than bytes.
 */
import type { Asset } from '@platen/contract/domain/tenant.ts'
import { checkImageHeader } from '../../template/asset/image.ts'
import { isFontKind, kindOf } from '../../template/asset/kind.ts'
import type { PrintDocument } from './load.ts'

type Document = Pick<PrintDocument, 'html' | 'header' | 'footer' | 'assets' | 'remote' | 'isScripted'>

/** HTML with header and footer: some 300 rows of a table. Longer documents gain nothing noticeable. */
const HTML_CHARS_MAX = 64 * 1024

/** All files of the template together. */
const ASSET_BYTES_MAX = 1024 * 1024

/** All images of the template together: each may be in the PDF with all its pixels. */
const PIXELS_MAX = 4_000_000

/** Content on one page is on each page again if it is fixed, or in the head of a table. */
export const SMALL_PAGES_MAX = 32

/**
 * Effects that draw pixels or draw a text again, embedded files, and all ways to write these in another form, except the special characters
 * that templates write themselves.
 */
const MAY_GROW =
  /<svg|filter|shadow|gradient|mask|blend|reflect|perspective|matrix3d|wavy|cross-fade|data:|\\|&(?!(?:amp|lt|gt|quot|apos|nbsp|#3[49]);)/i

/** The PDF may still turn out to be large. */
export function isSmall({ html, header = '', footer = '', assets, remote, isScripted }: Document): boolean {
  if (isScripted || remote !== undefined) return false
  if (html.length + header.length + footer.length > HTML_CHARS_MAX) return false
  if ([html, header, footer].some((text) => MAY_GROW.test(text))) return false
  const bytes = assets.reduce((sum, asset) => sum + asset.bytes.byteLength, 0)
  return bytes <= ASSET_BYTES_MAX && assets.reduce((sum, asset) => sum + pixelsOf(asset), 0) <= PIXELS_MAX
}

/** Keyed by the bytes of an asset: all documents of a template have the same. */
const pixels = new WeakMap<Uint8Array, number>()

function pixelsOf({ bytes }: Asset): number {
  const known = pixels.get(bytes) ?? countPixels(bytes)
  pixels.set(bytes, known)
  return known
}

/** Infinite if unknown. Chromium decides whether a damaged image can be shown. */
function countPixels(bytes: Uint8Array): number {
  const kind = kindOf(bytes)
  if (kind === undefined || isFontKind(kind)) return 0
  try {
    const size = checkImageHeader(kind, bytes)
    return size === undefined ? Number.POSITIVE_INFINITY : size.width * size.height
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
