/**
 * A `data:` URL → image bytes that react-pdf can embed. Everything is looked at before react-pdf sees it: it prints a warning
 * and leaves a gap for what it cannot read, unpacks whatever size a PNG claims, and throws on a bad one out of anybody's reach.
 */
import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { ServiceError } from '@platen/contract/error.ts'
import { IMAGE_PIXELS_MAX } from '@platen/contract/limit.ts'

export interface ImageSource {
  readonly data: Buffer
  readonly format: 'png' | 'jpg'
  readonly width: number
  readonly height: number
}

/** Reads the image of a `src`. Throws `ServiceError` with `asset_unavailable`, naming the source, cut short. */
export function readImage(src: string): ImageSource {
  const match = /^data:image\/(?:png|jpe?g);base64,/i.exec(src)
  if (match === null) throw unusable(src, 'an image must be a data: URL of a PNG or JPEG in base64')
  const data = Buffer.from(src.slice(match[0].length), 'base64')
  if (data.length < 4) throw unusable(src, 'the image is empty')
  try {
    const format = isPng(data) ? 'png' : 'jpg'
    const size = format === 'png' ? checkPng(data) : checkJpeg(data)
    return { data: named(data), format, ...size }
  } catch (cause) {
    throw unusable(src, cause instanceof Refusal ? cause.message : 'the image is damaged', cause)
  }
}

class Refusal extends Error {}

function unusable(src: string, reason: string, cause?: unknown): ServiceError {
  const shown = src.length > 40 ? `${src.slice(0, 40)}…` : src
  return new ServiceError('asset_unavailable', `template.tsx: image ${shown}: ${reason}`, { cause })
}

/** react-pdf tells images apart by all their bytes as text, and embeds one once per document if it can; a digest says the same in 64 characters. */
function named(data: Buffer): Buffer {
  const digest = createHash('sha256').update(data).digest('hex')
  return Object.defineProperty(data, 'toString', { value: () => digest })
}

const PNG_MAGIC = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const SAMPLES_PER_PIXEL: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** Origin and step of the seven passes of an interlaced PNG. */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

function isPng(data: Buffer): boolean {
  return data.subarray(0, PNG_MAGIC.length).equals(PNG_MAGIC)
}

/** Walks the chunks, unpacks the pixels within what the header says, and looks at the filter of each row. */
function checkPng(data: Buffer): PixelSize {
  if (data.toString('latin1', 12, 16) !== 'IHDR') throw new Refusal('the image is damaged')
  const width = data.readUInt32BE(16)
  const height = data.readUInt32BE(20)
  const size = checkPixels(width, height)
  const samples = SAMPLES_PER_PIXEL[data.readUInt8(25)]
  if (samples === undefined) throw new Refusal('the image is damaged')
  const bitsPerPixel = data.readUInt8(24) * samples
  const passes = data.readUInt8(28) === 1 ? ADAM7 : ([[0, 0, 1, 1]] as const)
  const rows = passes.flatMap(([x, y, dx, dy]) => {
    const bytes = 1 + Math.ceil((Math.ceil((width - x) / dx) * bitsPerPixel) / 8)
    return bytes === 1 ? [] : [{ bytes, count: Math.max(0, Math.ceil((height - y) / dy)) }]
  })
  const expected = rows.reduce((sum, { bytes, count }) => sum + bytes * count, 0)
  const pixels = inflateSync(Buffer.concat(pixelChunks(data)), { maxOutputLength: expected })
  if (pixels.length !== expected) throw new Refusal('the image is damaged')
  let at = 0
  for (const { bytes, count } of rows) {
    for (let row = 0; row < count; row += 1, at += bytes) {
      if (pixels.readUInt8(at) > 4) throw new Refusal('the image is damaged')
    }
  }
  return size
}

function pixelChunks(data: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = PNG_MAGIC.length; ; ) {
    const length = data.readUInt32BE(at)
    const type = data.toString('latin1', at + 4, at + 8)
    if (type === 'IEND') return chunks
    // A chunk that claims more than there is would send its reader past the end.
    if (at + 12 + length > data.length) throw new Refusal('the image is damaged')
    if (type === 'IDAT') chunks.push(data.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
}

/** Finds the frame header (SOF0–SOF15 without the tables among them); the pixels are embedded as they are. */
function checkJpeg(data: Buffer): PixelSize {
  if (data.readUInt16BE(0) !== 0xffd8) throw new Refusal('the image is neither PNG nor JPEG')
  for (let at = 2; ; ) {
    if (data.readUInt8(at) !== 0xff) throw new Refusal('the image is damaged')
    const marker = data.readUInt8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return checkPixels(data.readUInt16BE(at + 7), data.readUInt16BE(at + 5))
    at += 2 + data.readUInt16BE(at + 2)
  }
}

type PixelSize = Pick<ImageSource, 'width' | 'height'>

function checkPixels(width: number, height: number): PixelSize {
  if (width === 0 || height === 0) throw new Refusal('the image has no pixels')
  if (width * height > IMAGE_PIXELS_MAX) {
    throw new Refusal(`the image has ${width} × ${height} pixels; at most ${IMAGE_PIXELS_MAX} are allowed`)
  }
  return { width, height }
}
