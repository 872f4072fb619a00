import { readFileSync } from 'node:fs'
import { assert, constantFrom, integer, oneof, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEJAVU_FAMILIES, defaultFaces, METRIC_FAMILIES } from '../../../template/asset/font/default-fonts.ts'
import { openFont } from '../../../template/asset/font/font-file.ts'
import { cachePairs, composeAm } from './shaping.ts'

/** The families whose pairs are cached. */
const families = [...DEJAVU_FAMILIES, ...METRIC_FAMILIES]

describe.for(defaultFaces().filter(({ family }) => families.includes(family)))('$family $weight $style', ({ file }) => {
  const font = openFont(readFileSync(file))
  const remembering = openFont(readFileSync(file))
  cachePairs(remembering)

  const set = (by: typeof font, text: string, features?: string[]) => {
    const { glyphs, positions, advanceWidth } = by.layout(text, features)
    return { advanceWidth, glyphs: glyphs.map(({ id }, at) => ({ id, ...positions[at] })) }
  }

  test.for([
    'AVATAR Tooth. Wolke, "Yves" – 1.234,56',
    'office affluent flöße ﬁn ĳ ŀ Łódź Þórður',
    'Zażółć gęślą jaźń, příliš žluťoučký kůň',
    'soft\u00adhyphen, no\u00a0break, tab\tand\nline',
    'e\u0301 a\u0308 combined',
    'Ελληνικά Привет ✓',
    '',
    ' ',
    '1',
  ])('sets "%s" as it did', (text) => {
    expect(set(remembering, text)).toEqual(set(font, text))
    // This time from the cache.
    expect(set(remembering, text)).toEqual(set(font, text))
  })

  test('sets any western text as it did', () => {
    const letter = integer({ min: 0x20, max: 0x180 }).map((codePoint) => String.fromCodePoint(codePoint))
    const word = string({
      unit: oneof(letter, constantFrom('f', 'i', 'l', 't', 'A', 'V', 'T', 'o', 'j', '.', ',')),
      maxLength: 12,
    })
    assert(
      property(word, (text) => {
        expect(set(remembering, text)).toEqual(set(font, text))
      }),
      { numRuns: 200 },
    )
  })

  test('goes by the features a style asks for', () => {
    expect(set(remembering, 'AVATAR', ['-kern'])).toEqual(set(font, 'AVATAR', ['-kern']))
  })
})

test('sets the Thai vowel AM as one glyph, and a tone mark in its form over the ring', () => {
  const face = defaultFaces().find(({ family }) => family === 'Noto Sans Thai')
  const font = openFont(readFileSync(face?.file ?? ''))
  const ring = font.layout('น\u0e4d้')
  composeAm(font)
  const { glyphs, positions, advanceWidth } = font.layout('น้ำ ทำ')
  const letters = glyphs.map(({ codePoints }) => String.fromCodePoint(...codePoints))
  expect(letters.join('')).toBe('น้ำ ทำ')
  expect([glyphs[1]?.id, positions[1]]).toEqual([ring.glyphs[2]?.id, ring.positions[2]])
  expect(glyphs[1]?.id).not.toBe(font.glyphForCodePoint('้'.charCodeAt(0)).id)
  expect(advanceWidth).toBe(glyphs.reduce((sum, glyph) => sum + glyph.advanceWidth, 0))
})
