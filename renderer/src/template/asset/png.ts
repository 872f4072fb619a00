/** Checks a PNG before anything unpacks it, and converts the kinds that pdfkit would draw wrongly. Pure. */
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { checkPixels, type PixelSize } from './pixel.ts'

const MAGIC_BYTES = 8
const PALETTE = 3
const SAMPLES_PER_PIXEL: Readonly<Record<number, number>> = { 0: 1, 2: 3, [PALETTE]: 1, 4: 2, 6: 4 }
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

/**
 * Reads the chunks, unpacks as many pixels as the header declares, and checks the filter of each row. Throws `ServiceError` with
 * `asset_unavailable`, and other errors for data that ends too early.
 */
export function checkPng(data: Buffer): PixelSize {
  const { size, rows, pixels } = readPng(data)
  let at = 0
  for (const { bytes, count } of rows) {
    for (let row = 0; row < count; row += 1, at += bytes) {
      if (pixels.readUInt8(at) >= FILTERS.length) throw damaged()
    }
  }
  return size
}

/**
 * Widens a palette image with transparency to one byte per pixel. pdfkit looks transparency up by byte, so an image with two, four or eight
 * pixels per byte would be garbled. Returns any other image unchanged. The image must have passed `checkPng`.
 */
export function widenPalette(data: Buffer): Buffer {
  if (data.readUInt8(25) !== PALETTE || data.readUInt8(24) === 8 || !chunksOf(data).has('tRNS')) return data
  const { rows, pixels, bits, chunks } = readPng(data)
  const widened: Buffer[] = []
  let at = 0
  for (const { bytes, count, width } of rows) {
    let above = Buffer.alloc(bytes - 1)
    for (let row = 0; row < count; row += 1, at += bytes) {
      above = unfiltered(pixels.subarray(at, at + bytes), above)
      widened.push(Buffer.of(0), spread(above, { bits, width }))
    }
  }
  const header = Buffer.from(data.subarray(16, 29))
  header.writeUInt8(8, 8)
  const kept = ['PLTE', 'tRNS'].map((type) => chunkOf(type, Buffer.concat(chunks.get(type) ?? [])))
  const body = chunkOf('IDAT', deflateSync(Buffer.concat(widened)))
  const magic = data.subarray(0, MAGIC_BYTES)
  return Buffer.concat([magic, chunkOf('IHDR', header), ...kept, body, chunkOf('IEND', Buffer.alloc(0))])
}

interface Png {
  readonly size: PixelSize
  readonly bits: number
  readonly chunks: Chunks
  /** The rows of each pass: their number, their bytes including the filter byte, and their pixels. */
  readonly rows: readonly { readonly bytes: number; readonly count: number; readonly width: number }[]
  /** All rows, unpacked, still filtered. */
  readonly pixels: Buffer
}

function readPng(data: Buffer): Png {
  if (data.toString('latin1', 12, 16) !== 'IHDR') throw damaged()
  const size = checkPixels({ width: data.readUInt32BE(16), height: data.readUInt32BE(20) })
  const [bits, color] = [data.readUInt8(24), data.readUInt8(25)]
  const samples = SAMPLES_PER_PIXEL[color]
  const chunks = chunksOf(data)
  const isKnown = samples !== undefined && [1, 2, 4, 8, 16].includes(bits)
  if (!isKnown || (color === PALETTE && !chunks.has('PLTE'))) throw damaged()
  const passes = data.readUInt8(28) === 1 ? ADAM7 : ([[0, 0, 1, 1]] as const)
  const rows = passes.flatMap(([x, y, dx, dy]) => {
    const width = Math.max(0, Math.ceil((size.width - x) / dx))
    const count = Math.max(0, Math.ceil((size.height - y) / dy))
    return width === 0 ? [] : [{ bytes: 1 + Math.ceil((width * bits * samples) / 8), count, width }]
  })
  const expected = rows.reduce((sum, { bytes, count }) => sum + bytes * count, 0)
  const pixels = inflateSync(Buffer.concat(chunks.get('IDAT') ?? []), { maxOutputLength: expected })
  if (pixels.length !== expected) throw damaged()
  return { size, bits, chunks, rows, pixels }
}

type Chunks = ReadonlyMap<string, readonly Buffer[]>

function chunksOf(data: Buffer): Chunks {
  const chunks = new Map<string, Buffer[]>()
  for (let at = MAGIC_BYTES; ; ) {
    const length = data.readUInt32BE(at)
    const type = data.toString('latin1', at + 4, at + 8)
    if (type === 'IEND') return chunks
    // A chunk that claims more bytes than there are would make its reader go beyond the end.
    if (at + 12 + length > data.length) throw damaged()
    const parts = chunks.get(type) ?? []
    parts.push(data.subarray(at + 8, at + 8 + length))
    chunks.set(type, parts)
    at += 12 + length
  }
}

function chunkOf(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(data.length + 12)
  whole.writeUInt32BE(data.length, 0)
  whole.write(type, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, -4)), data.length + 8)
  return whole
}

/** The five filters: what was subtracted from a byte, computed from the bytes to its left, above it, and above left. */
const FILTERS: readonly ((left: number, up: number, corner: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, up) => up,
  (left, up) => (left + up) >> 1,
  (left, up, corner) => {
    const [byLeft, byUp, byCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
    if (byLeft <= byUp && byLeft <= byCorner) return left
    return byUp <= byCorner ? up : corner
  },
]

/** Only for pixels of at most one byte. */
function unfiltered(row: Buffer, above: Buffer): Buffer<ArrayBuffer> {
  const restored = Buffer.alloc(above.length)
  const filter = FILTERS[row.readUInt8(0)]
  for (const [index, up] of above.entries()) {
    const left = restored[index - 1] ?? 0
    restored[index] = (row[index + 1] ?? 0) + (filter?.(left, up, above[index - 1] ?? 0) ?? 0)
  }
  return restored
}

/** One byte per pixel. */
function spread(row: Buffer, { bits, width }: { bits: number; width: number }): Buffer {
  const perByte = 8 / bits
  return Buffer.from(
    Array.from({ length: width }, (_, x) => {
      const byte = row[Math.floor(x / perByte)] ?? 0
      return (byte >> (8 - bits * ((x % perByte) + 1))) & ((1 << bits) - 1)
    }),
  )
}

function damaged(): ServiceError {
  return new ServiceError('asset_unavailable', 'the image is damaged')
}
