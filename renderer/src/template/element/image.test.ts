import { expect, test } from 'vitest'
import { aGif, aJpeg, anAsset, aPng, dataUrl } from '../../../../test/fixture/asset.ts'
import { aRenderWork } from '../../../../test/fixture/render/work.ts'
import { remoteImagesOf, requireFetched } from '../asset/remote-images.ts'
import { keptImages, openImages } from './image.ts'

const logo = anAsset('logo.png', aPng())
const assets = [
  logo,
  anAsset('seal.jpg', aJpeg()),
  anAsset('mark.svg', Buffer.from('<svg/>')),
  anAsset('spin.gif', aGif()),
]
const read = openImages(assets, keptImages())

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'

test.for([
  ['an asset', 'asset:logo.png', 'png'],
  ['an asset that is a JPEG', 'asset:seal.jpg', 'jpg'],
  ['a PNG', dataUrl(aPng()), 'png'],
  ['a JPEG', dataUrl(aJpeg(), 'jpeg'), 'jpg'],
  ['a PNG that says it is a JPEG', dataUrl(aPng(), 'jpg'), 'png'],
  ['an SVG as text', `data:image/svg+xml;utf8,${SVG}`, 'svg'],
  ['an SVG with escapes', `data:image/svg+xml,${encodeURIComponent(SVG)}`, 'svg'],
  [
    'an SVG as text with a percent sign',
    `data:image/svg+xml;charset=utf-8,${SVG.replace('/>', ' width="100%"/>')}`,
    'svg',
  ],
] as const)('reads %s', ([, src, format]) => {
  expect(read(src).format).toBe(format)
})

test.for([
  [
    'a path',
    '/etc/passwd',
    /must be an asset of the template, as in asset:logo\.png, a URL of an allowed host, or a data: URL/,
  ],
  ['a file URL', 'file:///etc/passwd', /must be an asset/],
  [
    'an SVG in a URL',
    dataUrl(Buffer.from('<svg/>'), 'svg+xml'),
    /the SVG has neither a viewBox nor a width and a height/,
  ],
  ['no bytes', 'data:image/png;base64,', /is empty/],
  [
    'another format',
    dataUrl(Buffer.from('neither of them')),
    /react_pdf shows PNG, JPEG and SVG, and this is none of them/,
  ],
  ['a damaged PNG', dataUrl(aPng().subarray(0, 45)), /is damaged/],
  ['an SVG without a size', 'asset:mark.svg', /the SVG has neither a viewBox nor a width and a height/],
  ['a GIF', 'asset:spin.gif', /and this is a GIF image$/],
  ['a name that is nearly right', 'asset:lgo.png', /there is no such asset \(did you mean logo\.png\?\)/],
  ['another name', 'asset:photo.jpeg', /there is no such asset; there are logo\.png, seal\.jpg, mark\.svg, spin\.gif/],
  ['an inherited name', 'asset:__proto__', /there is no such asset/],
] as const)('refuses %s with asset_unavailable', ([, src, message]) => {
  expect(() => read(src)).toThrow(
    expect.objectContaining({ code: 'asset_unavailable', message: expect.stringMatching(message) }),
  )
})

test('says of a template without assets that it has none', () => {
  expect(() => openImages([], keptImages())('asset:logo.png')).toThrow(/no such asset: the template has none$/)
})

test('names an image it refuses by its beginning', () => {
  expect(() => read(`file:///${'a'.repeat(5000)}`)).toThrow(/^image file:\/\/\/a{62}…: /)
})

function nameOf(image: ReturnType<typeof read>): string {
  return image.format === 'svg' ? '' : String(image.data)
}

test('gives equal images equal names and others other names', () => {
  const other = dataUrl(aPng({ pixels: Buffer.alloc(18, 1) }))
  const [one, same, as, third] = [dataUrl(aPng()), dataUrl(aPng()), 'asset:logo.png', other].map((src) =>
    nameOf(read(src)),
  )
  expect([same, as]).toEqual([one, one])
  expect(third).not.toBe(one)
})

test('looks at an asset once, whatever template shows it under whatever name', () => {
  const kept = keptImages()
  const first = openImages([logo], kept)('asset:logo.png')
  expect(openImages([{ ...logo, name: 'brand.png' }], kept)('asset:brand.png')).toBe(first)
})

test('wants an image of a listed host that is not there, shows another for it, and shows it when it is', () => {
  const { template } = aRenderWork({ template: { allowedHosts: ['a.test'] } })
  const remote = remoteImagesOf({ template, fetched: [{ ...logo, name: 'https://a.test/logo.png' }] })
  const show = openImages([], keptImages(), remote)
  expect(show('https://a.test/logo.png#here')).toMatchObject({ format: 'png', width: 2, height: 2 })
  expect(() => requireFetched(remote)).not.toThrow()
  expect(show('https://A.test/other.png#there')).toMatchObject({ width: 1, height: 1 })
  expect(() => requireFetched(remote)).toThrow(expect.objectContaining({ urls: ['https://a.test/other.png'] }))
})
