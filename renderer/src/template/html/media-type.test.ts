import { expect, test } from 'vitest'
import { aDejaVuFont, anSvg, aPng, RED, RED_GIF, RED_JPEG, RED_WEBP } from '../../../../test/fixture/asset.ts'
import { mediaTypeOf } from './media-type.ts'

const text = (content: string) => Buffer.from(content)

test.for<[string, Uint8Array, string | undefined]>([
  ['a PNG', aPng(RED), 'image/png'],
  ['a JPEG', RED_JPEG, 'image/jpeg'],
  ['a GIF', RED_GIF, 'image/gif'],
  ['a WebP', RED_WEBP, 'image/webp'],
  ['an SVG', anSvg(RED), 'image/svg+xml'],
  [
    'an SVG after a mark, a declaration and a comment',
    text('\ufeff<?xml version="1.0"?>\n<!-- x -->\n<svg>'),
    'image/svg+xml',
  ],
  ['TrueType', aDejaVuFont('DejaVuSans'), 'font/ttf'],
  ['OpenType', text('OTTO…'), 'font/otf'],
  ['WOFF', text('wOFF…'), 'font/woff'],
  ['WOFF2', text('wOF2…'), 'font/woff2'],
  ['nothing', text(''), undefined],
  ['a page', text('<!doctype html><p>x'), undefined],
  ['a sound', text('RIFF1234WAVE'), undefined],
  ['a style sheet', text('svg { color: red }'), undefined],
])('%s is known by its bytes', ([, bytes, type]) => {
  expect(mediaTypeOf(bytes)).toBe(type)
})
