import { expect, test } from 'vitest'
import { glyphCode, knownColor } from './drawing.ts'

test.for([
  [0, '0000'],
  [10, '000a'],
  [255, '00ff'],
  [65_535, 'ffff'],
] as const)('glyph %i is written as %s, the second time too', ([glyph, code]) => {
  expect(glyphCode(glyph)).toBe(code)
  expect(glyphCode(glyph)).toBe(code)
})

test('a document reads each of its colors once, and knows none of another document', () => {
  const read: unknown[] = []
  const parse = (color: unknown) => {
    read.push(color)
    return { value: String(color), opacity: 1 }
  }
  const [pdf, other] = [{}, {}]
  const values = [pdf, pdf, pdf, other].map((each, at) => knownColor(each, at === 1 ? 'blue' : 'red', parse).value)
  expect(values).toEqual(['red', 'blue', 'red', 'red'])
  expect(read).toEqual(['red', 'blue', 'red'])
})
