/** The standard PDF families in react_pdf: embedded faces that take the room that the fonts of PDF readers took. */
import { Font } from '@react-pdf/renderer'
import { expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { inspectPdf } from '../../topology/oracle.ts'
import { fontsOf, inspect } from '../html/html-fixture.ts'
import { aReactPdfEngine, aWork } from '../react-pdf/react-pdf-fixture.ts'

const engine = aReactPdfEngine()

async function print(text: string, style: Record<string, unknown>): Promise<Uint8Array> {
  const document = `<Page><Text style={${JSON.stringify({ ...style, alignSelf: 'flex-start' })}}>{data.text}</Text></Page>`
  const { pdf, warnings } = await engine.render(aWork({ document, data: { text } }), NEVER)
  expect(warnings).toEqual([])
  return pdf
}

/** The width of the one line of a PDF, in points. */
function widthOf(pdf: Uint8Array): number {
  const words = [
    ...inspect(pdf, 'pdftotext', '-bbox', 'FILE', '-').matchAll(/<word xMin="([\d.]+)"[^>]* xMax="([\d.]+)"/g),
  ]
  return Math.max(...words.map(([, , right]) => Number(right))) - Math.min(...words.map(([, left]) => Number(left)))
}

/** The width that the tables of the PDF specification give a text. react-pdf has them. */
async function standardWidth(family: string, text: string): Promise<number> {
  const source = Font.getRegisteredFonts()[family]?.resolve({ fontFamily: family })
  await source?.load()
  const font = source?.data as unknown as { layout(text: string): { advanceWidth: number } }
  return font.layout(text).advanceWidth
}

const TEXT = 'AVATAR Today: Total 1.234,56 EUR, The quick brown fox jumps over the lazy dog.'

test.for([
  ['Helvetica', 'Arimo-Regular'],
  ['Helvetica-Bold', 'Arimo-Bold'],
  ['Helvetica-Oblique', 'Arimo-Italic'],
  ['Helvetica-BoldOblique', 'Arimo-BoldItalic'],
  ['Times-Roman', 'Tinos-Regular'],
  ['Times-Bold', 'Tinos-Bold'],
  ['Times-Italic', 'Tinos-Italic'],
  ['Times-BoldItalic', 'Tinos-BoldItalic'],
  ['Courier', 'Cousine-Regular'],
  ['Courier-Bold', 'Cousine-Bold'],
  ['Courier-Oblique', 'Cousine-Italic'],
  ['Courier-BoldOblique', 'Cousine-BoldItalic'],
] as const)('%s is %s, embedded, and as wide', async ([family, face]) => {
  const pdf = await print(TEXT, { fontFamily: family, fontSize: 10 })
  expect(fontsOf(pdf)).toEqual([face])
  expect((await inspectPdf(pdf)).fonts).toMatchObject([{ isEmbedded: true, hasUnicode: true }])
  const expected = (await standardWidth(family, TEXT)) / 100
  expect(Math.abs(widthOf(pdf) / expected - 1)).toBeLessThan(0.001)
})

test.for([
  ['Arial', 'Arimo'],
  ['sans-serif', 'Arimo'],
  ['Times New Roman', 'Tinos'],
  ['Times', 'Tinos'],
  ['serif', 'Tinos'],
  ['Courier New', 'Cousine'],
  ['monospace', 'Cousine'],
] as const)('%s is a name of %s, in each weight and style, with Greek and Cyrillic', async ([fontFamily, face]) => {
  const faces = [
    ['Regular', {}],
    ['Bold', { fontWeight: 700 }],
    ['Italic', { fontStyle: 'italic' }],
    ['BoldItalic', { fontWeight: 'bold', fontStyle: 'italic' }],
  ] as const
  for (const [name, style] of faces) {
    const pdf = await print('Łódź Ελληνικά Привет', { fontFamily, ...style })
    expect(fontsOf(pdf)).toEqual([`${face}-${name}`])
  }
})

test('a style may ask for kerning', async () => {
  const [plain, kerned] = [
    await print('AVATAR', { fontFamily: 'Helvetica' }),
    await print('AVATAR', { fontFamily: 'Helvetica', fontFeatureSettings: ['kern'] }),
  ]
  expect(widthOf(kerned)).toBeLessThan(widthOf(plain) - 1)
})

test('the default is DejaVu Sans, as before', async () => {
  expect(fontsOf(await print('word', {}))).toEqual(['DejaVuSans'])
})
