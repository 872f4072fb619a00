import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readImage } from './image.ts'

function chunk(type: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  // Checksums are read by nobody here.
  return Buffer.concat([length, Buffer.from(type, 'latin1'), data, Buffer.alloc(4)])
}

interface PngFields {
  readonly width?: number
  readonly height?: number
  readonly isInterlaced?: boolean
  readonly pixels?: Uint8Array
}

/** An RGBA image of two by two transparent pixels, unless said otherwise. */
function aPng({ width = 2, height = 2, isInterlaced = false, pixels = Buffer.alloc(18) }: PngFields = {}): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 6, 0, 0, isInterlaced ? 1 : 0], 8)
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    magic,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The start of a JPEG up to its frame header. */
function aJpeg({ width = 3, height = 2 } = {}): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 17, 8, 0, 0, 0, 0, 3])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1]), frame])
}

function dataUrl(bytes: Uint8Array, type = 'png'): string {
  return `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`
}

test.for([
  ['a PNG', dataUrl(aPng()), 'png'],
  ['an interlaced PNG', dataUrl(aPng({ isInterlaced: true, pixels: Buffer.alloc(5 + 5 + 9) })), 'png'],
  ['a JPEG', dataUrl(aJpeg(), 'jpeg'), 'jpg'],
  ['a PNG that says it is a JPEG', dataUrl(aPng(), 'jpg'), 'png'],
] as const)('reads %s', ([, src, format]) => {
  expect(readImage(src).format).toBe(format)
})

test.for([
  ['a path', '/etc/passwd', /must be a data: URL/],
  ['a file URL', 'file:///etc/passwd', /must be a data: URL/],
  ['an SVG', dataUrl(Buffer.from('<svg/>'), 'svg+xml'), /must be a data: URL/],
  ['no bytes', 'data:image/png;base64,', /is empty/],
  ['another format', dataUrl(Buffer.from('GIF89a and more')), /neither PNG nor JPEG/],
  ['a PNG cut short', dataUrl(aPng().subarray(0, 45)), /is damaged/],
  ['a PNG of bad pixels', dataUrl(aPng({ pixels: Buffer.alloc(17) })), /is damaged/],
  ['a PNG with more pixels than it says', dataUrl(aPng({ pixels: Buffer.alloc(19) })), /is damaged/],
  ['a PNG with a filter there is not', dataUrl(aPng({ pixels: Buffer.alloc(18, 5) })), /is damaged/],
  ['a PNG of nothing', dataUrl(aPng({ width: 0 })), /has no pixels/],
  [
    'a PNG as large as a town',
    dataUrl(aPng({ width: 30_000, height: 30_000 })),
    /30000 × 30000 pixels; at most 25000000/,
  ],
  ['a JPEG cut short', dataUrl(aJpeg().subarray(0, 9), 'jpeg'), /is damaged/],
  ['a JPEG as large as a town', dataUrl(aJpeg({ width: 60_000, height: 60_000 }), 'jpeg'), /60000 × 60000 pixels/],
] as const)('refuses %s with asset_unavailable', ([, src, message]) => {
  expect(() => readImage(src)).toThrow(
    expect.objectContaining({ code: 'asset_unavailable', message: expect.stringMatching(message) }),
  )
})

test('names an image it refuses by its beginning', () => {
  expect(() => readImage(`https://example.com/${'a'.repeat(5000)}`)).toThrow(
    /^template\.tsx: image https:\/\/example\.com\/a{20}…: /,
  )
})

test('gives equal images equal names and others other names', () => {
  const [one, same, other] = [aPng(), aPng(), aPng({ pixels: Buffer.alloc(18, 1) })].map((png) =>
    String(readImage(dataUrl(png)).data),
  )
  expect(same).toBe(one)
  expect(other).not.toBe(one)
})
