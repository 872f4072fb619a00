import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { assert, constantFrom, integer, oneof, property, string } from 'fast-check'
import type { Font } from 'fontkit'
import { expect, test } from 'vitest'
import { defaultFaces } from '../../../../template/asset/font/default-fonts.ts'
import { openFont } from '../../../../template/asset/font/font-file.ts'
import { fontSubstitution } from '../../../text/font-run.ts'
import { withCorrections } from '../correction.ts'
import { plainRuns } from './text.ts'

type Run = {
  readonly glyphs: readonly { readonly id: number }[]
  readonly attributes: { readonly font: readonly Font[] }
}
type Lines = readonly (readonly { readonly runs: readonly Run[] }[])[]

interface Textkit {
  readonly default: (engines: object) => (text: object, container: object, options: object) => Lines
  readonly bidi: unknown
}

const TEXTKIT = pathToFileURL(
  createRequire(createRequire(import.meta.url).resolve('@react-pdf/layout')).resolve('@react-pdf/textkit'),
).href

const plain = (await import(`${TEXTKIT}?plain`)) as Textkit
const own = (await withCorrections(() => import(`${TEXTKIT}?own`))) as Textkit
const fonts = defaultFaces()
  .filter(({ family }) => family === 'DejaVu Sans' || family === 'Noto Sans Hebrew')
  .map(({ file }) => openFont(readFileSync(file)))

const ROOM = { x: 0, y: 0, width: 120, height: 500 }

function layOut(kit: Textkit, letters: string, { room = {}, engines = {}, ...attributes }: Setting): Lines {
  const runs = [{ start: 0, end: letters.length, attributes: { font: fonts, fontSize: 10, ...attributes } }]
  return kit.default({ ...kit, fontSubstitution, ...engines })({ string: letters, runs }, { ...ROOM, ...room }, {})
}

/** The attributes of a text, and where and by which steps it is set. */
interface Setting {
  readonly room?: object
  readonly engines?: object
  readonly [attribute: string]: unknown
}

function linesOf(kit: Textkit, letters: string, setting: Setting): unknown {
  const lines = layOut(kit, letters, setting)
  return lines.map((paragraph) =>
    paragraph.map((line) => ({
      ...line,
      runs: line.runs.map(({ glyphs, attributes: { font, ...others }, ...run }) => ({
        ...run,
        others,
        fonts: font.map((each) => fonts.indexOf(each)),
        glyphs: glyphs.map(({ id }) => id),
      })),
    })),
  )
}

test('sets any text from the left as react-pdf does', () => {
  const letter = oneof(
    integer({ min: 0x20, max: 0x7e }),
    integer({ min: 0x20, max: 0x24f }),
    constantFrom(0x2013, 0x2019, 0x201c, 0x2026, 0x20ac, 0x41, 0x20, 0x31),
    constantFrom(0x0a, 0xad, 0x391, 0x2028),
  ).map((codePoint) => String.fromCodePoint(codePoint))
  const plainLetter = integer({ min: 0x20, max: 0x24f }).map((codePoint) => String.fromCodePoint(codePoint))
  const letters = oneof(
    string({ unit: plainLetter }),
    string({ unit: letter }),
    constantFrom('12 Items (3)', '1,234.50', 'Office', 'fl', 'a staff of 3', '1 fi', 'fi ', 'off-fi'),
  )
  const styles = constantFrom<Setting>(
    {},
    { direction: 'ltr' },
    { align: 'right', characterSpacing: 1 },
    { align: 'center', lineHeight: 14, room: { x: 3, y: 7, width: 60 } },
    { align: 'justify' },
    { indent: 9, room: { height: 15 } },
    { verticalAlign: 'super', strike: true, room: { maxLines: 1, truncateMode: 'ellipsis' } },
    { underline: true, lineHeight: 30, room: { height: 20 } },
    { backgroundColor: 'red', link: 'https://example.com/', opacity: 0.5, room: { width: Number.NaN } },
    { fontSize: 0, room: { maxLines: 0 } },
  )
  assert(
    property(letters, styles, (text, attributes) => {
      expect(linesOf(own, text, attributes)).toEqual(linesOf(plain, text, attributes))
    }),
    { numRuns: 500 },
  )
})

test.for<[string, string, Setting]>([
  ['a cell', '1,234.50', { align: 'right' }],
  ['a title', 'Item 3, as agreed', { lineHeight: 12, characterSpacing: 0.1 }],
  ['a ligature', 'Office', {}],
])('sets %s without the steps of react-pdf', ([, letters, setting]) => {
  expect(layOut(own, letters, { ...setting, engines: { linebreaker: refused } })).toHaveLength(1)
})

test.for<[string, string, Setting]>([
  ['a text of two lines', 'one line and another one', {}],
  ['a text that is as wide as its room and no wider', 'mmmmmmmmmmmmm', {}],
  ['a blank at the end', '12 ', {}],
  ['a blank at the beginning', ' 12', {}],
  ['a line that is too high', '12', { room: { height: 5 } }],
  ['a line under the text', '12', { underline: true }],
  ['a line around something', '12', { room: { exclusions: [{ type: 'rect', x: 0, y: 0, width: 9, height: 9 }] } }],
  ['a text without a line', '12', { room: { maxLines: 0.5 } }],
])('sets %s by the steps of react-pdf', ([, letters, setting]) => {
  expect(() => layOut(own, letters, { ...setting, engines: { linebreaker: refused } })).toThrow('refused')
})

function refused(): never {
  throw new Error('refused')
}

test.for([
  ['text from the right', '12 (3)', [{ start: 0, end: 6, attributes: { direction: 'rtl', font: fonts } }]],
  ['letters of another direction', 'אבג', [{ start: 0, end: 3, attributes: { font: fonts } }]],
  ['several styles', 'ab', [0, 1].map((at) => ({ start: at, end: at + 1, attributes: { font: fonts } }))],
  ['several fonts', 'a€', [{ start: 0, end: 2, attributes: { font: [without('€'), ...fonts] } }]],
  ['no text', '', [{ start: 0, end: 0, attributes: { font: fonts } }]],
] as const)('leaves %s to react-pdf', ([, letters, runs]) => {
  expect(plainRuns({ string: letters, runs }, fontSubstitution() as never)).toBeUndefined()
})

function without(letter: string): object {
  return {
    ...fonts[0],
    unitsPerEm: 1000,
    hasGlyphForCodePoint: (codePoint: number) => codePoint !== letter.codePointAt(0),
  }
}
