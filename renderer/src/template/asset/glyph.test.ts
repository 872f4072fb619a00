import { expect, test } from 'vitest'
import { facesWithoutLarge } from '../../../../test/fixture/asset.ts'
import { defaultFaces } from './font/default-fonts.ts'
import { MISSING_GLYPHS_NAMED_MAX, missingGlyphs } from './glyph.ts'

const source = { faces: defaultFaces() }
const small = { faces: facesWithoutLarge() }

test('names each character once, as Unicode does', () => {
  expect(missingGlyphs(['漢', '😀', '漢'], source)).toEqual({
    code: 'missing_glyph',
    message: 'no font of the document has 漢 (U+6F22), 😀 (U+1F600)',
  })
})

test.for([
  ['nothing', ''],
  ['a soft hyphen, a joiner and a variation selector', '\u00ad\u200d\ufe0f'],
  ['a line break and a blank', '\n\u2003'],
] as const)('says nothing of %s', ([, text]) => {
  expect(missingGlyphs(text, source)).toBeUndefined()
})

test('counts what it does not name', () => {
  const characters = Array.from({ length: MISSING_GLYPHS_NAMED_MAX + 3 }, (_, at) => String.fromCodePoint(0x4e00 + at))
  expect(missingGlyphs(characters, source)?.message).toMatch(/ and 3 more$/)
})

test.for([
  ['漢', undefined, 'Noto Sans SC'],
  ['漢', 'ja-JP', 'Noto Sans JP'],
  ['😀', undefined, 'Noto Emoji'],
] as const)('names the font that an installation would need for %s in %s: %s', ([character, locale, family]) => {
  const { message } = missingGlyphs([character], { ...small, locale }) ?? {}
  expect(message).toMatch(new RegExp(`; this installation lacks the font ${family}$`))
})

test('names no font for what none of them has', () => {
  expect(missingGlyphs(['\u{12000}'], small)?.message).toMatch(/\(U\+12000\)$/)
})
