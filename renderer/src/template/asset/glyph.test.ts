import { expect, test } from 'vitest'
import { MISSING_GLYPHS_NAMED_MAX } from '../limit.ts'
import { missingGlyphs } from './glyph.ts'

test('names each character once, as Unicode does', () => {
  expect(missingGlyphs(['漢', '😀', '漢'])).toEqual({
    code: 'missing_glyph',
    message: 'no font of the document has 漢 (U+6F22), 😀 (U+1F600)',
  })
})

test.for([
  ['nothing', ''],
  ['a soft hyphen, a joiner and a variation selector', '\u00ad\u200d\ufe0f'],
  ['a line break and a blank', '\n\u2003'],
] as const)('says nothing of %s', ([, text]) => {
  expect(missingGlyphs(text)).toBeUndefined()
})

test('counts what it does not name', () => {
  const characters = Array.from({ length: MISSING_GLYPHS_NAMED_MAX + 3 }, (_, at) => String.fromCodePoint(0x4e00 + at))
  expect(missingGlyphs(characters)?.message).toMatch(/ and 3 more$/)
})
