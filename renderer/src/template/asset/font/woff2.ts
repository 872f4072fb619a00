/**
 * Unpacks WOFF2 (W3C recommendation "WOFF File Format 2.0"). WOFF2 splits outlines into streams that compress well. fontkit can lay out
 * such a font but not embed a part of it into a PDF: every letter is blank. So we rebuild the outlines here. Pure.
 */
import { brotliDecompressSync } from 'node:zlib'
import { part, type Tables, writeSfnt } from './sfnt.ts'
import { refuseLarge } from './woff.ts'

const HEADER_BYTES = 48
const KNOWN_TAGS =
  `cmap head hhea hmtx maxp name OS/2 post cvt_ fpgm glyf loca prep CFF_ VORG EBDT EBLC gasp hdmx kern LTSH PCLT VDMX
vhea vmtx BASE GDEF GPOS GSUB EBSC JSTF MATH CBDT CBLC COLR CPAL SVG_ sbix acnt avar bdat bloc bsln cvar fdsc feat fmtx fvar gvar
hsty just lcar mort morx opbd prop trak Zapf Silf Glat Gloc Feat Sill`
    .split(/\s/)
    .map((tag) => tag.replace('_', ' '))

interface Entry {
  readonly tag: string
  /** The length of the table itself. */
  readonly length: number
  /** Its length in the compressed data, if its form there is transformed. */
  readonly transformedLength?: number
}

/** Unpacks a font, after a check of its unpacked size. Throws as `unpackWoff` does. */
export function unpackWoff2(data: Buffer): Buffer {
  const stream = new Stream(data, HEADER_BYTES)
  const entries = Array.from({ length: data.readUInt16BE(12) }, () => entryOf(stream))
  const sizes = entries.map(({ length, transformedLength }) => transformedLength ?? length)
  refuseLarge(entries.map(({ length }) => length))
  refuseLarge(sizes)
  const size = sizes.reduce((sum, length) => sum + length, 0)
  const packed = part(data, stream.at, data.readUInt32BE(20))
  const unpacked = new Stream(brotliDecompressSync(packed, { maxOutputLength: size + 1 }))
  const parts = new Map(entries.map((entry, index) => [entry.tag, unpacked.take(sizes[index] ?? 0)]))
  return writeSfnt(data.readUInt32BE(4), restored(entries, parts))
}

function entryOf(stream: Stream): Entry {
  const flags = stream.byte()
  const known = KNOWN_TAGS[flags & 63]
  const tag = known ?? stream.take(4).toString('latin1')
  const length = stream.base128()
  const version = flags >> 6
  const isTransformed = tag === 'glyf' || tag === 'loca' ? version === 0 : version !== 0
  return { tag, length, ...(isTransformed && { transformedLength: stream.base128() }) }
}

function restored(entries: readonly Entry[], parts: Tables): Tables {
  const isTransformed = (tag: string) =>
    entries.some((entry) => entry.tag === tag && entry.transformedLength !== undefined)
  const tables = new Map(parts)
  const glyf = parts.get('glyf')
  if (glyf === undefined || !isTransformed('glyf')) return tables
  const outlines = outlinesOf(glyf)
  tables.set('glyf', Buffer.concat(outlines.glyphs))
  tables.set('loca', locaOf(outlines))
  refuseLarge([...tables.values()].map(({ length }) => length))
  const [hmtx, hhea] = ['hmtx', 'hhea'].map((tag) => parts.get(tag))
  if (hmtx !== undefined && hhea !== undefined && isTransformed('hmtx')) {
    tables.set('hmtx', metricsOf(hmtx, { advances: hhea.readUInt16BE(34), glyphs: outlines.glyphs }))
  }
  return tables
}

interface Outlines {
  /** The outline of each glyph in TrueType form, padded to an even number of bytes. */
  readonly glyphs: readonly Buffer[]
  /** True if `loca` holds offsets of four bytes; false if it holds half offsets of two bytes. */
  readonly isLong: boolean
}

function locaOf({ glyphs, isLong }: Outlines): Buffer {
  const loca = Buffer.alloc((glyphs.length + 1) * (isLong ? 4 : 2))
  let end = 0
  for (const [index, { length }] of glyphs.entries()) {
    end += length
    if (isLong) loca.writeUInt32BE(end, (index + 1) * 4)
    else loca.writeUInt16BE(end / 2, (index + 1) * 2)
  }
  return loca
}

/** The metrics omit side bearings that equal the left edge of the outline. */
function metricsOf(hmtx: Buffer, { advances, glyphs }: { advances: number; glyphs: readonly Buffer[] }): Buffer {
  const stream = new Stream(hmtx, 1)
  const flags = hmtx.readUInt8(0)
  const widths = stream.take(advances * 2)
  const restored = Buffer.alloc(advances * 4 + (glyphs.length - advances) * 2)
  for (const [index, glyph] of glyphs.entries()) {
    const isProportional = index < advances
    const isLeftOut = (flags & (isProportional ? 1 : 2)) !== 0
    const start = glyph.length === 0 ? 0 : glyph.readInt16BE(2)
    const bearing = isLeftOut ? start : stream.take(2).readInt16BE()
    const at = isProportional ? index * 4 : advances * 2 + index * 2
    if (isProportional) restored.writeUInt16BE(widths.readUInt16BE(index * 2), at)
    restored.writeInt16BE(bearing, isProportional ? at + 2 : at)
  }
  return restored
}

interface Streams {
  readonly contours: Stream
  readonly points: Stream
  readonly flags: Stream
  readonly coordinates: Stream
  readonly composites: Stream
  readonly boxes: Stream
  readonly instructions: Stream
  /** Whether the data includes the bounding box of that glyph. */
  readonly hasBox: (index: number) => boolean
}

function outlinesOf(glyf: Buffer): Outlines {
  const count = glyf.readUInt16BE(4)
  const stream = new Stream(glyf, 36)
  const next = (field: number) => new Stream(stream.take(glyf.readUInt32BE(field)))
  const [contours, points, flags, coordinates, composites] = [next(8), next(12), next(16), next(20), next(24)]
  const boxes = next(28)
  const instructions = next(32)
  const bitmap = boxes.take(4 * Math.ceil(count / 32))
  const hasBox = (index: number) => (bitmap.readUInt8(index >> 3) & (128 >> (index & 7))) !== 0
  const streams: Streams = { contours, points, flags, coordinates, composites, boxes, instructions, hasBox }
  const glyphs = Array.from({ length: count }, (_, index) => even(glyphOf(index, streams)))
  return {
    glyphs,
    isLong: glyf.readUInt16BE(6) !== 0 || glyphs.reduce((sum, { length }) => sum + length, 0) > 0x1_ffff,
  }
}

function even(glyph: Buffer): Buffer {
  return glyph.length % 2 === 0 ? glyph : Buffer.concat([glyph, Buffer.alloc(1)])
}

function glyphOf(index: number, streams: Streams): Buffer {
  const contours = streams.contours.take(2).readInt16BE()
  const box = streams.hasBox(index) ? streams.boxes.take(8) : undefined
  if (contours === 0) return Buffer.alloc(0)
  return contours > 0 ? simpleGlyph(contours, box, streams) : compositeGlyph(box, streams)
}

const COMPOSITE = {
  hasWords: 1,
  hasScale: 8,
  isMore: 32,
  hasTwoScales: 64,
  hasMatrix: 128,
  hasInstructions: 256,
} as const

function compositeGlyph(box: Buffer | undefined, { composites, coordinates, instructions }: Streams): Buffer {
  if (box === undefined) throw new RangeError('a composite glyph has no box')
  const components: Buffer[] = []
  let all = 0
  for (let flags: number = COMPOSITE.isMore; (flags & COMPOSITE.isMore) !== 0; all |= flags) {
    const head = composites.take(4)
    flags = head.readUInt16BE()
    const has = (bit: number) => (flags & bit) !== 0
    const scales = has(COMPOSITE.hasScale) ? 1 : has(COMPOSITE.hasTwoScales) ? 2 : has(COMPOSITE.hasMatrix) ? 4 : 0
    components.push(head, composites.take((has(COMPOSITE.hasWords) ? 4 : 2) + scales * 2))
  }
  const code = (all & COMPOSITE.hasInstructions) === 0 ? [] : codeOf(coordinates, instructions)
  return Buffer.concat([int16(-1), box, ...components, ...code])
}

function codeOf(coordinates: Stream, instructions: Stream): readonly Buffer[] {
  const length = coordinates.short255()
  return [int16(length), instructions.take(length)]
}

function simpleGlyph(contours: number, box: Buffer | undefined, streams: Streams): Buffer {
  let points = 0
  const ends = Array.from({ length: contours }, () => {
    points += streams.points.short255()
    return int16(points - 1)
  })
  const flags: number[] = []
  const steps: [number[], number[]] = [[], []]
  const extent = { x: 0, y: 0, xMin: 0x7fff, yMin: 0x7fff, xMax: -0x8000, yMax: -0x8000 }
  for (const flag of streams.flags.take(points)) {
    const { dx, dy } = stepOf(flag & 127, streams.coordinates)
    extent.x += dx
    extent.y += dy
    extent.xMin = Math.min(extent.xMin, extent.x)
    extent.yMin = Math.min(extent.yMin, extent.y)
    extent.xMax = Math.max(extent.xMax, extent.x)
    extent.yMax = Math.max(extent.yMax, extent.y)
    flags.push((flag < 128 ? 1 : 0) | written(dx, steps[0], 1) | written(dy, steps[1], 2))
  }
  const { xMin, yMin, xMax, yMax } = extent
  const bounds = box ?? Buffer.concat([xMin, yMin, xMax, yMax].map(int16))
  const code = codeOf(streams.coordinates, streams.instructions)
  return Buffer.concat([
    int16(contours),
    bounds,
    ...ends,
    ...code,
    ...[flags, ...steps].map((bytes) => Buffer.from(bytes)),
  ])
}

/** Appends a step along one axis in TrueType form and returns its flags: short and positive, short and negative, none, or long. */
function written(step: number, into: number[], shift: 1 | 2): number {
  if (step === 0) return 8 << shift
  const isShort = Math.abs(step) < 256
  if (isShort) into.push(Math.abs(step))
  else into.push(...int16(step))
  return isShort ? (1 << shift) | (step > 0 ? 8 << shift : 0) : 0
}

/** Reads a point relative to the last, in one to four bytes. This is the table of section 5.2, in the form that its rows share. */
function stepOf(flag: number, stream: Stream): { dx: number; dy: number } {
  const byte = () => stream.byte()
  const signed = (isPositive: number, length: number) => ((isPositive & 1) === 0 ? -length : length)
  if (flag < 10) return { dx: 0, dy: signed(flag, ((flag & 14) << 7) + byte()) }
  if (flag < 20) return { dx: signed(flag, (((flag - 10) & 14) << 7) + byte()), dy: 0 }
  if (flag < 84) {
    const [row, both] = [flag - 20, byte()]
    return {
      dx: signed(flag, 1 + (row & 0x30) + (both >> 4)),
      dy: signed(flag >> 1, 1 + ((row & 0x0c) << 2) + (both & 0x0f)),
    }
  }
  if (flag < 120) {
    const row = flag - 84
    return {
      dx: signed(flag, 1 + (Math.floor(row / 12) << 8) + byte()),
      dy: signed(flag >> 1, 1 + (((row % 12) >> 2) << 8) + byte()),
    }
  }
  if (flag < 124) {
    const [first, middle, last] = [byte(), byte(), byte()]
    return { dx: signed(flag, (first << 4) + (middle >> 4)), dy: signed(flag >> 1, ((middle & 0x0f) << 8) + last) }
  }
  return { dx: signed(flag, (byte() << 8) + byte()), dy: signed(flag >> 1, (byte() << 8) + byte()) }
}

function int16(value: number): Buffer {
  return Buffer.of((value >> 8) & 255, value & 255)
}

/** Reads bytes one after the other. Throws `RangeError` at the end. */
class Stream {
  readonly #data: Buffer
  at: number

  constructor(data: Buffer, at = 0) {
    this.#data = data
    this.at = at
  }

  take(length: number): Buffer {
    const taken = part(this.#data, this.at, length)
    this.at += length
    return taken
  }

  byte(): number {
    this.at += 1
    return this.#data.readUInt8(this.at - 1)
  }

  /** Reads a number of one to three bytes (255UInt16). */
  short255(): number {
    const first = this.byte()
    if (first === 253) return this.take(2).readUInt16BE()
    if (first === 255) return 253 + this.byte()
    return first === 254 ? 506 + this.byte() : first
  }

  /** Reads a number of one to five bytes with seven bits each (UIntBase128). */
  base128(): number {
    let value = 0
    for (let count = 0; count < 5; count += 1) {
      const byte = this.byte()
      value = value * 128 + (byte & 127)
      if (byte < 128) return value
    }
    throw new RangeError('a number has more than five bytes')
  }
}
