import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { PackedFont } from './subset-cache.ts'

test('compresses the characters of a subset once, and anew where its glyphs stand for others', () => {
  const font = new PackedFont([1, 2, 3])
  const [first, again, other] = ['<0020>', '<0020>', '<00a0>'].map((text) => font.deflatedCMap(text))
  expect(again).toBe(first)
  expect([first, other].map((bytes) => inflateSync(bytes ?? '').toString())).toEqual(['<0020>', '<00a0>'])
})
