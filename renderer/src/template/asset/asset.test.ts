import type { FontReference, TemplateCode, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { aFont, aGif, aJpeg, anAsset, aPng, aWebp } from '../../../../test/fixture/asset.ts'
import { assetFaults } from './asset.ts'
import { readTables, writeSfnt } from './font/sfnt.ts'
import { SCRIPT_BYTES_MAX } from './script.ts'

function aSource(fields: Partial<TemplateSource> = {}): TemplateSource {
  return { code: 'invoice' as TemplateCode, name: 'Invoice', version: 1, options: {}, reactPdf: '', ...fields }
}

function aFace(asset: string): FontReference {
  return { family: 'Brand', weight: 400, style: 'normal', asset }
}

const regular = Buffer.from(aFont('brand-regular.ttf').bytes)

/** The regular face with tables added, replaced, or removed (by an empty table). */
function changed(tables: Readonly<Record<string, Uint8Array>>): Buffer {
  const all = new Map([
    ...readTables(regular),
    ...Object.entries(tables).map(([tag, data]) => [tag, Buffer.from(data)] as const),
  ])
  return writeSfnt(0x10000, new Map([...all].filter(([, data]) => data.length > 0)))
}

test('finds nothing wrong with images and fonts of every kind', async () => {
  const assets = [
    anAsset('logo.png', aPng()),
    anAsset('photo.JPG', aJpeg()),
    anAsset('photo.jpeg', aJpeg()),
    anAsset('spin.gif', aGif()),
    anAsset('hero.webp', aWebp()),
    anAsset('mark.svg', Buffer.from('<svg/>')),
    anAsset('without-extension', aPng()),
    anAsset('chart.js', Buffer.from('draw("ä")')),
    anAsset('chart.MJS', Buffer.alloc(SCRIPT_BYTES_MAX, ' ')),
    aFont('brand-regular.ttf'),
    aFont('brand-regular.woff'),
    aFont('brand-regular.woff2'),
    aFont('brand-cubic.otf'),
    aFont('brand-bold.ttf', 'brand-bold.otf'),
    aFont('brand-bold.woff2'),
  ]
  const fonts = assets.slice(9).map(({ name }) => aFace(name))
  expect(await assetFaults(aSource({ fonts }), assets)).toEqual([])
})

const Z = new Uint8Array()

test.for([
  ['nothing known', 'a.png', Buffer.from('hello'), /^asset a\.png: this is neither an image nor a font/],
  [
    'a script of another encoding',
    'a.js',
    Buffer.of(0xe4),
    /^asset a\.js: the name says a script, but this is not UTF-8 text$/,
  ],
  [
    'a script that is too large',
    'a.mjs',
    Buffer.alloc(SCRIPT_BYTES_MAX + 1, ' '),
    /^asset a\.mjs: the script has 2097153 bytes; at most 2097152 are allowed$/,
  ],
  ['a script that is a font', 'a.js', Buffer.from('1'), /^asset a\.js: the font Brand names it, but this is a script$/],
  ['nothing at all', 'a.png', Buffer.alloc(0), /^asset a\.png: this is neither/],
  [
    'a JPEG by the name of a PNG',
    'logo.png',
    aJpeg(),
    /^asset logo\.png: the name says a PNG image, but this is a JPEG image: call it \.jpg$/,
  ],
  ['a font by the name of an image', 'logo.png', regular, /but this is a TrueType font/],
  ['a damaged image', 'logo.png', aPng().subarray(0, 45), /^asset logo\.png: the image is damaged$/],
  [
    'a collection',
    'a.ttc',
    Buffer.from('ttcf\0\x01\0\0'),
    /^asset a\.ttc: this is a TrueType collection: extract one face/,
  ],
  [
    'a suitcase',
    'a.dfont',
    Buffer.concat([Buffer.of(0, 0, 1, 0, 0, 0, 1, 16), Buffer.alloc(300), Buffer.from('sfnt')]),
    /macOS font suitcase/,
  ],
  ['an icon', 'a.ico', Buffer.concat([Buffer.of(0, 0, 1, 0, 1, 0, 16, 16), Buffer.alloc(300)]), /this is neither/],
  ['a font cut short', 'a.ttf', regular.subarray(0, 3000), /^asset a\.ttf: the font is damaged$/],
  ['a font without letters', 'a.ttf', changed({ cmap: Z }), /the font is damaged: it has no table cmap/],
  ['a font of odd units', 'a.ttf', changed({ head: Buffer.alloc(54) }), /the font is damaged/],
  ['a font whose outlines end early', 'a.ttf', changed({ glyf: Buffer.alloc(10) }), /the font is damaged/],
  ['a font whose letters lead nowhere', 'a.ttf', changed({ cmap: Buffer.alloc(40, 255) }), /the font is damaged/],
] as const)('says of %s what it is', async ([, name, bytes, fault]) => {
  expect(await assetFaults(aSource({ fonts: [aFace(name)] }), [anAsset(name, bytes)])).toContainEqual(
    expect.stringMatching(fault),
  )
})

test.for([
  ['WOFF', aFont('brand-regular.woff')],
  ['WOFF2', aFont('brand-regular.woff2')],
] as const)('refuses a %s that is gigabytes unpacked, or no packed font, without unpacking it', async ([, font]) => {
  const large = Buffer.from(font.bytes)
  // The length of the first table. In WOFF it is a number. In WOFF2 it has seven bits per byte, and takes the bytes after it.
  if (font.name.endsWith('woff')) large.writeUInt32BE(0x7fff_ffff, 44 + 12)
  else large.set([0x87, 0xff, 0xff, 0xff, 0x7f], 49)
  expect(await assetFaults(aSource(), [anAsset(font.name, large)])).toEqual([
    expect.stringMatching(/: the font has \d{10} bytes unpacked; at most 33554432 are allowed$/),
  ])
  const cut = font.bytes.slice(0, 2000)
  expect(await assetFaults(aSource(), [anAsset(font.name, cut)])).toEqual([`asset ${font.name}: the font is damaged`])
})

test.for([
  ['variable', changed({ fvar: Buffer.alloc(16) }), /^asset brand\.ttf: this is a variable font/],
  ['in color', changed({ COLR: Buffer.alloc(16), CPAL: Buffer.alloc(16) }), /^asset brand\.ttf: this is a color font/],
  [
    'of pictures',
    changed({ glyf: Z, CBDT: Buffer.alloc(16) }),
    /^asset brand\.ttf: this is a font without TrueType or CFF outlines/,
  ],
] as const)('refuses a font that is %s where react_pdf draws with it, and nowhere else', async ([, bytes, fault]) => {
  const assets = [anAsset('brand.ttf', bytes)]
  const fonts = [aFace('brand.ttf')]
  expect(await assetFaults(aSource({ fonts }), assets)).toEqual([expect.stringMatching(fault)])
  const { reactPdf: _, ...html } = aSource({ fonts, html: { template: '', javascript: false } })
  expect(await assetFaults(html, assets)).toEqual([])
  expect(await assetFaults(aSource(), assets)).toEqual([])
})

test('names the font that names no font', async () => {
  const assets = [anAsset('logo.png', aPng())]
  const fonts = [aFace('logo.png'), aFace('brand.ttf')]
  expect(await assetFaults(aSource({ fonts }), assets)).toEqual([
    'asset logo.png: the font Brand names it, but this is a PNG image',
    'asset brand.ttf: there is no such asset, and the font Brand names it',
  ])
})
