import type { Asset } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import {
  aDejaVuFont,
  aFontOf,
  anAsset,
  anSvg,
  aSquare,
  BLUE,
  RED,
  RED_GIF,
  RED_JPEG,
  RED_WEBP,
} from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import { anEngine, aWork, colourAt, fontsOf, infoOf, inspect, textOf, type WorkParts } from './html-fixture.ts'

const render = (html: string, parts?: WorkParts) => opened().render(aWork(`<!doctype html>${html}`, parts))

const opened = shared(() => anEngine())

const RED_PNG = anAsset('red.png', aSquare(RED))
/** Fills the page from its upper left corner. */
const COVER = 'position: absolute; left: 0; top: 0; width: 200px; height: 200px'
const NO_MARGIN = '<style>@page { margin: 0 } body { margin: 0 }</style>'

describe('an asset', () => {
  test.for([
    ['an image', `<img src="asset:red.png" style="${COVER}">`],
    ['an image by its srcset', `<img srcset="asset:red.png 1x, asset:red.png 2x" style="${COVER}">`],
    ['a picture', `<picture><source srcset="asset:red.png"><img style="${COVER}"></picture>`],
    ['a background in a style', `<p style="background: url('asset:red.png'); ${COVER}">`],
    ['a background in a style sheet', `<style>p { background: url(asset:red.png); ${COVER} }</style><p>`],
    [
      'content in a style sheet',
      `<style>p::before { content: url(asset:red.png) } p { zoom: 20; margin: 0; line-height: 0 }</style><p>`,
    ],
    ['an image of a drawing', `<svg style="${COVER}"><image href="asset:red.png" width="200" height="200"/></svg>`],
    ['a button', `<input type="image" src="asset:red.png" style="${COVER}">`],
    ['an image far below', `<img loading="lazy" src="asset:red.png" style="${COVER}">`],
  ])('is shown as %s', async ([, html]) => {
    const pdf = await render(NO_MARGIN + html, { assets: [RED_PNG] })
    expect(colourAt(pdf, 30, 30)).toEqual(RED)
  })

  test.for<[string, Uint8Array]>([
    ['PNG', aSquare(RED)],
    ['JPEG', RED_JPEG],
    ['GIF', RED_GIF],
    ['WebP', RED_WEBP],
    ['SVG', anSvg(RED)],
    ['SVG that begins with a declaration', Buffer.concat([Buffer.from('<?xml version="1.0"?>\n'), anSvg(RED)])],
  ])('is shown when it is a %s, whatever its name says', async ([, bytes]) => {
    const pdf = await render(`${NO_MARGIN}<img src="asset:logo" style="${COVER}">`, {
      assets: [anAsset('logo', bytes)],
    })
    const [red = 0, green, blue] = colourAt(pdf, 30, 30)
    // JPEG comes close.
    expect([red >= 254, green, blue]).toEqual([true, 0, 0])
  })

  test('in memory that threads share is shown', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(RED_PNG.bytes.length))
    shared.set(RED_PNG.bytes)
    const assets = [{ ...RED_PNG, bytes: shared }]
    const header = '<img src="asset:red.png" style="width: 100px; height: 20px">'
    const pdf = await render(`<img src="asset:red.png" style="${COVER}">`, { assets, header })
    expect([colourAt(pdf, 60, 20), colourAt(pdf, 60, 60)]).toEqual([RED, RED])
  })

  test.for<[string, number]>([
    ['header', 20],
    ['footer', 822],
  ])('is shown in the %s of every page', async ([edge, y]) => {
    const image = '<img src="asset:red.png" style="width: 100px; height: 20px">'
    const pdf = await render('<p>one<p style="break-before: page">two', { [edge]: image, assets: [RED_PNG] })
    expect([colourAt(pdf, 60, y), inspect(pdf, 'pdfinfo')]).toEqual([
      RED,
      expect.stringContaining('Pages:           2'),
    ])
  })

  test('is in the PDF once however often it is shown', async () => {
    const pdf = await render('{% for i in (1..5000) %}<img src="asset:red.png" width="4">{% endfor %}', {
      assets: [RED_PNG],
    })
    const images = inspect(pdf, 'pdfimages', '-list', 'FILE').matchAll(/ image .* (\d+) +\d+ +\d+ +\d+ +\S+ +\S+$/gm)
    expect(new Set(Array.from(images, ([, object]) => object)).size).toBe(1)
  })

  test.for<[string, string, string]>([
    ['image', '<img src="asset:rde.png">', 'template.html: the template has no asset rde.png (did you mean red.png?)'],
    ['style', '<p style="background: url(asset:red)">', 'template.html: the template has no asset red'],
    ['font', '<style>@font-face { src: url("asset:x.ttf") }</style>', 'template.html: the template has no asset x.ttf'],
    // Chromium alone knows what these are.
    [
      'image in entities',
      '<img src="&#97;sset:rde.png">',
      'the document: the template has no asset rde.png (did you mean red.png?)',
    ],
    ['style in escapes', '<p style="background: url(\\61sset:x)">y', 'the document: the template has no asset x'],
  ])('that the template has not fails a document that names it as %s', async ([, html, message]) => {
    const failed = expect.objectContaining({ code: 'asset_unavailable', message: expect.stringContaining(message) })
    await expect(render(html, { assets: [RED_PNG] })).rejects.toEqual(failed)
  })

  test.for(['header', 'footer'])('that the template has not fails a document that names it in its %s', async (edge) => {
    const message = `${edge}.html: the template has no asset x.png: it has none`
    const failed = expect.objectContaining({ code: 'asset_unavailable', message })
    await expect(render('x', { [edge]: '<img src="asset:x.png">' })).rejects.toEqual(failed)
  })

  test.for<[string, Uint8Array, string]>([
    [
      'is nothing but a beginning',
      aSquare(RED).subarray(0, 20),
      'the document: the asset x.png is damaged: it cannot be shown as an image',
    ],
    ['is a text', Buffer.from('GIF90a'), 'the document: the asset x.png is not an image or a font that can be shown'],
    ['is empty', Buffer.alloc(0), 'the document: the asset x.png is not an image or a font that can be shown'],
    [
      'is a font',
      aDejaVuFont('DejaVuSansMono'),
      'the document: the asset x.png is damaged: it cannot be shown as an image',
    ],
  ])('that %s fails a document that shows it', async ([, bytes, message]) => {
    const failed = expect.objectContaining({ code: 'asset_unavailable', message })
    await expect(render('<img src="asset:x.png">', { assets: [anAsset('x.png', bytes)] })).rejects.toEqual(failed)
  })

  test('is no style sheet', async () => {
    const html = '<link rel="stylesheet" href="asset:red.png">'
    const message = 'the document: the asset red.png can be used only as an image, a font or a script of the document'
    const failed = expect.objectContaining({ code: 'asset_unavailable', message })
    await expect(render(html, { assets: [RED_PNG] })).rejects.toEqual(failed)
  })

  // Chromium asks for the first by digest, and for the second by name.
  test.for(['asset:logo.png', '&#97;sset:logo.png'])(
    'is that of the template, for each of two that call it the same: %s',
    async (address) => {
      const html = `${NO_MARGIN}<img src="${address}" style="${COVER}">`
      const colours: (readonly number[])[] = []
      for (const colour of [RED, RED, BLUE, RED]) {
        const pdf = await render(html, { tenant: 'twofold', assets: [anAsset('logo.png', aSquare(colour))] })
        colours.push(colourAt(pdf, 30, 30))
      }
      expect(colours).toEqual([RED, RED, BLUE, RED])
    },
  )

  test('of one template is not to be had by the next, of the same tenant or another', async () => {
    const html = '<img src="&#97;sset:red.png">'
    await render(html, { tenant: 'owner', assets: [RED_PNG] })
    for (const tenant of ['owner', 'stranger']) {
      await expect(render(html, { tenant })).rejects.toMatchObject({ code: 'asset_unavailable' })
    }
  })
})

/** A template with one or more fonts, each with a file of its own. */
function fonts(
  ...faces: { family: string; weight?: number; style?: 'normal' | 'italic'; file: Uint8Array }[]
): WorkParts {
  const assets: Asset[] = faces.map(({ file }, index) => anAsset(`font-${index}.ttf`, file))
  const references = faces.map(({ family, weight = 400, style = 'normal' }, index) => ({
    family,
    weight,
    style,
    asset: `font-${index}.ttf`,
  }))
  return { assets, template: { fonts: references } }
}

describe('a font of the template', () => {
  const [regular, bold, italic] = ['DejaVuSansMono', 'DejaVuSerif-Bold', 'DejaVuSerif-Italic'].map(aDejaVuFont)
  if (regular === undefined || bold === undefined || italic === undefined) throw new Error('DejaVu has them')
  const brand = fonts(
    { family: 'Brand', file: regular },
    { family: 'Brand', weight: 700, file: bold },
    { family: 'Brand', style: 'italic', file: italic },
  )

  test('is used by family, weight and style, and its text can be copied', async () => {
    const pdf = await render('<style>body { font-family: Brand }</style>a <b>b</b> <i>Zażółć</i>', brand)
    expect(fontsOf(pdf)).toEqual(['DejaVuSansMono', 'DejaVuSerif-Bold', 'DejaVuSerif-Italic'])
    expect(textOf(pdf)).toBe('a b Zażółć')
  })

  test('is there on a fresh page and on a warm one', async () => {
    const html = '<p style="font-family: Brand">x'
    const pdfs = [await render(html, { ...brand, tenant: 'font' }), await render(html, { ...brand, tenant: 'font' })]
    expect(pdfs.map(fontsOf)).toEqual([['DejaVuSansMono'], ['DejaVuSansMono']])
  })

  test('is not there in the next template of the tenant', async () => {
    const html = '<p style="font-family: Brand">x'
    await render(html, { ...brand, tenant: 'font' })
    expect(fontsOf(await render(html, { tenant: 'font' }))).toEqual(['Tinos-Regular'])
  })

  test('is that of the template, for each of two that call it the same', async () => {
    const html = '<p style="font-family: Brand">x'
    const other = fonts({ family: 'Brand', file: italic })
    const pdfs = [await render(html, brand), await render(html, other)]
    expect(pdfs.map(fontsOf)).toEqual([['DejaVuSansMono'], ['DejaVuSerif-Italic']])
  })

  test.for(['Arial', 'sans "serif" </style>', '楷体', 'DejaVu Serif'])('may be called %s', async (family) => {
    const style = `font-family: '${family.replaceAll('"', '&quot;')}'`
    const pdf = await render(`<p style="${style}">x`, fonts({ family, file: regular }))
    expect([fontsOf(pdf), textOf(pdf)]).toEqual([['DejaVuSansMono'], 'x'])
  })

  test('leaves a document its mode and its root', async () => {
    const html = `<!-- comment --><?pi?> <!doctype html><html class="own"><style>.own p { font-family: Brand }</style><p>x
      <img src="data:," onerror="document.title = document.compatMode">`
    const scripted = { javascript: true, javascriptEnabled: true }
    const pdf = await opened().render(aWork(html, { ...brand, ...scripted }))
    expect([fontsOf(pdf), infoOf(pdf, 'Title')]).toEqual([['DejaVuSansMono'], 'CSS1Compat'])
  })

  test('is used in boxes of the margin', async () => {
    const boxes =
      '@page { margin: 2cm; @bottom-center { content: "Page " counter(page) " of " counter(pages); font-family: Brand } }'
    const pdf = await render(`<style>${boxes}</style><p>one<p style="break-before: page">two`, {
      ...brand,
      tenant: 'boxes',
    })
    expect(textOf(pdf)).toBe('one Page 1 of 2 two Page 2 of 2')
    expect(fontsOf(pdf)).toEqual(['DejaVuSansMono', 'Tinos-Regular'])
  })

  test('can be given in a rule of the document instead', async () => {
    const rule = `@font-face { font-family: Mine; src: local(nothing), url("asset:font-0.ttf") }`
    const { assets = [] } = fonts({ family: 'Mine', file: regular })
    const pdf = await render(`<style>${rule}</style><p style="font-family: Mine">x`, { assets })
    expect(fontsOf(pdf)).toEqual(['DejaVuSansMono'])
  })

  test.for([
    ['cannot be read', regular.subarray(0, 5000)],
    ['names a glyph that it does not have', aFontOf('x', 0xfff0)],
  ] as const)('fails the document when it %s', async ([, file]) => {
    const broken = fonts({ family: 'Brand', file })
    const message = 'the document: the font Brand could not be loaded'
    const failed = expect.objectContaining({ code: 'asset_unavailable', message })
    await expect(render('<p style="font-family: Brand">x', broken)).rejects.toEqual(failed)
  })

  test('must be an asset', async () => {
    const template = { fonts: [{ family: 'Brand', weight: 400, style: 'normal', asset: 'x.ttf' } as const] }
    await expect(render('x', { template })).rejects.toMatchObject({
      code: 'asset_unavailable',
      message: 'font Brand: the template has no asset x.ttf: it has none',
    })
  })
})

describe('characters no font has', () => {
  const han = fonts({ family: 'Han', file: aFontOf('𒀀') })
  const warned = (characters: string) => [
    { code: 'missing_glyph', message: `no font of the document has ${characters}` },
  ]
  test.for<[string, string, WorkParts, unknown[]]>([
    ['common scripts and symbols', 'Zażółć Ελληνικά Привет € ✓ → “” ½ &nbsp;&shy;&#8203;&#x200d;\u{feff}', {}, []],
    ['a character', 'a𒀀b', {}, warned('𒀀 (U+12000)')],
    ['an entity', '&#x12000;&#73728;', {}, warned('𒀀 (U+12000)')],
    [
      'a letter whose glyph in the font of the template is empty',
      '<p style="font-family: Blank">A<p>B',
      fonts({ family: 'Blank', file: aFontOf(' AB', 3) }),
      warned('A (U+0041)'),
    ],
    [
      'a letter whose glyph is empty, after a family that may draw it, and in front of one',
      '<p style="font-family: Arial, Blank">A<p style="font-family: Blank, Arial">B',
      fonts({ family: 'Blank', file: aFontOf(' AB', 3) }),
      warned('B (U+0042)'),
    ],
    ['several', '𒀀𒀁𒀀𒀂', {}, warned('𒀀 (U+12000), 𒀁 (U+12001), 𒀂 (U+12002)')],
    ['text that is not shown', '<p hidden>𒀀</p><title>𒀀</title><b style="visibility: hidden">𒀀</b>', {}, []],
    [
      'a form whose parts are called otherwise',
      '<form>𒀀<input name="checkVisibility"></form>',
      {},
      warned('𒀀 (U+12000)'),
    ],
    ['a comment and a style', '<!-- 𒀀 --><style>/* 𒀀 */</style>', {}, []],
    ['a font of the template that has it', '<p style="font-family: Arial, han">𒀀</p>', han, []],
    ['text that does not use that font', '<p style="font-family: Han">𒀀</p>𒀀', han, warned('𒀀 (U+12000)')],
    ['a font of the template that has it not', '<p style="font-family: Han">𒀁</p>', han, warned('𒀁 (U+12001)')],
    [
      'a font the document brings',
      `<style>@font-face { font-family: z; src: url(asset:font-0.ttf) }</style><p style="font-family: z">𒀀</p>`,
      han,
      [],
    ],
    ['a header', 'x', { header: '<b>𒀀</b>' }, warned('𒀀 (U+12000)')],
    [
      'a script',
      '<script>document.write("\\u{12000}")</script>',
      { javascriptEnabled: true, javascript: true },
      warned('𒀀 (U+12000)'),
    ],
  ])('are warned of, or not: %s', async ([, html, parts, warnings]) => {
    const rendering = await opened().engine.render(aWork(`<!doctype html>${html}`, parts), NEVER)
    expect(rendering.warnings).toEqual(warnings)
  })
})
