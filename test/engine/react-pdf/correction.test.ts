/**
 * What is wrong in react-pdf, and right here (see `correction.ts` and `textkit.ts` of the engine). Each fault is shown in react-pdf alone. A
 * test that fails here says that react-pdf prints it right, and that our correction can go.
 */
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inflateSync } from 'node:zlib'
import { withCorrections } from '@platen/renderer/engine/layout/correction.ts'
import { defaultFaces } from '@platen/renderer/template/asset/font/default-fonts.ts'
import { Font } from '@react-pdf/renderer'
import { describe, expect, test } from 'vitest'
import { printPlain, setUpFonts } from '../conformance/plain.ts'
import { linesOf, wordOf } from '../text/right-to-left/page-view.ts'
import { aReactPdfEngine, aWork } from './react-pdf-fixture.ts'

await setUpFonts()
for (const family of ['Noto Sans JP', 'Noto Sans Hebrew']) {
  const face = defaultFaces().find((each) => each.family === family)
  if (face !== undefined) Font.register({ family, src: face.file })
}
const engine = aReactPdfEngine()

const rtl = (text: string, style = '') => `<Text style={{ direction: 'rtl', ${style} }}>${text}</Text>`
const WORDS = 'אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע עשר אחת עשרה שתים עשרה שלוש עשרה'

/** Where glyphs are drawn in their run: at its beginning, and at the place of each mark. */
function movesOf(pdf: Uint8Array): readonly (readonly [x: number, y: number])[] {
  const bytes = Buffer.from(pdf)
  const contents = bytes
    .toString('latin1')
    .matchAll(/stream\n/g)
    .map(({ index, 0: head }) => unpacked(bytes.subarray(index + head.length)))
  return [...contents].flatMap((content) =>
    [...content.matchAll(/^1 0 0 1 ([\d.-]+) ([\d.-]+) Tm$/gm)].map(([, x, y]) => [Number(x), Number(y)] as const),
  )
}

function unpacked(bytes: Uint8Array): string {
  try {
    return inflateSync(bytes).toString('latin1')
  } catch {
    return ''
  }
}

const round = (length: number | undefined) => Math.round(length ?? Number.NaN)

/** Where the letters of a page end. */
const endOf = (pdf: Uint8Array) =>
  round(
    Math.max(
      ...linesOf(pdf)
        .flat(2)
        .map(({ right }) => right),
    ),
  )

/** The text, what is measured of its page of 400 by 300 points, and how that is right. */
const FAULTS: readonly (readonly [
  fault: string,
  text: string,
  measure: (pdf: Uint8Array) => unknown,
  right: unknown,
])[] = [
  [
    'a text does not inherit its direction',
    `<View style={{ direction: 'rtl' }}><Text>שלום</Text></View>`,
    (pdf) => round(wordOf(pdf, 'שלום').right),
    400,
  ],
  [
    'boxes have no direction',
    `<View style={{ direction: 'rtl', flexDirection: 'row' }}><Text style={{ width: 50 }}>a</Text><Text>b</Text></View>`,
    (pdf) => wordOf(pdf, 'a').left > wordOf(pdf, 'b').left,
    true,
  ],
  [
    'a text from the right leaves a box as wide as its letters',
    `<View style={{ flexDirection: 'row' }}>${rtl('שלום')}<Text style={{ marginLeft: 9 }}>b</Text></View>`,
    (pdf) => round(wordOf(pdf, 'שלום').left),
    0,
  ],
  [
    'a text from the right is not indented',
    rtl('שלום', 'textIndent: 30'),
    (pdf) => round(wordOf(pdf, 'שלום').right),
    370,
  ],
  [
    'the end of a line is not known',
    `<Text style={{ textAlign: 'end' }}>word</Text>`,
    (pdf) => round(wordOf(pdf, 'word').right),
    400,
  ],
  [
    'the last line of a justified text from the right begins at the left',
    rtl(WORDS, "width: 150, textAlign: 'justify'"),
    (pdf) => round(linesOf(pdf)[0]?.at(-1)?.at(-1)?.right),
    150,
  ],
  [
    'the blank at the end of a line is moved into it',
    rtl('אלף alpha epsilon zeta', 'width: 60'),
    (pdf) => wordOf(pdf, 'אלף').left - wordOf(pdf, 'alpha').right < 4,
    true,
  ],
  [
    'a mark is not as high as its font says',
    `<Text>{'q\\u0323'}</Text>`,
    (pdf) => movesOf(pdf).some(([, y]) => y < 299),
    true,
  ],
  [
    'a mark is not where its font says',
    `<Text>{'q\\u0301'}</Text>`,
    // The letter is 6.3 points wide, and its accent begins before its end.
    (pdf) => movesOf(pdf).some(([x]) => x > 5 && x < 6),
    true,
  ],
  [
    'a mark from the right is not where its font says',
    rtl("{'ש\\u05b8'}"),
    (pdf) => movesOf(pdf).some(([x]) => x > 0.5),
    true,
  ],
  [
    'a justified line in large letters leaves its box',
    `<Text style={{ width: 366, fontSize: 60, textAlign: 'justify' }}>mmm mmm mmm mmm</Text>`,
    endOf,
    366,
  ],
  [
    'a word that is wider than its box leaves it',
    `<Text style={{ width: 100 }}>${'somebody'.repeat(5)}@example.com</Text>`,
    (pdf) => endOf(pdf) <= 100,
    true,
  ],
  [
    'lines of Japanese end in hyphens',
    `<Text style={{ width: 100, fontFamily: 'Noto Sans JP' }}>これは長い段落のテキストです。自動的に改行されます。</Text>`,
    (pdf) =>
      linesOf(pdf).flat().length > 1 &&
      !linesOf(pdf)
        .flat(2)
        .some(({ text }) => text.includes('-')),
    true,
  ],
  [
    'a letter and its mark have two fonts',
    `<Text style={{ fontFamily: ['DejaVu Sans Mono', 'DejaVu Sans'] }}>{'ש\\u0301'}</Text>`,
    (pdf) =>
      new Set(
        Buffer.from(pdf)
          .toString('latin1')
          .match(/\/BaseFont \/[^\s/]+/g),
      ).size,
    1,
  ],
]

describe('in react-pdf alone, and not here,', () => {
  test.for(FAULTS)('%s', async ([, text, measure, right]) => {
    const page = `<Page size={[400, 300]} style={{ fontSize: 10 }}>${text}</Page>`
    const { template } = aWork({ document: page })
    const { pdf } = await engine.render(aWork({ document: page }), AbortSignal.timeout(30_000))
    expect(measure(pdf)).toEqual(right)
    const plain = await printPlain({ name: '', source: template.reactPdf ?? '' })
    expect(measure(plain), 'react-pdf prints it right: its correction can go').not.toEqual(right)
  })
})

test('a place that a version of react-pdf does not have ends the process, and is named', async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'platen-correction-'))
  const folder = join(temporary.path, 'node_modules/@react-pdf/layout/lib')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const file = join(folder, 'index.js')
  await writeFile(file, 'export default 1')
  await expect(withCorrections(() => import(pathToFileURL(file).href))).rejects.toThrow(
    /\/layout\/lib\/index\.js has once: const BASE_INHERITABLE_PROPERTIES/,
  )
})
