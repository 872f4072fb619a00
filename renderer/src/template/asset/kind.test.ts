import { expect, test } from 'vitest'
import { aDejaVuFont, anSvg, aSquare, RED, RED_GIF, RED_JPEG, RED_WEBP } from '../../../../test/fixture/asset.ts'
import { type AssetKind, kindOf, mediaTypeOf } from './kind.ts'

const text = (content: string) => Buffer.from(content)

test.for<[string, Uint8Array, AssetKind | undefined, string | undefined]>([
  ['a PNG', aSquare(RED), 'png', 'image/png'],
  ['a JPEG', RED_JPEG, 'jpeg', 'image/jpeg'],
  ['a GIF', RED_GIF, 'gif', 'image/gif'],
  ['a WebP', RED_WEBP, 'webp', 'image/webp'],
  ['an SVG', anSvg(RED), 'svg', 'image/svg+xml'],
  ['an SVG after a mark and a declaration', text('\ufeff<?xml version="1.0"?>\n<svg>'), 'svg', 'image/svg+xml'],
  ['TrueType', aDejaVuFont('DejaVuSans'), 'ttf', 'font/ttf'],
  ['OpenType', text('OTTO…'), 'otf', 'font/otf'],
  ['WOFF', text('wOFF…'), 'woff', 'font/woff'],
  ['WOFF2', text('wOF2…'), 'woff2', 'font/woff2'],
  ['nothing', text(''), undefined, undefined],
  ['a sound', text('RIFF1234WAVE'), undefined, undefined],
  ['a style sheet', text('svg { color: red }'), undefined, undefined],
])('%s is known by its bytes', ([, bytes, kind, mediaType]) => {
  expect(kindOf(bytes)).toBe(kind)
  expect(mediaTypeOf(bytes)).toBe(mediaType)
})
