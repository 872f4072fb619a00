/** `direction` in react_pdf: who inherits it, and what it turns round. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { colourAt } from '../../html/html-fixture.ts'
import { aReactPdfEngine, aWork } from '../../react-pdf/react-pdf-fixture.ts'
import { fromTheRight, linesOf, wordOf } from './page-view.ts'

const engine = aReactPdfEngine()

const DEADLINE_MS = 30_000

async function render(document: string, data: JsonObject = {}): Promise<Uint8Array> {
  return (await engine.render(aWork({ document, data }), AbortSignal.timeout(DEADLINE_MS))).pdf
}

/** A page of 400 by 300 points that reads from the right. */
const page = (content: string, style = '') =>
  `<Page size={[400, 300]} style={{ direction: 'rtl', fontSize: 10, ${style} }}>${content}</Page>`

describe('boxes', () => {
  const inRow = (style: string) =>
    page(`<View style={{ flexDirection: 'row', ${style} }}>
    <Text style={{ width: 50 }}>one</Text><Text style={{ width: 50 }}>two</Text></View>`)

  test.for([
    ['a row begins at the right', '', 400, 350],
    ['a reversed row begins at the left', "flexDirection: 'row-reverse'", 50, 100],
    ['a row in the middle', "justifyContent: 'center'", 250, 200],
    ['the end of a row is the left', "justifyContent: 'flex-end'", 100, 50],
    ['a row with a gap', 'columnGap: 20', 400, 330],
    ['a row that reads from the left, where its texts do so, too', "direction: 'ltr'", 18, 68],
  ] as const)('%s', async ([, style, one, two]) => {
    const pdf = await render(inRow(style))
    expect([wordOf(pdf, 'one').right, wordOf(pdf, 'two').right].map(Math.round)).toEqual(
      [one, two].map((right) => (style === "direction: 'ltr'" ? expect.closeTo(right, -1) : right)),
    )
  })

  const box = (style: string) => `<View style={{ width: 20, height: 20, backgroundColor: '#ff0000', ${style} }} />`

  test.for([
    ['with a width of its own is at the right', box(''), 390],
    ['that is as wide as it may be is at the right', box("width: 'auto', maxWidth: 20"), 390],
    ['at the end is at the left', box("alignSelf: 'flex-end'"), 10],
    ['with a position but no sides is at the right', box("position: 'absolute'"), 390],
    ['with left stays at the left', box("position: 'absolute', left: 0"), 10],
    ['with start is at the right', box("position: 'absolute', start: 40"), 350],
    ['with end is at the left', box("position: 'absolute', end: 40"), 50],
    ['with a margin at its start', box('marginStart: 40'), 350],
    ['within a padding at the start', `<View style={{ paddingStart: 40 }}>${box('')}</View>`, 350],
    ['within a padding at the left', `<View style={{ paddingLeft: 40 }}>${box('')}</View>`, 390],
    ['in a view that reads from the left', `<View style={{ direction: 'ltr' }}>${box('')}</View>`, 10],
    ['that reads from the left itself, in one that does not', box("direction: 'ltr'"), 390],
  ] as const)('a box %s', async ([, content, x]) => {
    const pdf = await render(page(content))
    expect(colourAt(pdf, x, 10)).toEqual([255, 0, 0])
    expect(colourAt(pdf, 400 - x, 10)).toEqual([255, 255, 255])
  })

  test('have a border at their start', async () => {
    const pdf = await render(page(`<View style={{ height: 20, borderStart: '10pt solid #00ff00' }} />`))
    expect([colourAt(pdf, 395, 10), colourAt(pdf, 5, 10)]).toEqual([
      [0, 255, 0],
      [255, 255, 255],
    ])
  })
})

describe('text', () => {
  test.for([
    ['begins at the right', '', 400],
    ['at its start', "textAlign: 'start'", 400],
    ['at its end', "textAlign: 'end'", 0],
    ['at the left', "textAlign: 'left'", 0],
    ['that reads from the left begins there', "direction: 'ltr'", 0],
    ['that reads from the left, at its end', "direction: 'ltr', textAlign: 'end'", 400],
    ['justified, in its only line', "textAlign: 'justify'", 400],
    ['indented', 'textIndent: 30', 370],
  ] as const)('%s', async ([, style, edge]) => {
    const { left, right } = wordOf(await render(page(`<Text style={{ ${style} }}>שלום</Text>`)), 'שלום')
    expect(edge === 0 ? left : right).toBeCloseTo(edge, 0)
  })

  test.for(['', "textAlign: 'justify'", "textAlign: 'end'"])(
    'as wide as its letters stays in its box: %s',
    async (style) => {
      const cells = `<Text style={{ ${style} }}>שלום</Text><Text style={{ marginStart: 5 }}>עולם</Text>`
      const pdf = await render(page(`<View style={{ flexDirection: 'row' }}>${cells}</View>`))
      const [first, second] = [wordOf(pdf, 'שלום'), wordOf(pdf, 'עולם')]
      expect(first.right).toBeCloseTo(400, 0)
      expect(first.left - second.right).toBeCloseTo(5, 0)
    },
  )

  test('inherits an alignment, and has the start of its own direction', async () => {
    const texts = `<Text>שלום</Text><Text style={{ direction: 'ltr' }}>hello</Text>`
    const pdf = await render(page(`<View style={{ textAlign: 'end' }}>${texts}</View>`))
    expect(wordOf(pdf, 'שלום').left).toBeCloseTo(0, 0)
    expect(wordOf(pdf, 'hello').right).toBeCloseTo(400, 0)
  })

  test.for([
    ['a Latin name', 'מסך Dell UltraSharp 27 חדש', 'מסך 27 UltraSharp Dell חדש'],
    ['a full stop after a Latin word', 'גרסה Beta.', 'גרסה .Beta'],
    ['a phone number', 'טלפון 03-1234567', 'טלפון 03-1234567'],
    ['a date', 'תאריך 25/11/2026', 'תאריך 25/11/2026'],
    ['an amount', 'סכום 1,234.50 ₪', 'סכום 1,234.50 ₪'],
    ['Arabic digits', 'المبلغ ١٢٣٫٤٥ ر.س', 'المبلغ ١٢٣٫٤٥ ر.س'],
    ['a Latin sentence with a Hebrew word, from the left', 'He said שלום twice.', 'twice. שלום said He', 'ltr'],
  ] as const)('reads in the right order with %s', async ([, text, order, direction = 'rtl']) => {
    const pdf = await render(page(`<Text style={{ direction: data.direction }}>{data.text}</Text>`), {
      text,
      direction,
    })
    expect(fromTheRight(pdf)).toEqual([order])
  })

  test('has an order for each paragraph, and none of its line ends takes space', async () => {
    const pdf = await render(page(`<Text style={{ textAlign: 'end' }}>{'אב\\nגד'}</Text>`))
    expect(linesOf(pdf)[0]?.map((line) => line.map(({ text, left }) => [text, Math.round(left)]))).toEqual([
      [['אב', 0]],
      [['גד', 0]],
    ])
  })

  test('has no space within a line where it ends, as after a Latin word', async () => {
    const pdf = await render(page(`<Text style={{ width: 60 }}>אלף alpha epsilon zeta</Text>`))
    expect(fromTheRight(pdf)).toEqual(['אלף alpha', 'zeta epsilon'])
    const gap = wordOf(pdf, 'אלף').left - wordOf(pdf, 'alpha').right
    // A space of DejaVu at ten points.
    expect(gap).toBeCloseTo(3.18, 1)
  })

  test('justified fills its lines from edge to edge, but for the last one', async () => {
    const text = 'אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע עשר אחת עשרה שתים עשרה שלוש עשרה'
    const [lines = []] = linesOf(
      await render(page(`<Text style={{ width: 150, textAlign: 'justify' }}>${text}</Text>`)),
    )
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines) expect(line.at(-1)?.right).toBeCloseTo(400, 0)
    for (const line of lines.slice(0, -1)) expect(line[0]?.left).toBeCloseTo(250, 0)
    expect(lines.at(-1)?.[0]?.left).toBeGreaterThan(260)
  })

  test('within a text has a direction of its own, apart from the text around', async () => {
    const number = '+972 (3) 123-4567'
    const inner = (style: string) => `<Text>טלפון <Text style={{ ${style} }}>${number}</Text> בבוקר</Text>`
    const orders = [inner("direction: 'ltr'"), inner('')].map(async (text) => fromTheRight(await render(page(text))))
    expect(await Promise.all(orders)).toEqual([['טלפון 123-4567 (3) +972 בבוקר'], ['טלפון 972+ (3) 123-4567 בבוקר']])
  })
})

describe('the direction of a page', () => {
  const rows = `<View fixed style={{ flexDirection: 'row' }}><Text>first</Text><Text>second</Text></View>
    <Rows count={data.rows} />
    <View fixed style={{ flexDirection: 'row', position: 'absolute', bottom: 0, left: 0, right: 0 }}>
      <Text style={{ width: 100 }} render={({ pageNumber, totalPages }) => 'עמוד ' + pageNumber + ' מתוך ' + totalPages} />
      <Text>תחתית</Text>
    </View>`

  test('is that of what repeats, on each page', async () => {
    const pages = linesOf(await render(page(rows), { rows: 40 }))
    expect(pages.length).toBe(3)
    for (const [at, lines] of pages.entries()) {
      expect(lines[0]?.map(({ text }) => text)).toEqual(['second', 'first'])
      const foot = lines.at(-1)?.toReversed()
      expect(foot?.map(({ text }) => text)).toEqual(['עמוד', `${at + 1}`, 'מתוך', '3', 'תחתית'])
      expect(foot?.[0]?.right).toBeCloseTo(400, 0)
      expect(foot?.at(-1)?.right).toBeCloseTo(300, 0)
    }
  })

  test('holds for both paginations', async () => {
    const placesOf = (pdf: Uint8Array) =>
      linesOf(pdf).map((lines) => lines.flat().map(({ text, right }) => [text, right]))
    const fast = await render(page(rows), { rows: 3 })
    // The plain one makes a page that does not wrap as high as its content.
    const plain = await render(page(rows).replace('<Page', '<Page wrap={false}'), { rows: 3 })
    expect(wordOf(plain, 'תחתית').top).toBeLessThan(wordOf(fast, 'תחתית').top)
    expect(placesOf(plain)).toEqual(placesOf(fast))
  })

  test('does not concern the next page, nor a link and a drawing that read alike', async () => {
    const left = `<Page size={[400, 300]}><Text>left</Text><Link src="https://a.test">link</Link></Page>`
    const link = '<Link src="https://a.test">קישור</Link>'
    const svg = '<Svg width={40} height={20}><Rect width={20} height={20} fill="red" /></Svg>'
    const pdf = await render(`${page(link + svg)}${left}`)
    expect(wordOf(pdf, 'קישור').right).toBeCloseTo(400, 0)
    expect(wordOf(pdf, 'left').left).toBeCloseTo(0, 0)
    expect(wordOf(pdf, 'link').left).toBeCloseTo(0, 0)
    expect(colourAt(pdf, 370, 20)).toEqual([255, 0, 0])
  })
})

describe('a document ends, and is the same each time, with', () => {
  test.for([
    ['isolates that never end', '\u2067א'.repeat(500)],
    ['ends without a beginning', '\u2069א\u202c'.repeat(500)],
    ['overrides', '\u202eabc\u202d'.repeat(300)],
    ['embeddings deeper than Unicode allows', '\u202bא\u202aa'.repeat(300)],
    ['brackets that never close', '(א['.repeat(500)],
    ['brackets that close each other', ')א](a[}'.repeat(300)],
    ['isolates over line ends', 'א\u2067\nב\u202e\n'.repeat(100)],
    ['nothing but control characters', '\u2067\u202e\u200f\u200e\u061c\u2069'],
    ['marks on marks', `א${'\u05b8'.repeat(1000)}`],
    ['half a letter', 'א\ud800 \udc00ב'.repeat(100)],
  ] as const)('%s', async ([, text]) => {
    const content = `<Text>{data.text}</Text><Text style={{ direction: 'ltr', textAlign: 'justify' }}>{data.text}</Text>`
    const [one, other] = [await render(page(content), { text }), await render(page(content), { text })]
    expect(one).toEqual(other)
  })
})
