/** Text of every script with nothing configured, in both engines: the same faces, real bold ones, and a way back to text. */
import type { RenderWork } from '@platen/renderer/port/engine.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { aRenderWork } from '../../fixture/render/work.ts'
import { anEngine, fontsOf, inspect, isColoured } from '../html/html-fixture.ts'
import { aReactPdfEngine } from '../react-pdf/react-pdf-fixture.ts'

const browser = await anEngine()
const engines = { react_pdf: aReactPdfEngine(), html: browser.engine }

afterAll(() => browser[Symbol.asyncDispose]())

interface Text {
  readonly locale?: string
  readonly family?: string
  readonly weight?: number
}

/** A document of one text, for both engines. */
function aText(text: string, { locale, family, weight = 400 }: Text = {}): RenderWork {
  const families = family === undefined ? '' : `fontFamily: ${JSON.stringify(family)},`
  const reactPdf = `import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => <Document><Page style={{ padding: 20 }}><Text style={{ ${families} fontWeight: ${weight} }}>{data.text}</Text></Page></Document>`
  const css = `${family === undefined ? '' : `font-family: ${JSON.stringify(family)};`} font-weight: ${weight}`
  const html = { template: `<!doctype html><body style='${css}'>{{ text }}`, javascript: false }
  return aRenderWork({ data: { text }, template: { reactPdf, html, ...(locale === undefined ? {} : { locale }) } })
}

/** The two PDFs of a work. */
async function printed(work: RenderWork) {
  const [react, html] = [await engines.react_pdf.render(work, NEVER), await engines.html.render(work, NEVER)]
  return { react, html }
}

/** The fonts that draw a work's text: without those of colours, which have no name. */
async function facesOf(work: RenderWork) {
  const { react, html } = await printed(work)
  return { react: fontsOf(react.pdf), html: fontsOf(html.pdf), warnings: [...react.warnings, ...html.warnings] }
}

/** The text of a PDF without blanks, which pdftotext guesses. */
function lettersOf(pdf: Uint8Array): string {
  return inspect(pdf, 'pdftotext', 'FILE', '-').replaceAll(/\s/g, '').normalize('NFC')
}

const SCRIPTS = [
  ['DejaVuSans', 'العربية עברית Հայերեն ქართული'],
  ['NotoSansDevanagari', 'हिन्दी'],
  ['NotoSansBengali', 'বাংলা'],
  ['NotoSansTamil', 'தமிழ்'],
  ['NotoSansTelugu', 'తెలుగు'],
  ['NotoSansGujarati', 'ગુજરાતી'],
  ['NotoSansGurmukhi', 'ਪੰਜਾਬੀ'],
  ['NotoSansKannada', 'ಕನ್ನಡ'],
  ['NotoSansMalayalam', 'മലയാളം'],
  ['NotoSansOriya', 'ଓଡ଼ିଆ'],
  ['NotoSansSinhala', 'සිංහල'],
  ['NotoSansThai', 'ไทย'],
  ['DejaVuSans', 'ລາວ'],
  ['NotoSansKhmer', 'ខ្មែរ'],
  ['NotoSansEthiopic', 'አማርኛ'],
  ['NotoSansSC', '汉语，。'],
  ['NotoSansSC', 'かな カナ'],
  ['NotoSansKR', '한국어'],
] as const

describe.for(SCRIPTS)('%s', ([face, text]) => {
  test(`draws ${text} in both engines, and pdftotext finds it`, async () => {
    const { react, html } = await printed(aText(text, { family: 'Helvetica' }))
    expect([...react.warnings, ...html.warnings]).toEqual([])
    expect(fontsOf(react.pdf)).toEqual(fontsOf(html.pdf))
    expect(fontsOf(html.pdf)).toContain(face === 'DejaVuSans' ? face : `${face}-Regular`)
    expect(lettersOf(html.pdf)).toContain(text.split(' ').at(-1)?.normalize('NFC'))
  })

  test(`has a bold face of its own for ${text}`, async () => {
    const { react, html } = await facesOf(aText(text, { family: 'Helvetica', weight: 700 }))
    expect(html).toContain(`${face}-Bold`)
    expect(react).toEqual(html)
  })
})

test('draws a document of all scripts in both engines, and nothing is missing', async () => {
  const text = SCRIPTS.map(([, words]) => words).join(' ')
  const { react, html, warnings } = await facesOf(aText(`${text} 日本語 漢語 ∑∫𝔄𝑥 ⎈ 🭰 😀`, { locale: 'ja' }))
  expect(warnings).toEqual([])
  const expected = new Set(SCRIPTS.map(([face]) => (face === 'DejaVuSans' ? face : `${face}-Regular`)))
  expected.delete('NotoSansSC-Regular')
  for (const face of [...expected, 'NotoSansJP-Regular', 'NotoSansMath-Regular', 'NotoSansSymbols2-Regular']) {
    expect(react).toContain(face)
    expect(html).toContain(face)
  }
})

test.for(['น้ำ ทำ ป่า ต่ำ มา', 'ນ້ຳ ຄຳ ມາ'])(
  'finds every vowel of %s again in react_pdf, where AM has a part of its own',
  async (text) => {
    const { react } = await printed(aText(text))
    expect(lettersOf(react.pdf)).toBe(text.replaceAll(' ', ''))
  },
)

describe('Han', () => {
  test.for<[string, string]>([
    ['ja', 'JP'],
    ['ja-JP', 'JP'],
    ['ko', 'KR'],
    ['zh-Hant', 'TC'],
    ['zh-TW', 'TC'],
    ['zh-Hant-HK', 'TC'],
    ['yue', 'TC'],
    ['zh', 'SC'],
    ['zh-Hans-HK', 'SC'],
    ['de', 'SC'],
  ])('of the locale %s has the forms of %s', async ([locale, form]) => {
    const { react, html } = await facesOf(aText('骨直', { locale }))
    expect(html.filter((face) => face.startsWith('NotoSans'))).toEqual([`NotoSans${form}-Regular`])
    expect(react.filter((face) => face.startsWith('NotoSans'))).toEqual([`NotoSans${form}-Regular`])
  })

  test('has in html the forms of the language of its element, whatever was printed before', async () => {
    const of = (lang: string) => `<p lang="${lang}">骨</p>`
    const documents = ['ja', 'zh-TW', 'zh', 'ko'].map((lang) => [lang, of(lang)] as const)
    const faces = async (template: string) => {
      const work = aRenderWork({ template: { html: { template, javascript: false }, locale: 'ja' } })
      return fontsOf((await engines.html.render(work, NEVER)).pdf).filter((face) => face.startsWith('NotoSans'))
    }
    for (const [lang, template] of documents) expect([lang, await faces(template)]).toEqual([lang, [FORMS[lang]]])
    expect(await faces(documents.map(([, template]) => template).join(''))).toEqual(Object.values(FORMS).sort())
    expect(await faces('<p lang="en">骨')).toEqual(['NotoSansSC-Regular'])
    expect(await faces('<p lang="en">骨<p lang="">骨')).toEqual(['NotoSansSC-Regular'])
    expect(await faces('<form><input name="style">骨</form>')).toEqual(['NotoSansJP-Regular'])
  })
})

const FORMS: Readonly<Record<string, string>> = {
  ja: 'NotoSansJP-Regular',
  'zh-TW': 'NotoSansTC-Regular',
  zh: 'NotoSansSC-Regular',
  ko: 'NotoSansKR-Regular',
}

describe('emoji', () => {
  const emoji = '😀👨‍👩‍👧🇩🇪👍🏽❤️1️⃣🏳️‍🌈'

  test('are outlines in react_pdf, one sign each', async () => {
    const { pdf, warnings } = await engines.react_pdf.render(aText(emoji), NEVER)
    expect(warnings).toEqual([])
    expect(fontsOf(pdf)).toEqual(['NotoEmoji-Regular'])
    // The font draws a thumb of any colour alike, and still it is copied with its colour.
    expect(lettersOf(pdf)).toBe(emoji)
  })

  test('are colours in html, drawn as a font of procedures', async () => {
    const { pdf, warnings } = await engines.html.render(aText(emoji), NEVER)
    expect(warnings).toEqual([])
    expect(fontsOf(pdf)).toContain('[none]')
    expect(isColoured(pdf)).toBe(true)
    expect(lettersOf(pdf)).toBe(emoji)
  })

  test('are text where text has a sign for them and does not ask for emoji', async () => {
    const { react, html } = await printed(aText('❤☺✔😀\ufe0e'))
    expect(fontsOf(react.pdf)).toEqual(['DejaVuSans'])
    expect(fontsOf(html.pdf)).toContain('DejaVuSans')
    expect(isColoured(html.pdf)).toBe(false)
  })
})
