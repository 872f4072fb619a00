/** Detects the kind of a file from its first bytes, whatever its name. Pure. */

export const ASSET_KINDS = {
  png: { name: 'a PNG image', extensions: ['png'], mediaType: 'image/png' },
  jpeg: { name: 'a JPEG image', extensions: ['jpg', 'jpeg'], mediaType: 'image/jpeg' },
  gif: { name: 'a GIF image', extensions: ['gif'], mediaType: 'image/gif' },
  webp: { name: 'a WebP image', extensions: ['webp'], mediaType: 'image/webp' },
  svg: { name: 'an SVG image', extensions: ['svg'], mediaType: 'image/svg+xml' },
  ttf: { name: 'a TrueType font', extensions: ['ttf'], mediaType: 'font/ttf' },
  otf: { name: 'an OpenType font', extensions: ['otf'], mediaType: 'font/otf' },
  woff: { name: 'a WOFF font', extensions: ['woff'], mediaType: 'font/woff' },
  woff2: { name: 'a WOFF2 font', extensions: ['woff2'], mediaType: 'font/woff2' },
} as const satisfies Record<string, { name: string; extensions: readonly string[]; mediaType: string }>

export type AssetKind = keyof typeof ASSET_KINDS
export type FontKind = 'ttf' | 'otf' | 'woff' | 'woff2'
export type ImageKind = Exclude<AssetKind, FontKind>

const FONT_KINDS: readonly AssetKind[] = ['ttf', 'otf', 'woff', 'woff2']

export function isFontKind(kind: AssetKind): kind is FontKind {
  return FONT_KINDS.includes(kind)
}

export function kindOfName(name: string): AssetKind | undefined {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  // The type is derived from the keys of the table.
  const kinds = Object.keys(ASSET_KINDS) as AssetKind[]
  return kinds.find((kind) => ASSET_KINDS[kind].extensions.some((known) => known === extension))
}

/** The kind of a file, or undefined. A file that begins with a tag counts as SVG; `image.ts` checks whether it is one. */
export function kindOf(bytes: Uint8Array): AssetKind | undefined {
  // A private copy: the bytes may be shared memory, which cannot be decoded to text.
  const head = Buffer.from(bytes.subarray(0, 1024)).toString('latin1')
  for (const [start, kind] of MAGIC) if (head.startsWith(start)) return kind
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'webp'
  return /^(?:\xef\xbb\xbf)?\s*<[?!a-z]/i.test(head) ? 'svg' : undefined
}

/** The media type that Chromium gets for a file, whatever its name. Undefined if no document may show it. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  const kind = kindOf(bytes)
  return kind && ASSET_KINDS[kind].mediaType
}

const MAGIC = [
  ['\x89PNG\r\n\x1a\n', 'png'],
  ['\xff\xd8\xff', 'jpeg'],
  ['GIF87a', 'gif'],
  ['GIF89a', 'gif'],
  ['\0\x01\0\0', 'ttf'],
  // Apple's tag for the same format.
  ['true', 'ttf'],
  ['OTTO', 'otf'],
  ['wOFF', 'woff'],
  ['wOF2', 'woff2'],
] as const

/** The name of a font collection. "Not a known format" would not tell authors what to do. */
export function collectionOf(bytes: Uint8Array): string | undefined {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (data.subarray(0, 4).equals(Buffer.from('ttcf'))) return 'a TrueType collection'
  // A resource fork of macOS: its data begins at byte 256, as in some icons too, and its map lists fonts.
  const isFork = data.length > 256 && data.readUInt32BE(0) === 256
  return isFork && data.includes('sfnt', data.readUInt32BE(4)) ? 'a macOS font suitcase (dfont)' : undefined
}
