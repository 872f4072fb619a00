import { ServiceError } from '@platen/contract/domain/error.ts'
import { describe, expect, test } from 'vitest'
import { anAsset, aSquare, RED } from '../../../../test/fixture/asset.ts'
import { HTML_BYTES_MAX } from '../limit.ts'
import {
  ASSET_ORIGIN,
  assetNamed,
  refuseLoading,
  unloadedIn,
  withAssetsInside,
  withDigests,
  withFonts,
} from './reference.ts'

const LOGO = anAsset('logo.png', aSquare(RED))
const FONT = anAsset('font.ttf', Buffer.from('\0\x01\0\0', 'latin1'))
const ASSETS = [LOGO, FONT]
const part = (html: string) => ({ name: 'template.html', html })
const face = { family: 'Brand', weight: 400, style: 'normal', asset: 'font.ttf' } as const
const RULE = `<style>@font-face{font-family:"Brand";font-weight:400;font-style:normal;src:url(${ASSET_ORIGIN}${FONT.digest});font-display:block}</style>`

test.for([
  ['lgoo.png', 'x: the template has no asset lgoo.png (did you mean logo.png?)'],
  ['nothing-like-it', 'x: the template has no asset nothing-like-it'],
  ['y'.repeat(200), `x: the template has no asset ${'y'.repeat(80)}…`],
])('of %s it says what the template has', ([name = '', message]) => {
  expect(() => assetNamed(ASSETS, name, 'x')).toThrow(new ServiceError('asset_unavailable', message ?? ''))
})

describe('a document', () => {
  test.for([
    ['<img src="asset:#"> <img src = asset:#> <image HREF=\'ASSET:#\'>'],
    ['<p style="background:url( \'asset:#\' )"> <style>p { background: url(asset:#) }</style>'],
    ['<use href="asset:##part"><img srcset="asset:# 1x, asset:logo.png 2x">'],
    ['we have three assets: asset:logo.png, (asset:logo.png) and "asset:logo.png"'],
  ])('names assets by their digests: %s', ([html = '']) => {
    const named = html.replace(/(asset:)#/gi, '$1logo.png')
    expect(withDigests(part(named), ASSETS)).toBe(html.replace(/(asset:)#/gi, `$1${LOGO.digest}`))
  })

  test.for([
    '<img src="asset:x">',
    '<img SRC=ASSET:x>',
    '<p style="background:url(asset:x)">',
    '<img srcset="asset:x 2x">',
  ])('names nothing that is not there: %s', (html) => {
    const missing = new ServiceError('asset_unavailable', 'template.html: the template has no asset x')
    expect(() => withDigests(part(html), ASSETS)).toThrow(missing)
  })

  test.for([
    ['<script src="asset:#"></script>', '<script crossorigin src="@"></script>'],
    ["<SCRIPT defer\n src = 'asset:#' async>", "<SCRIPT crossorigin defer\n src = '@' async>"],
    [
      '<script src=asset:#></script><script>image.src = "asset:logo.png"',
      '<script crossorigin src=@></script><script>image.src = "asset:LOGO"',
    ],
    ['<script>script.src = "asset:#"', '<script>script.src = "asset:DIGEST"'],
    ['<script src="asset:logo.png">', '<script src="asset:LOGO">'],
  ])('has scripts at the address of fonts, so that pages are told their errors: %s', ([html = '', wanted = '']) => {
    const script = anAsset('chart.js', Buffer.from('1'))
    const named = withDigests(part(html.replace('#', 'chart.js')), [...ASSETS, script])
    const address = ASSET_ORIGIN + script.digest
    expect(named).toBe(wanted.replace('@', address).replace('DIGEST', script.digest).replace('LOGO', LOGO.digest))
  })

  test.for([
    ['<!doctype html><p>x', '<!doctype html>', '<p>x'],
    [' <!-- a > b --> <!DOCTYPE html>\n<html lang="de">', ' <!-- a > b --> <!DOCTYPE html>', '\n<html lang="de">'],
    ['<p>x', '', '<p>x'],
    ['', '', ''],
    ['<!-- no end', '', '<!-- no end'],
    ['<?xml version="1.0"?><!doctype html>x', '<?xml version="1.0"?><!doctype html>', 'x'],
  ])('%j has the fonts of the template after its doctype', ([html = '', before, after]) => {
    expect(withFonts(part(html), ASSETS, [face])).toBe(`${before}${RULE}${after}`)
  })

  test.for<[string, (html: string) => string, number]>([
    ['url(asset:a)', (html) => withDigests(part(html), [anAsset('a', aSquare(RED))]), 5],
    ['@font-face{src:url(asset:a)}', (html) => withFonts(part(html), [anAsset('a', aSquare(RED))], []), 3],
  ])('is not made where %s many times becomes longer than HTML may be', ([mention, make, growth]) => {
    const count = Math.floor(HTML_BYTES_MAX / mention.length)
    const tooLong = new ServiceError('template_error', 'template.html: with its assets it is longer than 20 MiB')
    expect(() => make(mention.repeat(count))).toThrow(tooLong)
    expect(make(mention.repeat(Math.floor(count / growth / 2))).length).toBeLessThan(HTML_BYTES_MAX)
  })

  test('takes fonts it names itself from where Chromium takes them', () => {
    const html =
      "<style>@font-face { font-family: x; src: local(y), url( 'asset:font.ttf' ) } p { background: url(asset:logo.png) }</style>"
    expect(withFonts(part(html), ASSETS, [])).toBe(html.replace('asset:font.ttf', ASSET_ORIGIN + FONT.digest))
  })

  test('cannot be left by the name of a font', () => {
    const family = '"}</style><script>\\'
    const [, name] = /font-family:"(.*?)";font-weight/.exec(withFonts(part(''), ASSETS, [{ ...face, family }])) ?? []
    expect(name).toBe('\\22 \\7d \\3c \\2f style\\3e \\3c script\\3e \\5c ')
  })
})

describe('a header', () => {
  test('holds its assets', () => {
    const url = `data:image/png;base64,${Buffer.from(LOGO.bytes).toString('base64')}`
    const html =
      '<img src="asset:logo.png"><img srcset=\'asset:logo.png 1x, asset:logo.png 2x\'><p style="background:url(asset:logo.png#x)">asset:logo.png'
    const filled = `<img src="${url}"><img srcset='${url} 1x, ${url} 2x'><p style="background:url(${url}#x)">asset:logo.png`
    expect(withAssetsInside(part(html), ASSETS)).toBe(filled)
  })

  test('has a length with its assets, too', () => {
    const large = anAsset('large.png', Buffer.concat([aSquare(RED), Buffer.alloc(HTML_BYTES_MAX / 4)]))
    const image = '<img src="asset:large.png">'
    expect(withAssetsInside(part(image), [large]).length).toBeGreaterThan(HTML_BYTES_MAX / 4)
    const refused = new ServiceError('template_error', 'template.html: with its assets it is longer than 20 MiB')
    expect(() => withAssetsInside(part(image.repeat(4)), [large])).toThrow(refused)
  })

  test('shows nothing that is neither image nor font', () => {
    const text = anAsset('x.txt', Buffer.from('x'))
    const refused = new ServiceError(
      'asset_unavailable',
      'template.html: the asset x.txt is not an image or a font that can be shown',
    )
    expect(() => withAssetsInside(part('<img src="asset:x.txt">'), [text])).toThrow(refused)
  })
})

test.for<[string, string | undefined]>([
  ['<p style="font: 9px serif">x</p>', undefined],
  ['<img src="https://cdn.example.com/x.png"><link rel=icon href="x.png">', undefined],
  ['<style>@font-face { font-family: y; src: url("data:font/ttf;base64,AA==") }</style>', undefined],
  ['<LINK rel=stylesheet href="x.css">', '<LINK'],
  ['<style>@import "x.css"</style>', '@import'],
  ['<style>@font-face { font-family: y; src: url( x.ttf) }</style>', '@font-face'],
])('a header of %s is refused for %s', ([html, what]) => {
  const refused = `template.html: ${what}: a header or footer can load neither style sheets nor fonts`
  if (what === undefined) refuseLoading(part(html))
  else expect(() => refuseLoading(part(html))).toThrow(new ServiceError('template_error', refused))
})

test.for([
  ['mentions', '="asset:'],
  ['open rules', '@font-face {'],
  ['comments without end', '<!--'],
  ['blanks', 'src =          '],
  ['links', '<link '],
])('takes time in proportion to hostile HTML: %s', ([, piece = '']) => {
  const html = piece.repeat(HTML_BYTES_MAX / piece.length)
  withDigests(part(html), ASSETS)
  withAssetsInside(part(html), ASSETS)
  if (!piece.startsWith('@')) refuseLoading(part(html))
  expect(withFonts(part(html), ASSETS, [face])).toHaveLength(html.length + RULE.length)
})

test('knows the addresses that Chromium loads nothing from in a header', () => {
  const html = `<img src="data:,"><img alt="a" src=b.png><image href='https://a.test/c?d'><b style="background:url( 'e.png' ) url(#f)">
    <a href="g"><img src=""><embed src="b.png"><p>src="h"</p>`
  expect(unloadedIn(html)).toEqual(['b.png', 'https://a.test/c?d', 'e.png'])
  expect(unloadedIn(Array.from({ length: 99 }, (_, at) => `<img src="${at}">`).join(''))).toHaveLength(10)
})
