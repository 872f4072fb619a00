/**
 * Checks an image file before anything draws it. If react-pdf cannot read a file, it prints a warning and leaves a gap. It also unpacks a
 * PNG of any claimed size, and throws on a bad PNG where nobody can catch the error.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { ImageKind } from './kind.ts'
import { checkPixels, type PixelSize } from './pixel.ts'
import { checkPng } from './png.ts'

/**
 * Returns the size, or undefined for an SVG, whose size is not needed. Reads PNG and JPEG completely. Reads only the headers of GIF (also
 * of its first frame) and WebP, because only a browser draws them. Throws `ServiceError` with `asset_unavailable`; the message does not
 * name the file.
 */
export function checkImage(kind: ImageKind, data: Buffer): PixelSize | undefined {
  try {
    switch (kind) {
      case 'png':
        return checkPng(data)
      case 'jpeg':
        return checkJpeg(data)
      case 'gif':
        return checkGif(data)
      case 'webp':
        return checkWebp(data)
      case 'svg':
        checkSvg(data)
        return undefined
    }
  } catch (cause) {
    throw cause instanceof ServiceError ? cause : refusal('the image is damaged', cause)
  }
}

/**
 * Like `checkImage`, for an image from another host that goes to a browser. Does not unpack a PNG, because that time grows with its pixels.
 */
export function checkImageHeader(kind: ImageKind, bytes: Uint8Array): PixelSize | undefined {
  // A private copy: the bytes may be shared memory, which cannot be decoded to text.
  const data = Buffer.from(bytes)
  if (kind !== 'png') return checkImage(kind, data)
  if (data.length < PNG_HEADER_BYTES) throw refusal('the image is damaged')
  return checkPixels({ width: data.readUInt32BE(16), height: data.readUInt32BE(20) })
}

const PNG_HEADER_BYTES = 24

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', reason, { cause })
}

/** Baseline, extended and progressive: the forms that PDF supports. */
const JPEG_FRAMES = [0xc0, 0xc1, 0xc2]
/** Three markers in this range are tables. */
const isOtherFrame = (marker: number) => marker >= 0xc3 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
const START_OF_SCAN = 0xda
const END_OF_IMAGE = Buffer.from([0xff, 0xd9])

/** Finds the frame header, the scan after it, and the end. The pixels are embedded unchanged. */
function checkJpeg(data: Buffer): PixelSize {
  let size: PixelSize | undefined
  for (let at = 2; ; ) {
    if (data.readUInt8(at) !== 0xff) throw refusal('the image is damaged')
    const marker = data.readUInt8(at + 1)
    // Any number of these bytes may precede a marker.
    if (marker === 0xff) {
      at += 1
      continue
    }
    if (isOtherFrame(marker)) throw refusal('the JPEG is of a form that a PDF cannot hold: save it as a baseline JPEG')
    if (JPEG_FRAMES.includes(marker)) size = checkFrame(data.subarray(at))
    at += 2 + data.readUInt16BE(at + 2)
    if (marker !== START_OF_SCAN) continue
    if (size === undefined || data.indexOf(END_OF_IMAGE, at) === -1) throw refusal('the image is damaged')
    return size
  }
}

function checkFrame(frame: Buffer): PixelSize {
  const [bits, channels] = [frame.readUInt8(4), frame.readUInt8(9)]
  if (bits !== 8 || ![1, 3, 4].includes(channels)) {
    throw refusal(`the JPEG has ${channels} channels of ${bits} bits; a PDF takes 1, 3 or 4 of 8`)
  }
  return checkPixels({ width: frame.readUInt16BE(7), height: frame.readUInt16BE(5) })
}

const [GIF_HEADER_BYTES, GIF_EXTENSION, GIF_FRAME] = [13, 0x21, 0x2c]

/** Chromium shows a GIF as large as its first frame, if that is larger than the header says. */
function checkGif(data: Buffer): PixelSize {
  const flags = data.readUInt8(10)
  const hasColors = (flags & 0x80) !== 0
  let at = GIF_HEADER_BYTES + (hasColors ? 3 * 2 ** ((flags & 7) + 1) : 0)
  for (; data.readUInt8(at) === GIF_EXTENSION; at += 1) {
    // After the label come blocks, each preceded by its length. A length of 0 ends them.
    at += 2
    while (data.readUInt8(at) !== 0) at += 1 + data.readUInt8(at)
  }
  if (data.readUInt8(at) !== GIF_FRAME) throw refusal('the image is damaged')
  return checkPixels({
    width: Math.max(data.readUInt16LE(6), data.readUInt16LE(at + 1) + data.readUInt16LE(at + 5)),
    height: Math.max(data.readUInt16LE(8), data.readUInt16LE(at + 3) + data.readUInt16LE(at + 7)),
  })
}

function checkWebp(data: Buffer): PixelSize {
  // The size field counts only the bytes after it.
  if (data.readUInt32LE(4) + 8 > data.length) throw refusal('the image is damaged')
  switch (data.toString('latin1', 12, 16)) {
    case 'VP8X':
      return checkPixels({ width: data.readUIntLE(24, 3) + 1, height: data.readUIntLE(27, 3) + 1 })
    case 'VP8L': {
      const bits = data.readUInt32LE(21)
      return checkPixels({ width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 })
    }
    case 'VP8 ':
      return checkPixels({ width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff })
    default:
      throw refusal('the image is damaged')
  }
}

/**
 * Finds the root and the end. Only a declaration, comments, blanks and a DOCTYPE may precede the root. A DOCTYPE with a part in brackets may
 * not, because it allows entities.
 */
function checkSvg(data: Buffer): void {
  const text = textOf(data)
  let at = 0
  for (;;) {
    at += /^\s*/.exec(text.slice(at, at + 10_000))?.[0].length ?? 0
    const end = text.startsWith('<?', at) ? '?>' : text.startsWith('<!--', at) ? '-->' : undefined
    if (end === undefined) {
      const [doctype] = DOCTYPE.exec(text.slice(at, at + DOCTYPE_CHARS_MAX)) ?? []
      if (doctype === undefined) break
      at += doctype.length
      continue
    }
    const ending = text.indexOf(end, at)
    if (ending === -1) throw refusal('the image is damaged')
    at = ending + end.length
  }
  if (/^<!DOCTYPE/i.test(text.slice(at, at + 10))) throw refusal('an SVG with a DOCTYPE is not taken: remove it')
  if (!/^<(?:\w+:)?svg[\s/>]/.test(text.slice(at, at + 100)))
    throw refusal('the file is not an SVG: its root is another element')
  if (!/(?:<\/(?:\w+:)?svg\s*|\/)>(?:\s|<!--[^<>]*-->)*$/.test(text.slice(Math.max(at, text.length - 10_000)))) {
    throw refusal('the image is cut short')
  }
}

/** A DOCTYPE without a part in brackets declares nothing. */
const DOCTYPE = /^<!DOCTYPE\s(?:[^"'[\]<>]|"[^"]*"|'[^']*')*>/i
const DOCTYPE_CHARS_MAX = 1000

function textOf(data: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch (cause) {
    throw refusal('an SVG must be text in UTF-8', cause)
  }
}
