/** What a file is by its first bytes, for those a document may show: what Chromium is told of an asset, whatever its name says. Pure. */

/** The media type of an image or font that Chromium shows, or undefined. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  // A copy: the bytes of an asset may be memory that is shared, which no text is made of.
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1')
  if (SVG.test(head)) return 'image/svg+xml'
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp'
  return SIGNATURES.find(([signature]) => head.startsWith(signature))?.[1]
}

/** Declarations and comments before the root of an SVG go on for some lines. */
const HEAD_BYTES = 4096

const SVG = /^(?:\xef\xbb\xbf)?\s*<(?:svg[\s>]|[?!][^]*<svg[\s>])/

const SIGNATURES = [
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF87a', 'image/gif'],
  ['GIF89a', 'image/gif'],
  ['\0\x01\0\0', 'font/ttf'],
  ['true', 'font/ttf'],
  ['OTTO', 'font/otf'],
  ['wOFF', 'font/woff'],
  ['wOF2', 'font/woff2'],
] as const
