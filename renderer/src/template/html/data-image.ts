/**
 * Finds damaged images in `data:` URLs of filled HTML. Chromium draws the part that it has, and reports nothing for an image of a style.
 * Reads no pixels, so its time is linear in the length of the HTML. Pure.
 */
import { kindOf } from '../asset/kind.ts'

export interface DamagedImage {
  readonly url: string
  readonly why: 'unreadable' | 'cut'
}

/** Images named for one document. After these are mended, the next are named. */
const DAMAGED_MAX = 10

/** Each image once. */
export function damagedImages(html: string): readonly DamagedImage[] {
  if (!DATA.test(html)) return []
  const seen = new Set<string>()
  const damaged: DamagedImage[] = []
  for (const [url, media = '', base64, content = ''] of html.matchAll(IMAGE)) {
    if (damaged.length === DAMAGED_MAX) break
    if (seen.has(url)) continue
    seen.add(url)
    // Without base64 it is an SVG, and `IMAGE` ends at its first quote or bracket.
    const why =
      base64 === undefined || /svg/i.test(media) ? undefined : imageFault(Buffer.from(decoded(content), 'base64'))
    if (why !== undefined) damaged.push({ url, why })
  }
  return damaged
}

const DATA = /\bdata:image\//i
const IMAGE = /\bdata:image\/([\w.+-]{1,30})(?:;[\w=-]{1,30}){0,3}?(;base64),([^\s"'()<>\\]*)/gi

function decoded(content: string): string {
  return content.includes('%')
    ? content.replaceAll(/%([\da-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    : content
}

/** Finds only faults that show without reading pixels. */
export function imageFault(data: Buffer): DamagedImage['why'] | undefined {
  const kind = kindOf(data)
  // An unknown kind, such as AVIF.
  if (kind === undefined) return data.length === 0 ? 'unreadable' : undefined
  switch (kind) {
    case 'png':
      return pngFault(data)
    case 'jpeg':
      return jpegFault(data)
    case 'gif':
      return data.at(-1) === GIF_END ? undefined : 'cut'
    case 'webp':
      return data.readUInt32LE(4) + 8 > data.length ? 'cut' : undefined
    case 'svg':
    case 'ttf':
    case 'otf':
    case 'woff':
    case 'woff2':
      return undefined
  }
}

const GIF_END = 0x3b
const [PNG_MAGIC_BYTES, PNG_CHUNK_BYTES] = [8, 12]

function pngFault(data: Buffer): DamagedImage['why'] | undefined {
  let hasPixels = false
  for (let at = PNG_MAGIC_BYTES; at + PNG_CHUNK_BYTES <= data.length; at += PNG_CHUNK_BYTES + data.readUInt32BE(at)) {
    const type = data.toString('latin1', at + 4, at + 8)
    if (type === 'IEND') return hasPixels ? undefined : 'unreadable'
    hasPixels ||= type === 'IDAT'
  }
  return hasPixels ? 'cut' : 'unreadable'
}

/** Each segment up to the pixels has its length. The end marker must follow the pixels. */
function jpegFault(data: Buffer): DamagedImage['why'] | undefined {
  for (
    let at = 2;
    at + 4 <= data.length && data[at] === 0xff;
    at += data[at + 1] === 0xff ? 1 : 2 + data.readUInt16BE(at + 2)
  ) {
    if (data[at + 1] === JPEG_PIXELS) return data.includes(JPEG_END, at) ? undefined : 'cut'
  }
  return 'unreadable'
}

const JPEG_PIXELS = 0xda
const JPEG_END = Buffer.from([0xff, 0xd9])
