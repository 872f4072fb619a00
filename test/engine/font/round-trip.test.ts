/** What is printed is read back: every character of every built-in face, in both engines, is drawn, has its width, and is itself in the text. */

import {
  COLOR_EMOJI_FAMILY,
  defaultFaces,
  EMOJI_FAMILY,
  type FontFace,
} from '@platen/renderer/template/asset/font/default-fonts.ts'
import { openFont } from '@platen/renderer/template/asset/font/font-file.ts'
import { readFont } from '@platen/renderer/template/asset/font/shared-font.ts'
import { plainText } from '@platen/renderer/template/asset/fonts.ts'
import { assert, asyncProperty, constantFrom, string } from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { aFontOf, anAsset, BLANK_GLYPH } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { aRenderWork } from '../../fixture/render/work.ts'
import { IS_LONG } from '../../run/form.ts'
import { anEngine, barsAt, fontsOf, inspect } from '../html/html-fixture.ts'
import { aReactPdfEngine } from '../react-pdf/react-pdf-fixture.ts'
import { CORPUS } from '../text/corpus.ts'

const browser = await anEngine()
const engines = { react_pdf: aReactPdfEngine(), html: browser.engine }
afterAll(() => browser[Symbol.asyncDispose]())

const FONT_SIZE = 8
const COLUMNS = 8
const COLUMN_WIDTH = 68
const ROW_HEIGHT = 30
/** Room for marks above and below. */
const ROW_PADDING = 10
const MARGIN = 20
/** Characters of a document. Faces of Han have 30,000, each of them alike. */
const CHARACTERS_MAX = IS_LONG ? 100_000 : 6000

/** Characters that pdftotext leaves out or turns around, and those that are not text. */
const NOT_READ = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u
/** Marks, and letters that a font draws in another order or with others. pdftotext may read their parts in the order of drawing. */
const COMPOSED = /[\p{M}\p{Bidi_Control}]|[\u0590-\u0dff\u1000-\u109f\u1780-\u17ff\ufb1d-\ufdff\ufe70-\ufeff]/u

/** Both engines draw these with their font of emoji. */
const EMOJI = /\p{Emoji_Presentation}/u

interface Cell {
  readonly code: string
  readonly text: string
}

/** The characters of a face that a reader sees, each behind its number. A mark stands over a letter. */
function cellsOf(face: FontFace): readonly Cell[] {
  const { characterSet } = openFont(readFont(face))
  const characters = characterSet.filter((code) => (code & ~0x7ff) !== 0xd800).map((code) => String.fromCodePoint(code))
  return characters
    .filter((character) => !NOT_READ.test(character))
    .slice(0, CHARACTERS_MAX)
    .map((character) => ({
      code: `${character.codePointAt(0)?.toString(16)}:`,
      text: /\p{M}/u.test(character) ? `o${character}` : character,
    }))
}

const REACT_PDF = `import { Document, Page, Text, View } from '@react-pdf/renderer'
export default ({ data }) => <Document><Page style={{ fontSize: ${FONT_SIZE}, padding: ${MARGIN} }}>{data.rows.map((row, at) =>
  <View key={at} style={{ flexDirection: 'row', height: ${ROW_HEIGHT}, paddingTop: ${ROW_PADDING} }} wrap={false}>{row.map(({ code, text }) =>
    <Text key={code} style={{ width: ${COLUMN_WIDTH} }}>{code} <Text style={data.style}>{text}</Text></Text>)}</View>)}</Page></Document>`

const HTML = `<!doctype html><style>
  @page { margin: ${MARGIN}pt } body { margin: 0; font: ${FONT_SIZE}pt/10pt 'DejaVu Sans' }
  div { display: flex; box-sizing: border-box; height: ${ROW_HEIGHT}pt; padding-top: ${ROW_PADDING}pt; break-inside: avoid } p { width: ${COLUMN_WIDTH}pt; margin: 0 }
  b { font: {{ style.fontStyle }} {{ style.fontWeight }} ${FONT_SIZE}pt/10pt '{{ style.fontFamily }}' }
</style>{% for row in rows %}<div>{% for cell in row %}<p>{{ cell.code }} <b>{{ cell.text }}</b></p>{% endfor %}</div>{% endfor %}`

function workOf(face: FontFace, cells: readonly Cell[]) {
  const rows = Array.from({ length: Math.ceil(cells.length / COLUMNS) }, (_, at) =>
    cells.slice(at * COLUMNS, (at + 1) * COLUMNS).map(({ code, text }) => ({ code, text })),
  )
  const style = { fontFamily: face.family, fontWeight: face.weight, fontStyle: face.style }
  const html = { template: HTML, javascript: false }
  return aRenderWork({ data: { rows, style }, template: { reactPdf: REACT_PDF, html } })
}

interface Word {
  readonly text: string
  readonly width: number
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** What stands behind each number in its cell, as pdftotext reads it. */
function wordsOf(pdf: Uint8Array): ReadonlyMap<string, Word> {
  const words = new Map<string, Word>()
  for (const page of inspect(pdf, 'pdftotext', '-bbox', 'FILE', '-').split('<page ').slice(1)) {
    const cells = new Map<string, { code?: string; text: string; width: number }>()
    for (const [, left, top, right, bottom, written = ''] of page.matchAll(WORD)) {
      const row = Math.floor(((Number(top) + Number(bottom)) / 2 - MARGIN) / ROW_HEIGHT)
      const place = `${row} ${Math.floor((Number(left) - MARGIN) / COLUMN_WIDTH)}`
      const cell = cells.get(place) ?? { text: '', width: 0 }
      cells.set(place, cell)
      const text = written.replaceAll(/&(\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity)
      if (cell.code === undefined && /^[0-9a-f]{2,5}:$/.test(text)) cell.code = text
      else Object.assign(cell, { text: cell.text + text, width: cell.width + Number(right) - Number(left) })
    }
    for (const { code, ...word } of cells.values()) if (code !== undefined) words.set(code, word)
  }
  return words
}

const WORD = /<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">([^<]*)</g

/** Without what pdftotext adds to text from the right. Composed characters are compared by their parts. */
function comparable(text: string, isComposed: boolean): string {
  const letters = plainText(text).replaceAll(/[\s\u202a-\u202e]/g, '')
  return isComposed ? Array.from(letters.normalize('NFC').normalize('NFD')).sort().join('') : letters
}

/** Emoji are outlines in react_pdf, and have colours in html. */
const FACES = {
  react_pdf: defaultFaces().filter(({ family }) => family !== COLOR_EMOJI_FAMILY),
  html: defaultFaces().filter(({ family }) => family !== COLOR_EMOJI_FAMILY && family !== EMOJI_FAMILY),
}

describe.for(['react_pdf', 'html'] as const)('%s', (engine) => {
  test.for(FACES[engine])('prints each character of $family $weight $style so that it is read back', async (face) => {
    const cells = cellsOf(face)
    expect(cells.length).toBeGreaterThan(300)
    const { pdf, warnings } = await engines[engine].render(workOf(face, cells), NEVER)
    expect(warnings).toEqual([])
    const words = wordsOf(pdf)
    const wrong = cells.filter(({ code, text }) => {
      const isComposed = COMPOSED.test(text)
      const read = words.get(code)?.text ?? ''
      return comparable(read, isComposed) !== comparable(text, isComposed)
    })
    expect(wrong.map(({ code, text }) => `${code} ${text} ${words.get(code)?.text}`)).toEqual([])
    const font = openFont(readFont(face))
    const thin = cells.filter(({ code, text }) => {
      if (COMPOSED.test(text) || EMOJI.test(text) || plainText(text) !== text) return false
      const glyph = font.glyphForCodePoint(text.codePointAt(0) ?? 0)
      // Chromium takes another form of this sign for Han.
      if (engine === 'html' && text === '\u22ef') return false
      const expected = (glyph.advanceWidth / font.unitsPerEm) * FONT_SIZE
      return Math.abs((words.get(code)?.width ?? 0) - expected) > 0.1
    })
    expect(thin.map(({ code, text }) => `${code} ${text} ${words.get(code)?.width}`)).toEqual([])
  })
})

/** Characters that share a glyph in some of the faces, and some others. */
const SHARING = '-\u2010\u2011\u2212\u00b5\u03bc\u03a9\u2126\u00c5\u212b\u0394\u2206\u00b7\u2219\u2022ABafil0'

/** A text alone on a page, and what is read of it. */
async function readBack(engine: 'react_pdf' | 'html', text: string, family: string): Promise<string> {
  const reactPdf = `import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => <Document><Page style={{ padding: 20, fontFamily: ${JSON.stringify(family)} }}><Text>{data.text}</Text></Page></Document>`
  const html = { template: `<!doctype html><body style="font-family: '${family}'">{{ text }}`, javascript: false }
  const { pdf } = await engines[engine].render(aRenderWork({ data: { text }, template: { reactPdf, html } }), NEVER)
  return inspect(pdf, 'pdftotext', '-raw', 'FILE', '-').replaceAll(/\s/g, '')
}

describe.for(['react_pdf', 'html'] as const)('a text of %s', (engine) => {
  test.for(['Helvetica', 'Times', 'Courier', 'DejaVu Sans'])(
    'in %s is read back, whatever was printed before it',
    async (family) => {
      for (const { text } of CORPUS.filter(({ text }) => !COMPOSED.test(text)))
        expect(await readBack(engine, text, family)).toBe(text.replaceAll(/\s/g, ''))
    },
  )

  test('of characters that share a glyph is read back as written', async () => {
    const character = constantFrom(...Array.from(SHARING))
    const word = string({ unit: character, minLength: 1, maxLength: 40 })
    const family = constantFrom('Helvetica', 'Times', 'Courier', 'DejaVu Sans', 'DejaVu Serif')
    await assert(
      asyncProperty(word, family, async (text, family) => {
        expect(await readBack(engine, text, family)).toBe(text)
      }),
      { numRuns: IS_LONG ? 500 : 50 },
    )
  })
})

describe("in react_pdf, a template's own font", () => {
  const printed = async (text: string, bytes: Uint8Array) => {
    const template = {
      reactPdf: `import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => <Document><Page style={{ fontFamily: 'Own' }}><Text>{data.text}</Text></Page></Document>`,
      fonts: [{ family: 'Own', weight: 400, style: 'normal' as const, asset: 'own.ttf' }],
    }
    return engines.react_pdf.render(
      aRenderWork({ data: { text }, template, assets: [anAsset('own.ttf', bytes)] }),
      NEVER,
    )
  }

  test('whose characters share one glyph gives each of them back', async () => {
    const characters = '-\u00adA\u2126\u{1f600}'
    const { pdf, warnings } = await printed('-A\u2126-A', aFontOf(characters))
    expect(warnings).toEqual([])
    expect(fontsOf(pdf)).toHaveLength(1)
    expect(inspect(pdf, 'pdftotext', 'FILE', '-').trim()).toBe('-A\u2126-A')
  })

  test('that has an empty glyph for a letter leaves the letter to another font', async () => {
    const { pdf, warnings } = await printed('AB', aFontOf('AB', BLANK_GLYPH))
    expect(warnings).toEqual([])
    expect(fontsOf(pdf)).toContain('DejaVuSans')
    expect(inspect(pdf, 'pdftotext', 'FILE', '-').trim()).toBe('AB')
    expect(isBlank(pdf)).toBe(false)
  })
})

/** Whether the first page has no dark pixel. */
function isBlank(pdf: Uint8Array): boolean {
  return barsAt(pdf, 8).length === 0
}
