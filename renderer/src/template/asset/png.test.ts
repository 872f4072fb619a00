import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { aDisc, aPng } from '../../../../test/fixture/asset.ts'
import { checkPng, widenPalette } from './png.ts'

/** The pixels of an image with one byte per pixel, without filters. */
function pixelsOf(png: Buffer): Buffer {
  const at = png.indexOf('IDAT')
  return inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))
}

test.for([1, 2, 4] as const)('gives a palette with transparency and %s bits a byte for each pixel', (bits) => {
  const widened = widenPalette(aDisc({ bits, transparency: [0, 255] }))
  expect(checkPng(widened)).toEqual({ width: 16, height: 16 })
  expect(pixelsOf(widened)).toEqual(pixelsOf(aDisc({ bits: 8, transparency: [0, 255] })))
})

test('takes off every filter, in every pass of an interlaced image', () => {
  const chunks = [['PLTE', Buffer.alloc(48)] as const, ['tRNS', Buffer.of(0)] as const]
  // Rows of four pixels with four bits each, always 1, 2, 3, 4.
  const rows = [
    [0, 0x12, 0x34],
    [1, 0x12, 0x22],
    [2, 0, 0],
    [3, 0x09, 0x11],
    [4, 0, 0],
  ]
  const png = aPng({ width: 4, height: 5, bits: 4, color: 3, chunks, pixels: Buffer.from(rows.flat()) })
  expect([...pixelsOf(widenPalette(png))]).toEqual(rows.flatMap(() => [0, 1, 2, 3, 4]))
  // In a 2 by 2 image, passes 1, 6 and 7 have rows, with one, one and two pixels.
  const interlaced = aPng({
    isInterlaced: true,
    bits: 4,
    color: 3,
    chunks,
    pixels: Buffer.of(0, 0x10, 0, 0x20, 0, 0x34),
  })
  expect([...pixelsOf(widenPalette(interlaced))]).toEqual([0, 1, 0, 2, 0, 3, 4])
})

test('leaves every other image as it is', () => {
  for (const png of [aPng(), aDisc({ bits: 8, transparency: [0] })]) expect(widenPalette(png)).toBe(png)
})
