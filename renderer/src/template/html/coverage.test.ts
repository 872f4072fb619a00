import { expect, test } from 'vitest'
import { aFontOf, anAsset } from '../../../../test/fixture/asset.ts'
import { aRenderWork } from '../../../../test/fixture/render-work.ts'
import { isVisible } from '../asset/glyph.ts'
import { openGlyphScan, PLAIN } from './coverage.ts'

const scan = openGlyphScan()
const HAN = anAsset('han.ttf', aFontOf('漢'))
const work = aRenderWork({
  assets: [HAN],
  template: { fonts: [{ family: 'Han', weight: 400, style: 'normal', asset: 'han.ttf' }] },
})

test('takes no character for plain that the fonts of the service have not', () => {
  const defaults = new RegExp(`[${scan.coverageFor('漢', work)?.defaults}]`, 'u')
  const plain = Array.from({ length: 0xffff }, (_, code) => String.fromCodePoint(code)).filter((character) =>
    new RegExp(`[${PLAIN}]`, 'u').test(character),
  )
  expect(plain.length).toBeGreaterThan(2000)
  const assigned = plain.filter((character) => isVisible(character) && /\P{Cn}/u.test(character))
  expect(assigned.filter((character) => !defaults.test(character))).toEqual([])
})

test.for([
  ['Zażółć €&#8364;&#x2713;&nbsp;', ''],
  // Not plain, and there all the same.
  ['\u{1d538}ﬁ', ''],
  ['a漢b字漢', '漢字'],
  ['&#28450;&#x6F22&#x5b57;', '漢字'],
  ['&#9999999;&#x110000;&#xd800;', ''],
  ['\u{1f9ff}\ufe0f', '\u{1f9ff}'],
])('of %s no font has %s', ([html = '', missing]) => {
  expect(scan.missingIn(html)).toBe(missing)
})

test('knows what the fonts of a template have, where that is of use', () => {
  expect(scan.coverageFor('plain ✓', work)).toBeUndefined()
  const [family] = scan.coverageFor('漢', work)?.families ?? []
  const own = new RegExp(`[${family?.characters}]`, 'u')
  expect([family?.family, own.test('漢'), own.test('字')]).toEqual(['Han', true, false])
})

test('knows it for every document whose scripts run', () => {
  const template = { html: { template: '', javascript: true } }
  expect(scan.coverageFor('plain', aRenderWork({ template, javascriptEnabled: true }))).toBeDefined()
  expect(scan.coverageFor('plain', aRenderWork({ template, javascriptEnabled: false }))).toBeUndefined()
})

test('takes a font that cannot be read for one without characters', () => {
  const broken = { ...work, assets: [anAsset('han.ttf', Buffer.from('wOF2 and no more'))] }
  const [family] = scan.coverageFor('漢', broken)?.families ?? []
  expect(new RegExp(`[${family?.characters}]`, 'u').test('漢')).toBe(false)
})

test('counts missing characters up to a limit', () => {
  const many = Array.from({ length: 5000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('')
  expect(Array.from(scan.missingIn(many))).toHaveLength(1000)
})
