import type { FontReference } from '@platen/contract/domain/tenant.ts'
import type { Rendering } from '@platen/renderer/port/engine.ts'
import { describe, expect, test } from 'vitest'
import { aDisc, aFont, aJpeg, anAsset, aPhoto, aPng, dataUrl } from '../../fixture/asset.ts'
import { imagesOf, inspectPdf, pictureOf, wordsOf } from '../../topology/oracle.ts'
import { aReactPdfEngine, aWork, type WorkFields } from './react-pdf-fixture.ts'

const engine = aReactPdfEngine()

/** Past it a render hangs: all of these take a fraction of a second. */
const DEADLINE_MS = 20_000

function rendering(fields: WorkFields): Promise<Rendering> {
  return engine.render(aWork(fields), AbortSignal.timeout(DEADLINE_MS))
}

/** The PDF alone. */
async function render(fields: WorkFields): Promise<Uint8Array> {
  return (await rendering(fields)).pdf
}

/** A page of 300 by 200 points without margins. */
function aPage(content: string, style = ''): string {
  return `<Page size={[300, 200]} style={{ ${style} }}>${content}</Page>`
}

const photo = anAsset('photo.jpg', aPhoto())
const logo = anAsset('logo.png', aPng({ width: 20, height: 10, pixels: Buffer.alloc(10 * 81) }))

describe('an image', () => {
  test('of the template is shown under its name, in every way react-pdf has of saying it', async () => {
    const images = ['src="asset:logo.png"', 'source="asset:logo.png"', "src={{ uri: 'asset:photo.jpg' }}"]
    const document = aPage(images.map((image) => `<Image ${image} style={{ width: 40 }} />`).join(''))
    const listed = await imagesOf(await render({ document, assets: [logo, photo] }))
    expect(new Set(listed)).toEqual(new Set(['image image 20×10', 'smask image 20×10', 'image jpeg 14×12']))
  })

  test('is found where a render function shows it', async () => {
    const document = aPage('<View render={() => <Image src="asset:photo.jpg" style={{ width: 40, height: 40 }} />} />')
    expect(await imagesOf(await render({ document, assets: [photo] }))).toEqual(['image jpeg 14×12'])
  })

  test.for([1, 2, 4] as const)('of a palette with transparency in %s bits looks as one of eight', async (bits) => {
    const pictures = await Promise.all(
      ([bits, 8] as const).map(async (each) => {
        const disc = anAsset('disc.png', aDisc({ bits: each, transparency: [0, 255] }))
        const document = aPage('<Image src="asset:disc.png" style={{ width: 150 }} />', "backgroundColor: '#cfc'")
        return pictureOf(await render({ document, assets: [disc] }))
      }),
    )
    expect(pictures[0]?.equals(pictures[1] ?? Buffer.alloc(0))).toBe(true)
  })

  test.for([
    ['there is not', 'asset:lgo.png', /image asset:lgo\.png: there is no such asset \(did you mean logo\.png\?\)/],
    ['is an SVG without a size', 'asset:mark.svg', /the SVG has neither a viewBox nor a width and a height/],
    ['is a font', 'asset:brand-regular.ttf', /this is a TrueType font/],
    ['only react-pdf finds damaged', 'asset:odd.jpg', /image asset:odd\.jpg: the image is damaged/],
    ['only react-pdf finds damaged, in a URL', dataUrl(aJpeg({ width: 9 }), 'jpeg'), /an image: the image is damaged/],
  ] as const)('that %s is asset_unavailable', async ([, src, message]) => {
    const mark = anAsset('mark.svg', Buffer.from('<svg/>'))
    const assets = [logo, mark, aFont('brand-regular.ttf'), anAsset('odd.jpg', aJpeg())]
    await expect(render({ document: aPage(`<Image src="${src}" />`), assets })).rejects.toMatchObject({
      code: 'asset_unavailable',
      message: expect.stringMatching(message),
    })
  })
})

function aFace(asset: string, fields: Partial<FontReference> = {}): FontReference {
  return { family: 'Brand', weight: 400, style: 'normal', asset, ...fields }
}

/** A template of a font family of some faces, under the name Brand unless they say otherwise. */
function inFonts(document: string, ...faces: readonly FontReference[]): WorkFields {
  const files = [...new Set(faces.map(({ asset }) => asset))]
  return { document, template: { fonts: faces }, assets: files.map((file) => aFont(file)) }
}

const WORDS = 'Zażółć gęślą jaźń, 42 €'
const regular = aFace('brand-regular.ttf')
const bold = aFace('brand-bold.ttf', { weight: 700 })

function brandText(text: string, style = ''): string {
  return `<Text style={{ fontFamily: 'Brand', ${style} }}>${text}</Text>`
}

describe('a font of the template', () => {
  const drawn = (file: string) => render(inFonts(aPage(brandText(WORDS)), aFace(file)))

  test.for([
    ['TrueType', 'brand-regular.ttf', 'PlatenBrand-Regular'],
    ['CFF', 'brand-cubic.otf', 'PlatenBrand-Cubic'],
    ['WOFF', 'brand-regular.woff', 'PlatenBrand-Regular'],
    ['WOFF2', 'brand-regular.woff2', 'PlatenBrand-Regular'],
    ['WOFF2 with side bearings left out', 'brand-bold.woff2', 'PlatenBrand-Bold'],
  ] as const)('in %s is embedded, and its text can be read', async ([, file, name]) => {
    const facts = await inspectPdf(await drawn(file))
    expect(facts.text).toContain(WORDS)
    expect(facts.fonts).toEqual([{ name: expect.stringContaining(name), isEmbedded: true, hasUnicode: true }])
  })

  test.for([
    ['brand-regular.woff', 'brand-regular.ttf'],
    ['brand-regular.woff2', 'brand-regular.ttf'],
    ['brand-bold.woff2', 'brand-bold.ttf'],
  ] as const)('looks the same from %s as from %s', async ([packed, plain]) => {
    const [one, other, blank] = [await drawn(packed), await drawn(plain), await render({ document: aPage('') })]
    const [picture, expected, nothing] = await Promise.all([one, other, blank].map(pictureOf))
    expect(picture?.equals(expected ?? Buffer.alloc(0))).toBe(true)
    expect(picture?.equals(nothing ?? Buffer.alloc(0))).toBe(false)
  })

  test.for([
    ['its own weight', "fontWeight: 'bold'", [regular, bold], 'Bold'],
    ['the nearest weight', 'fontWeight: 600', [regular, bold], 'Bold'],
    ['upright for a slant there is not', "fontStyle: 'italic'", [regular, bold], 'Regular'],
    ['upright and bold for a slant there is not', "fontStyle: 'oblique', fontWeight: 700", [regular, bold], 'Bold'],
    ['the only weight there is', 'fontWeight: 300', [bold], 'Bold'],
    ['a slant of its own', "fontStyle: 'italic'", [regular, aFace('brand-bold.ttf', { style: 'italic' })], 'Bold'],
  ] as const)('is drawn in %s', async ([, style, faces, face]) => {
    const { fonts } = await inspectPdf(await render(inFonts(aPage(brandText(WORDS, style)), ...faces)))
    expect(fonts.map(({ name }) => name)).toEqual([expect.stringContaining(`PlatenBrand-${face}`)])
  })

  test('draws in drawings, in render functions and in texts within texts, and leaves other letters to the default fonts', async () => {
    const drawing = `<Svg width={200} height={40}><Text x={10} y={20} style={{ fontFamily: 'Brand', fontWeight: 'bold' }}>łódź</Text></Svg>`
    const dynamic = `<Text style={{ fontFamily: 'Brand' }} render={() => 'jaźń'} />`
    const nested = `<Text>plain <Text style={{ fontFamily: 'Brand' }}>gęślą Ω</Text></Text>`
    const { fonts, text } = await inspectPdf(await render(inFonts(aPage(drawing + dynamic + nested), regular, bold)))
    for (const word of ['łódź', 'jaźń', 'plain gęślą Ω']) expect(text).toContain(word)
    const names = fonts.map(({ name }) => name.replace(/^.*\+/, '').replace(/-[0-9a-f]{8}$/, ''))
    expect(names.toSorted()).toEqual(['DejaVuSans', 'PlatenBrand-Bold', 'PlatenBrand-Regular'])
  })

  test.for(['Helvetica', 'DejaVu Sans'])('wins where it is called %s, and only within its template', async (family) => {
    const document = aPage(`<Text style={{ fontFamily: '${family}' }}>word</Text>`)
    const own = await inspectPdf(await render(inFonts(document, { ...regular, family })))
    expect(own.fonts.map(({ name }) => name)).toEqual([expect.stringContaining('PlatenBrand')])
    const others = await inspectPdf(await render({ document }))
    expect(others.fonts.map(({ name }) => name)).toEqual([
      expect.stringContaining(family === 'Helvetica' ? 'Arimo' : 'DejaVuSans'),
    ])
  })

  test('is not there for the next template of the same thread', async () => {
    const document = aPage(brandText(WORDS))
    await render(inFonts(document, regular))
    await expect(render({ document, tenant: 'other' })).rejects.toMatchObject({
      code: 'template_error',
      message: expect.stringMatching(/there is no such font family; there are DejaVu Sans/),
    })
    const theirs = await inspectPdf(await render({ ...inFonts(document, aFace('brand-bold.ttf')), tenant: 'other' }))
    expect(theirs.fonts.map(({ name }) => name)).toEqual([expect.stringContaining('PlatenBrand-Bold')])
  })

  test('that is damaged is asset_unavailable each time, and hurts nobody else', async () => {
    const broken = inFonts(aPage(brandText(WORDS)), regular)
    const assets = [anAsset(regular.asset, aFont(regular.asset).bytes.slice(0, 3000))]
    for (let time = 0; time < 2; time += 1) {
      await expect(render({ ...broken, assets })).rejects.toMatchObject({
        code: 'asset_unavailable',
        message: 'asset brand-regular.ttf: the font is damaged',
      })
    }
    expect((await inspectPdf(await render(broken))).text).toContain(WORDS)
  })
})

test('a document is the same whatever fonts and images its thread has drawn before', async () => {
  const document = aPage(`${brandText('office AVA jaźń')}<Text>office AVA</Text><Image src="asset:logo.png" />`)
  const work = (): WorkFields => {
    const fields = inFonts(document, regular, bold)
    return { ...fields, assets: [...(fields.assets ?? []), logo] }
  }
  const before = await render(work())
  // Other letters first, accented ones before the plain ones they are made of, other fonts, other images.
  await render(inFonts(aPage(brandText('źńąj ﬁ ﬀ VAO Ω 漢')), regular))
  await render({
    ...inFonts(aPage(`${brandText(WORDS)}<Image src="asset:photo.jpg" />`), aFace('brand-cubic.otf')),
    assets: [aFont('brand-cubic.otf'), photo],
  })
  expect(Buffer.from(before).equals(await render(work()))).toBe(true)
})

describe('characters no font has', () => {
  test.for([
    ['nothing that can be seen', 'word\u00ad\u200b\u2060 \u00a0end', undefined],
    ['nothing of a mark without a letter of its own', '\ufe0f\u200d', undefined],
    ['a script', '𒀀𒀁 word 𒀀', '𒀀 (U+12000), 𒀁 (U+12001)'],
    ['beyond the first plane', 'a𐎀', '𐎀 (U+10380)'],
  ] as const)('are reported once: %s', async ([, text, named]) => {
    const message = `no font of the document has ${named}`
    const expected = named === undefined ? [] : [{ code: 'missing_glyph', place: 'template.tsx:3:86', message }]
    for (const family of ['DejaVu Sans', 'Helvetica', 'Courier']) {
      const document = aPage(`<Text style={{ fontFamily: '${family}' }}>{data.text}</Text>`)
      expect((await rendering({ document, data: { text } })).warnings).toEqual(expected)
    }
  })

  test('are found in drawings, in render functions and in a font of the template', async () => {
    const drawing = '<Svg width={50} height={20}><Text x={1} y={10}>𒀂</Text></Svg>'
    const work = inFonts(aPage(`${drawing}${brandText('𒀀')}<Text render={() => '𒀁'} />`), regular)
    const { warnings } = await rendering(work)
    expect(warnings).toEqual([
      {
        code: 'missing_glyph',
        place: 'template.tsx:3:86',
        message: 'no font of the document has 𒀂 (U+12002), 𒀀 (U+12000), 𒀁 (U+12001)',
      },
    ])
  })

  test('are not reported where they were cut off', async () => {
    const text = `<Text style={{ width: 100, maxLines: 1, textOverflow: 'ellipsis' }}>${'word '.repeat(20)}𒀀</Text>`
    expect((await rendering({ document: aPage(text) })).warnings).toEqual([])
  })
})

test.for([
  ['within a text of the same font', 'Ж<Text style={{ color: "#f00" }}>Ω</Text>Ж', 'ЖΩЖ'],
  ['behind an emoji', '😀Ω', '😀Ω'],
  ['that are emoji, one behind the other', '😀😃 ok', '😀😃 ok'],
  ['behind a sign that may be an emoji', '©Ω 2026', '©Ω 2026'],
] as const)('letters the first font has not come out right %s', async ([, content, text]) => {
  const document = aPage(`<Text style={{ fontFamily: 'Helvetica' }}>${content}</Text>`)
  expect((await inspectPdf(await render({ document }))).text).toContain(text)
})

describe('a margin', () => {
  const word = '<Text style={{ fontSize: 10, lineHeight: 1 }}>word</Text>'
  const placed = async (fields: WorkFields) => {
    const [first] = await wordsOf(await render(fields))
    return first === undefined
      ? undefined
      : { x: Math.round(first.x), right: Math.round(first.right), y: Math.round(first.y) }
  }

  test('of 50 has the text begin 50 points from the left and from the top', async () => {
    expect(await placed({ document: aPage(word), options: { margin: 50 } })).toMatchObject({ x: 50, y: 50 })
  })

  test.for([
    ['left', { left: '1in' }, word, { x: 72, y: 5 }],
    ['top', { top: 30 }, word, { x: 5, y: 30 }],
    ['right', { right: '20mm' }, word.replace('fontSize', "textAlign: 'right', fontSize"), { right: 243 }],
    ['bottom', { bottom: 40 }, `<View style={{ flexGrow: 1, justifyContent: 'flex-end' }}>${word}</View>`, { y: 150 }],
  ] as const)('on the %s leaves the other sides to the template', async ([, margin, content, place]) => {
    expect(await placed({ document: aPage(content, 'padding: 5'), options: { margin } })).toMatchObject(place)
  })

  test('that leaves no room is refused by its name and the size of the page', async () => {
    await expect(
      render({ document: '<Page size="A6"><Text>word</Text></Page>', options: { margin: 500 } }),
    ).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringMatching(/options\.margin leaves 0 × 0 of a page of 297\.6 × 419\.5 points/),
    })
  })
})

test.for([
  ['a name', 'size="A5"', {}, [420, 595]],
  ['a name of another series, turned', 'size="b6" orientation="landscape"', {}, [499, 354]],
  ['a pair', 'size={[200, 300]}', {}, [200, 300]],
  ['an object', 'size={{ width: 200, height: 300 }}', {}, [200, 300]],
  ['lengths', "size={['100mm', '8in']}", {}, [283, 576]],
  ['pixels', "size={['600px', '300px']} dpi={144}", {}, [300, 150]],
  ['a name, turned by the options', 'size="A5"', { orientation: 'landscape' }, [595, 420]],
  ['a pair that lies, turned upright', 'size={[300, 200]}', { orientation: 'portrait' }, [200, 300]],
  ['lengths that lie already', "size={['8in', '100mm']}", { orientation: 'landscape' }, [576, 283]],
  ['pixels, turned', "size={['600px', '300px']} dpi={144}", { orientation: 'portrait' }, [150, 300]],
  ['anything, replaced', 'size="A5" orientation="landscape"', { page_size: 'A6', orientation: 'portrait' }, [298, 420]],
] as const)('a page has the size of %s', async ([, props, options, size]) => {
  const facts = await inspectPdf(await render({ document: `<Page ${props}><Text>word</Text></Page>`, options }))
  expect(facts.size.map(Math.round)).toEqual(size)
})

test('a document carries its metadata', async () => {
  const source = (props: string) => `import { Document, Page } from '@react-pdf/renderer'
export default () => <Document ${props}><Page /></Document>`
  const plain = Buffer.from(await render({ source: source(''), template: { locale: 'pl-PL' } })).toString('latin1')
  for (const entry of ['/Lang (pl-PL)', '(Invoice)', '(template:invoice, version:3)']) expect(plain).toContain(entry)
  const props = 'title="Faktura" author="ACME" subject="May" language="de" keywords="due"'
  const own = Buffer.from(await render({ source: source(props), template: { locale: 'pl-PL' } })).toString('latin1')
  for (const entry of ['/Lang (de)', '(Faktura)', '(ACME)', '(May)', '(due, template:invoice, version:3)']) {
    expect(own).toContain(entry)
  }
})

const LOGO_SVG = `<?xml version="1.0"?><!-- made by hand --><svg xmlns="http://www.w3.org/2000/svg" xmlns:sodipodi="http://sodipodi.example" width="100px" height="50" viewBox="0 0 200 100" data-name="logo">
<title>A logo</title><metadata><b/></metadata><sodipodi:namedview/><defs><linearGradient id="down" x1="0%" y1="0%" x2="0%" y2="100%"><stop offset="0" style="stop-color:#ff0000"/><stop offset="1" stop-color="#0000ff"/></linearGradient></defs>
<g fill="none" class="all"><path d="M0 0H200V100H0Z" fill="url(#down)" stroke-width="2px"/></g><text x="10" y="60" font-size="30px" fill="#ffffff">Wing &amp; Co</text></svg>`

describe('an SVG image', () => {
  const logoSvg = anAsset('logo.svg', Buffer.from(LOGO_SVG))

  test.for<[string, string]>([
    ['an asset', '<Image src="asset:logo.svg" />'],
    ['an asset in a style', '<Image src="asset:logo.svg" style={{ width: 100, height: 50 }} />'],
    ['a data URL', `<Image src="data:image/svg+xml;base64,${Buffer.from(LOGO_SVG).toString('base64')}" />`],
  ])('that is %s is drawn as vectors, its gradient from top to bottom, its text as text', async ([, image]) => {
    const pdf = await render({ document: aPage(image), assets: [logoSvg] })
    expect(await imagesOf(pdf)).toEqual([])
    expect((await wordsOf(pdf)).map(({ word }) => word)).toEqual(['Wing', '&amp;', 'Co'])
    const picture = await pictureOf(pdf)
    // 150 by 100 pixels in three bytes each, at the end: half a pixel a point.
    const pixel = (x: number, y: number) =>
      Array.from(picture.subarray(picture.length - 45_000 + 3 * (150 * y + x)).subarray(0, 3))
    const [top, topRight, bottom] = [pixel(2, 2), pixel(47, 2), pixel(2, 22)]
    expect(top[0]).toBeGreaterThan(200)
    expect(topRight).toEqual(top)
    expect(bottom[2]).toBeGreaterThan(200)
    expect(pixel(55, 2)).toEqual([255, 255, 255])
  })

  test.for([
    ['without a fill', '<path d="M0 0H9V9H0Z"/>'],
    ['with the current color', '<path d="M0 0H9V9H0Z" fill="currentColor"/>'],
    [
      'with a current color of its own',
      '<g color="black"><path d="M0 0H9V9H0Z" color="#000" fill="currentColor"/></g>',
    ],
  ])('draws a shape %s in black', async ([, shape]) => {
    const [one, other, blank] = await Promise.all(
      [shape, '<path d="M0 0H9V9H0Z" fill="#000000"/>', ''].map(async (part) => {
        const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="90" height="90">${part}</svg>`
        const assets = [anAsset('a.svg', Buffer.from(svg))]
        return pictureOf(await render({ document: aPage('<Image src="asset:a.svg" />'), assets }))
      }),
    )
    expect(one).toEqual(other)
    expect(one).not.toEqual(blank)
  })

  test.for([
    ['<use href="#a"/>', 'react_pdf cannot draw <use> of an SVG: write the shape where it is used'],
    [
      '<style>path { fill: red }</style>',
      'react_pdf cannot draw <style> of an SVG: write its rules as attributes of the elements',
    ],
    ['<script>1</script>', 'react_pdf cannot draw <script> of an SVG'],
    ['<image href="http://127.0.0.1/a.png"/>', 'react_pdf cannot draw <image> of an SVG'],
    ['<g filter="url(#blur)"/>', 'react_pdf cannot draw filter of an SVG'],
    ['<path d="M0 0">', 'the SVG is not well-formed XML'],
    [`${'<g>'.repeat(300)}${'</g>'.repeat(300)}`, 'the SVG has too many elements'],
  ])('with %s is refused, because it would look otherwise', async ([part, message]) => {
    const file = anAsset(
      'bad.svg',
      Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${part}</svg>`),
    )
    await expect(render({ document: aPage('<Image src="asset:bad.svg" />'), assets: [file] })).rejects.toThrow(message)
  })

  test('is no background', async () => {
    const document = aPage('<ImageBackground src="asset:logo.svg" />')
    const source = `import { Document, Page, ImageBackground } from '@react-pdf/renderer'\nexport default () => <Document>${document}</Document>`
    await expect(render({ source, assets: [logoSvg] })).rejects.toThrow('it shows PNG and JPEG; <Image> also shows SVG')
  })
})
