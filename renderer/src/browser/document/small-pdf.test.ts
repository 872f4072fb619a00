import { expect, test } from 'vitest'
import { aGif, anAsset, anSvg, aPng, aSquare, RED } from '../../../../test/fixture/asset.ts'
import { isSmall } from './small-pdf.ts'

const INVOICE = '<!doctype html><title>Invoice</title><img src="asset:logo.png"><p>5 &lt; 6 &amp; &#34;x&#39;</p>'
const SMALL = { html: INVOICE, assets: [anAsset('logo.png', aSquare(RED))], isScripted: false }
const REMOTE = { allowedHosts: [], fetch: () => Promise.reject(new Error('unused')), cached: () => undefined }

const anImage = (width: number, height: number) =>
  anAsset(`${width}.png`, aPng({ width, height, color: 0, pixels: Buffer.alloc(height * (width + 1)) }))

test.for([
  ['an invoice with its logo', {}, true],
  ['one of the longest HTML', { html: 'x'.repeat(64 * 1024) }, true],
  ['one that is longer with its footer', { html: 'x'.repeat(64 * 1024), footer: 'x' }, false],
  ['a filter', { html: '<svg><filter id="n"><feTurbulence/></filter></svg>' }, false],
  ['a filter in the header', { header: '<p style="FILTER: blur(1px)">' }, false],
  ['a filter whose name is escaped in CSS', { html: '<p style="f\\69lter: url(#n)">' }, false],
  ['a filter whose name is escaped in HTML', { html: '<p style="f&#105;lter: url(#n)">' }, false],
  ['an image inside of the document', { html: '<img src="data:image/png;base64,AAAA">' }, false],
  ['a drawing', { html: '<svg><use href="#a"/></svg>' }, false],
  ['shadows', { html: '<style>p { text-shadow: 1px 1px, 2px 2px }</style>' }, false],
  ['gradients', { html: '<p style="background: linear-gradient(red, blue)">' }, false],
  ['reflections', { html: '<p style="-webkit-box-reflect: below">' }, false],
  ['images of as many pixels as allowed', { assets: [anImage(2000, 1000), anImage(1000, 2000)] }, true],
  ['images of more pixels', { assets: [anImage(2000, 1000), anImage(1000, 2001)] }, false],
  ['a damaged image', { assets: [anAsset('logo.jpg', Buffer.from([0xff, 0xd8, 0xff]))] }, false],
  ['a GIF', { assets: [anAsset('logo.gif', aGif())] }, true],
  [
    'a GIF whose frame is larger than it says',
    { assets: [anAsset('logo.gif', aGif({ frame: { width: 2000, height: 2001 } }))] },
    false,
  ],
  ['scripts', { isScripted: true }, false],
  ['files of other hosts', { remote: REMOTE }, false],
  ['an SVG image', { assets: [anAsset('logo.svg', anSvg(RED))] }, false],
  ['assets of more than a MiB', { assets: [anAsset('logo.png', Buffer.alloc(1024 * 1024 + 1))] }, false],
] as const)('a document with %s', ([, parts, expected]) => {
  expect(isSmall({ ...SMALL, ...parts })).toBe(expected)
})
