import { expect, test } from 'vitest'
import { aFontOf, anAsset, facesWithoutLarge } from '../../../../test/fixture/asset.ts'
import { aRenderWork } from '../../../../test/fixture/render/work.ts'
import { isVisible } from '../asset/glyph.ts'
import { FONT_COVERAGE_CHARS_MAX, openGlyphScan } from './coverage.ts'
import { PLAIN } from './plain.ts'

/** Without the large fonts, so that Han is missing. */
const scan = openGlyphScan(facesWithoutLarge())
const HAN = anAsset('han.ttf', aFontOf('漢'))
const work = aRenderWork({
  assets: [HAN],
  template: { fonts: [{ family: 'Han', weight: 400, style: 'normal', asset: 'han.ttf' }] },
})

test('takes no character for plain that the fonts of the service have not', async () => {
  const defaults = new RegExp(`[${(await scan.coverageFor('漢', work))?.defaults}]`, 'u')
  const plain = Array.from({ length: 0xffff }, (_, code) => String.fromCodePoint(code)).filter((character) =>
    new RegExp(`[${PLAIN}]`, 'u').test(character),
  )
  expect(plain.length).toBeGreaterThan(2000)
  const assigned = plain.filter((character) => isVisible(character) && /\P{Cn}/u.test(character))
  expect(assigned.filter((character) => !defaults.test(character))).toEqual([])
})

test.for([
  ['Zażółć €&#8364;&#x2713;&nbsp;', ''],
  // Not plain, and still in the fonts.
  ['\u{1d538}ﬁ', ''],
  ['a漢b字漢', '漢字'],
  ['&#28450;&#x6F22&#x5b57;', '漢字'],
  ['&#9999999;&#x110000;&#xd800;', ''],
  ['\u{1f9ff}\ufe0f', '\u{1f9ff}'],
])('of %s no font has %s', async ([html = '', missing]) => {
  expect(await scan.missingIn(html)).toBe(missing)
})

test('knows what the fonts of a template have, where that is of use', async () => {
  expect(await scan.coverageFor('plain ✓', work)).toBeUndefined()
  const [font] = (await scan.coverageFor('漢', work))?.fonts ?? []
  const own = new RegExp(`[${font?.characters}]`, 'u')
  expect([font?.families, own.test('漢'), own.test('字')]).toEqual([['Han'], true, false])
})

test.for<[string, number]>([
  ['empty', 3],
  ['not there', 0xfff0],
])('knows the letters of the document whose glyph in a font is %s', async ([, glyph]) => {
  const assets = [anAsset('han.ttf', aFontOf('ABC ', glyph))]
  const [font] = (await scan.coverageFor('<p>A &#66; d</p>', { ...work, assets }))?.fonts ?? []
  expect(font?.blanks).toBe('\\u{41}\\u{42}')
  expect(await scan.coverageFor('<p>d</p>', { ...work, assets })).toBeUndefined()
})

test('says of a font what it has once for all its families, and says no more than there is room for', async () => {
  const every2nd = Array.from({ length: 30_000 }, (_, index) => String.fromCodePoint(0x20000 + 2 * index)).join('')
  const scattered = anAsset('scattered.ttf', aFontOf(every2nd))
  const names = Array.from({ length: 62 }, (_, index) => `Family ${index}`)
  const fonts = [
    ...names.map((family) => ({ family, weight: 400, style: 'normal', asset: 'scattered.ttf' }) as const),
    { family: 'Han', weight: 400, style: 'normal', asset: 'han.ttf' } as const,
  ]
  const crowd = aRenderWork({ assets: [scattered, HAN], template: { fonts } })
  const found = await scan.coverageFor('漢', crowd)
  expect(found?.fonts.map(({ families }) => families)).toEqual([names, ['Han']])
  expect(JSON.stringify(found?.fonts).length).toBeLessThan(FONT_COVERAGE_CHARS_MAX)
  const [all, han] = found?.fonts.map(({ characters }) => new RegExp(`^[${characters}]$`, 'u')) ?? []
  expect(['漢', '字', '\u{10ffff}'].map((each) => [all?.test(each), han?.test(each)])).toEqual([
    [true, true],
    [true, false],
    [true, false],
  ])
})

test('knows it for every document whose scripts run', async () => {
  const template = { html: { template: '', javascript: true } }
  expect(await scan.coverageFor('plain', aRenderWork({ template, javascriptEnabled: true }))).toBeDefined()
  expect(await scan.coverageFor('plain', aRenderWork({ template, javascriptEnabled: false }))).toBeUndefined()
})

test('takes a font that cannot be read for one without characters', async () => {
  const broken = { ...work, assets: [anAsset('han.ttf', Buffer.from('wOF2 and no more'))] }
  const [font] = (await scan.coverageFor('漢', broken))?.fonts ?? []
  expect(new RegExp(`[${font?.characters}]`, 'u').test('漢')).toBe(false)
})

test('counts missing characters up to a limit', async () => {
  const many = Array.from({ length: 5000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('')
  expect(Array.from(await scan.missingIn(many))).toHaveLength(1000)
})
