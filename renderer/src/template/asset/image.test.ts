import { expect, test } from 'vitest'
import { aGif, aJpeg, aPng, aWebp } from '../../../../test/fixture/asset.ts'
import { checkImage } from './image.ts'

const svg = (text: string) => Buffer.from(text)

test.for([
  ['a PNG', 'png', aPng(), { width: 2, height: 2 }],
  ['an interlaced PNG', 'png', aPng({ isInterlaced: true, pixels: Buffer.alloc(5 + 5 + 9) }), { width: 2, height: 2 }],
  ['a JPEG', 'jpeg', aJpeg(), { width: 3, height: 2 }],
  ['a progressive JPEG of one channel', 'jpeg', aJpeg({ marker: 0xc2, channels: 1 }), { width: 3, height: 2 }],
  [
    'a JPEG with padding before a marker',
    'jpeg',
    Buffer.concat([Buffer.of(255, 216, 255, 255), aJpeg().subarray(2)]),
    { width: 3, height: 2 },
  ],
  ['a GIF', 'gif', aGif(), { width: 3, height: 2 }],
  ['a GIF with colours and comments', 'gif', aGif({ colors: 8, comments: ['made', 'by'] }), { width: 3, height: 2 }],
  [
    'a GIF with a frame larger than it says',
    'gif',
    aGif({ frame: { width: 9, height: 9 } }),
    { width: 10, height: 11 },
  ],
  ['a WebP', 'webp', aWebp({ width: 5000, height: 5000 }), { width: 5000, height: 5000 }],
  ['a bare SVG', 'svg', svg('<svg/>'), undefined],
  [
    'an SVG with everything that may stand before and after it',
    'svg',
    svg('\uFEFF<?xml version="1.0"?>\n<!-- made by -->\n<svg:svg xmlns:svg="x"><g/></svg:svg>\n<!-- end -->\n'),
    undefined,
  ],
  [
    'an SVG with a DOCTYPE that says nothing',
    'svg',
    svg(
      `<?xml version='1.0'?>\n<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN'\n 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'>\n<!-- Graphviz --><svg/>`,
    ),
    undefined,
  ],
  ['an SVG with the shortest DOCTYPE', 'svg', svg('<!doctype svg><svg/>'), undefined],
] as const)('takes %s', ([, kind, data, size]) => {
  expect(checkImage(kind, data)).toEqual(size)
})

test.for([
  ['a PNG cut short', 'png', aPng().subarray(0, 45), /is damaged/],
  ['a PNG of bad pixels', 'png', aPng({ pixels: Buffer.alloc(17) }), /is damaged/],
  ['a PNG with more pixels than it says', 'png', aPng({ pixels: Buffer.alloc(19) }), /is damaged/],
  ['a PNG with a filter there is not', 'png', aPng({ pixels: Buffer.alloc(18, 5) }), /is damaged/],
  ['a PNG of a palette it has not', 'png', aPng({ color: 3, pixels: Buffer.alloc(6) }), /is damaged/],
  ['a PNG of three bits', 'png', aPng({ bits: 3, color: 0, pixels: Buffer.alloc(4) }), /is damaged/],
  ['a PNG of nothing', 'png', aPng({ width: 0 }), /has no pixels/],
  [
    'a PNG as large as a town',
    'png',
    aPng({ width: 30_000, height: 30_000 }),
    /30000 × 30000 pixels; at most 25000000/,
  ],
  ['a JPEG cut short', 'jpeg', aJpeg().subarray(0, 9), /is damaged/],
  ['a JPEG without its end', 'jpeg', aJpeg().subarray(0, -2), /is damaged/],
  ['a JPEG without a frame', 'jpeg', Buffer.from([255, 216, 255, 218, 0, 2, 255, 217]), /is damaged/],
  ['a lossless JPEG', 'jpeg', aJpeg({ marker: 0xc3 }), /save it as a baseline JPEG/],
  ['a JPEG of two channels', 'jpeg', aJpeg({ channels: 2 }), /2 channels of 8 bits/],
  ['a JPEG as large as a town', 'jpeg', aJpeg({ width: 60_000, height: 60_000 }), /60000 × 60000 pixels/],
  ['a GIF cut short', 'gif', aGif().subarray(0, 8), /is damaged/],
  ['a GIF as large as a town', 'gif', aGif({ width: 60_000, height: 60_000 }), /60000 × 60000 pixels/],
  [
    'a GIF with a frame as large as a town',
    'gif',
    aGif({ frame: { width: 60_000, height: 60_000 } }),
    /60001 × 60002 pixels/,
  ],
  ['a GIF without a frame', 'gif', aGif({ frame: undefined }), /is damaged/],
  ['a GIF cut short in a comment', 'gif', aGif({ comments: ['made by'] }).subarray(0, 18), /is damaged/],
  ['a WebP cut short', 'webp', aWebp().subarray(0, 28), /is damaged/],
  ['a WebP as large as a town', 'webp', aWebp({ width: 16_000, height: 16_000 }), /16000 × 16000 pixels/],
  ['an SVG with a DOCTYPE', 'svg', svg('<!DOCTYPE svg [<!ENTITY a "b">]><svg/>'), /DOCTYPE is not taken/],
  ['an SVG with a DOCTYPE without end', 'svg', svg('<!DOCTYPE svg PUBLIC "a'), /DOCTYPE is not taken/],
  ['a page of HTML', 'svg', svg('<html><svg></svg></html>'), /root is another element/],
  ['an SVG cut short', 'svg', svg('<svg><g></g>'), /is cut short/],
  ['an SVG that is all comment', 'svg', svg(`<!--${'<!--'.repeat(100_000)}`), /is damaged/],
  ['an SVG that is no text', 'svg', Buffer.from([60, 115, 118, 103, 0xff, 47, 62]), /UTF-8/],
] as const)('refuses %s with asset_unavailable', ([, kind, data, message]) => {
  expect(() => checkImage(kind, data)).toThrow(
    expect.objectContaining({ code: 'asset_unavailable', message: expect.stringMatching(message) }),
  )
})
