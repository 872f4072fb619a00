import type { JsonObject } from '@platen/lib/brand.ts'
import { PDF_PAGES_MAX } from '@platen/renderer/limit.ts'
import { PRIMITIVES } from '@platen/renderer/template/element/primitive.ts'
import { describe, expect, test } from 'vitest'
import { inspectPdf, occurrences } from '../../topology/oracle.ts'
import { factsOf } from '../conformance/facts.ts'
import { aReactPdfEngine, aWork, pagesOf, type WorkFields } from './react-pdf-fixture.ts'

const engine = aReactPdfEngine()

/** Past it a render hangs: all of these take a fraction of a second. */
const DEADLINE_MS = 20_000

/** The PDF alone. */
async function render(fields: WorkFields): Promise<Uint8Array> {
  return (await engine.render(aWork(fields), AbortSignal.timeout(DEADLINE_MS))).pdf
}

/** A PNG of one half-transparent red pixel. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

describe('the totals of pages', () => {
  const numbered = (label: string) =>
    `<Page size="A6" style={{ paddingBottom: 40 }}><Rows count={data.rows} />
      <Text fixed style={{ position: 'absolute', bottom: 9 }} render={${label}} /></Page>`
  const labelsOf = async (document: string, data: JsonObject) => {
    const { text } = await inspectPdf(await render({ document, data }))
    return pagesOf(text).map((page) => /label (.+)/.exec(page)?.[1])
  }

  test('are right whatever the last document of the template had', async () => {
    const document = numbered('({ pageNumber, totalPages }) => `label ${pageNumber} of ${totalPages}`')
    const lengths: number[] = []
    for (const rows of [1, 60, 30, 60, 60, 1, 1]) {
      const labels = await labelsOf(document, { rows })
      expect(labels).toEqual(labels.map((_, at) => `${at + 1} of ${labels.length}`))
      lengths.push(labels.length)
    }
    expect(lengths).toEqual([1, 3, 2, 3, 3, 1, 1])
  })

  test('of each <Page> are its own', async () => {
    const label = '(page) => `label ${page.subPageNumber} of ${page.subPageTotalPages}, ${page.totalPages} in all`'
    const document = `${numbered(label)}<Page size="A6"><Text>label one</Text></Page>${numbered(label)}`
    for (const rows of [30, 30, 60]) {
      const labels = await labelsOf(document, { rows })
      const sheets = (labels.length - 1) / 2
      const own = Array.from({ length: sheets }, (_, at) => `${at + 1} of ${sheets}, ${labels.length} in all`)
      expect(labels).toEqual([...own, 'one', ...own])
    }
  })

  test('are true when a function relies on them', async () => {
    const document = numbered(
      "({ pageNumber, totalPages }) => 'label ' + data.names.slice(-totalPages)[pageNumber - 1].toUpperCase()",
    )
    const names = ['a', 'b', 'c', 'd']
    expect(await labelsOf(document, { names, rows: 1 })).toEqual(['D'])
    expect(await labelsOf(document, { names, rows: 60 })).toEqual(['B', 'C', 'D'])
    expect(await labelsOf(document, { names, rows: 1 })).toEqual(['D'])
  })

  test('break a document into pages once where it has as many as the last', async () => {
    const source = `
import { Document, Page, Text } from '@react-pdf/renderer'
let calls = 0
export default () => (
  <Document><Page><Text render={({ totalPages }) => 'call ' + ++calls + ' of ' + totalPages} /></Page></Document>
)`
    const { text } = await inspectPdf(await render({ source }))
    expect(text).toContain('call 1 of 1')
  })
})

describe('a document', () => {
  test('comes out as its author wrote it, with data, options and metadata', async () => {
    const source = `
import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'

interface Row { name: string; price: number }

const styles = StyleSheet.create({ page: { padding: 40, fontSize: 10 }, row: { flexDirection: 'row' }, cell: { flex: 1 } })
const money = new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' })

function Line({ row, isOdd }: { row: Row; isOdd: boolean }) {
  return (
    <View style={[styles.row, isOdd && { backgroundColor: '#eee' }]} wrap={false}>
      <Text style={styles.cell}>{row.name}</Text>
      <Text style={styles.cell}>{money.format(row.price)}</Text>
    </View>
  )
}

export default function Invoice({ data, options }: { data: { rows: Row[] }; options: { page_size: string } }) {
  return (
    <Document title="Invoice 42" author="ACME">
      <Page style={styles.page}>
        <>{data.rows.map((row, index) => <Line key={index} row={row} isOdd={index % 2 === 1} />)}</>
        <Text>on {options.page_size}</Text>
      </Page>
    </Document>
  )
}`
    const data = {
      rows: [
        { name: 'Müller & Söhne', price: 1234.5 },
        { name: 'Ω', price: 2 },
      ],
    }
    const facts = await inspectPdf(await render({ source, data, options: { page_size: 'A5' } }))
    expect(facts).toMatchObject({ pages: 1, title: 'Invoice 42' })
    expect(facts.size.map(Math.round)).toEqual([420, 595])
    for (const text of ['Müller & Söhne', '1.234,50 €', 'Ω', 'on A5']) expect(facts.text).toContain(text)
  })

  test('is the same, byte for byte, each time', async () => {
    const document = '<Page><Rows count={60} /><Text fixed render={({ pageNumber }) => pageNumber} /></Page>'
    const [first, second] = [await render({ document }), await render({ document })]
    expect(Buffer.from(first).equals(second)).toBe(true)
  })

  test('says that it was created and changed at the date of its work', async () => {
    const { info } = await inspectPdf(await render({ document: '<Page />' }))
    expect([info['CreationDate'], info['ModDate']]).toEqual(Array(2).fill(expect.stringMatching(/Nov 21 .*2026/)))
  })

  test('is the same whatever its thread has made before', async () => {
    const document = '<Page><Text>several ligatures and letters: office, fjord</Text></Page>'
    const before = await render({ document })
    // Accented letters are made of the plain ones, and forms of letters are letters: both once left traces in a font.
    await render({ document: '<Page><Text>śéüľṽ ﬁrst oﬃce ÅÇÈ</Text></Page>' })
    const after = await render({ document })
    expect(Buffer.from(before).equals(after)).toBe(true)
    expect((await inspectPdf(after)).text).toContain('several ligatures and letters: office, fjord')
  })

  test('writes every alphabet its default font has, embedded and with a way back to text', async () => {
    const words = 'Zażółć gęślą jaźń Ελληνικά Привет € ✓'
    const facts = await inspectPdf(await render({ document: `<Page><Text>${words}</Text></Page>` }))
    expect(facts.text).toContain(words)
    expect(facts.fonts).toEqual([{ name: expect.stringContaining('DejaVuSans'), isEmbedded: true, hasUnicode: true }])
  })

  test.for(['Helvetica', 'Times-Roman', 'Courier'])(
    'writes every alphabet also where it asks for %s',
    async (family) => {
      const words = 'Zażółć Ελληνικά Привет € ✓'
      const text = `<Text style={{ fontFamily: '${family}', fontWeight: 'bold', fontStyle: 'oblique' }}>${words}</Text>`
      const facts = await inspectPdf(await render({ document: `<Page>${text}</Page>` }))
      expect(facts.text).toContain(words)
      expect(facts.fonts.filter(({ name }) => name.includes('DejaVu')).every(({ isEmbedded }) => isEmbedded)).toBe(true)
    },
  )

  test('writes every alphabet in a drawing and in what a render function returns', async () => {
    const drawing = '<Svg width={200} height={40}><Text x={10} y={20}>Ελληνικά</Text></Svg>'
    const dynamic = `<Text style={{ fontFamily: 'Courier', fontWeight: 700 }} render={() => 'Привет'} />`
    const facts = await inspectPdf(await render({ document: `<Page>${drawing}${dynamic}</Page>` }))
    expect(facts.text).toContain('Ελληνικά')
    expect(facts.text).toContain('Привет')
  })

  test('holds an image from a data: URL once, however often it is shown', async () => {
    const image = (count: number) => `<Page>${'<Image src={data.image} style={{ width: 50 }} />'.repeat(count)}</Page>`
    const [one, many] = [
      await render({ document: image(1), data: { image: PIXEL } }),
      await render({ document: image(9), data: { image: PIXEL } }),
    ]
    const imagesIn = (pdf: Uint8Array) => occurrences(Buffer.from(pdf).toString('latin1'), '/Subtype /Image')
    expect(imagesIn(one)).toBeGreaterThan(0)
    expect(imagesIn(many)).toBe(imagesIn(one))
  })

  test('takes its format and margins from the options of the render', async () => {
    const document = '<Page size="A4" style={{ padding: 5 }}><Text>word</Text></Page>'
    const options = { page_size: { width: 300, height: 400 }, orientation: 'landscape', margin: '1in' } as const
    const facts = await inspectPdf(await render({ document, options }))
    expect(facts.size).toEqual([400, 300])
  })
})

describe('a document over several pages', () => {
  const numbered = `render={({ pageNumber, totalPages }) => \`page \${pageNumber} of \${totalPages}\`}`
  const pinned = `style={{ position: 'absolute', bottom: 10, left: 40 }}`

  test.for([
    [
      'a header and a footer in the flow',
      '<Text fixed>HEAD</Text><Rows count={100} /><View fixed><Text>FOOT</Text></View>',
    ],
    [
      'a header and a pinned footer written last',
      `<Text fixed>HEAD</Text><Rows count={100} /><Text fixed ${pinned}>FOOT</Text>`,
    ],
    ['both within a view', `<View><Text fixed>HEAD</Text><Rows count={100} /><Text fixed ${pinned}>FOOT</Text></View>`],
  ] as const)('repeats %s on every page, and every row once', async ([, content]) => {
    const facts = await inspectPdf(await render({ document: `<Page style={{ padding: 40 }}>${content}</Page>` }))
    expect(facts.pages).toBe(3)
    for (const page of pagesOf(facts.text)) {
      expect([occurrences(page, 'HEAD'), occurrences(page, 'FOOT')]).toEqual([1, 1])
    }
    for (let row = 0; row < 100; row += 1) expect(occurrences(facts.text, `row-${row}-end`)).toBe(1)
  })

  test.for([
    ['in the flow', `<Text fixed ${numbered} />`],
    ['pinned', `<Text fixed ${pinned} ${numbered} />`],
    ['inside a fixed view', `<View fixed><Link src="https://example.com"><Text ${numbered} /></Link></View>`],
  ] as const)('numbers its pages with a footer %s', async ([, footer]) => {
    const document = `<Page style={{ padding: 40 }}><Rows count={100} />${footer}</Page>`
    const { text } = await inspectPdf(await render({ document }))
    const numbers = pagesOf(text).map((page) => /page \d of \d/.exec(page)?.[0])
    expect(numbers).toEqual(['page 1 of 3', 'page 2 of 3', 'page 3 of 3'])
  })

  test.for([
    ['an image of its own size', '<Image src={data.image} />'],
    ['an image of some width', '<Image src={data.image} style={{ width: 30 }} />'],
    ['a drawing', '<Svg width="50" height="20"><Rect width={50} height={20} fill="#f00" /></Svg>'],
  ] as const)('sets aside as much space as a footer with %s takes', async ([, mark]) => {
    const document = `<Page style={{ padding: 40 }}><Rows count={100} /><View fixed>${mark}<Text>FOOT</Text></View></Page>`
    const facts = await inspectPdf(await render({ document, data: { image: PIXEL } }))
    expect(pagesOf(facts.text).map((page) => occurrences(page, 'FOOT'))).toEqual([1, 1, 1])
  })

  test.for([
    ['of the page', { page: 'lineHeight: 1.5', own: '' }],
    ['of its own', { page: '', own: 'lineHeight: 1.5, fontSize: 10' }],
  ] as const)('keeps a line height %s in what is made for each page', async ([, { page, own }]) => {
    const footer = (bottom: number) =>
      `<Text fixed style={{ position: 'absolute', bottom: ${bottom}, ${own} }} render={({ pageNumber }) => 'page ' + pageNumber} />`
    const view = `<View fixed style={{ ${own} }}><Text render={({ pageNumber }) => 'part ' + pageNumber} /></View>`
    const document = `<Page style={{ padding: 40, fontSize: 10, ${page} }}><Rows count={100} />${footer(10)}${view}</Page>`
    const { pages, text } = await inspectPdf(await render({ document }))
    expect(pages).toBe(3)
    expect(pagesOf(text).map((words) => [occurrences(words, 'page '), occurrences(words, 'part ')])).toEqual(
      Array.from({ length: pages }, () => [1, 1]),
    )
  })

  test('draws the drawings of a footer on each, gradients and letters too', async () => {
    const gradient =
      '<Defs><LinearGradient id="g"><Stop offset={0} stopColor="red" /><Stop offset={1} stopColor="blue" /></LinearGradient></Defs>'
    const drawing = `<Svg width={90} height={20}>${gradient}<Rect width="50%" height={20} fill="url(#g)" /><Text x={50} y={15}>Ω</Text></Svg>`
    const source = `
import { Defs, Document, LinearGradient, Page, Rect, Stop, Svg, Text, View } from '@react-pdf/renderer'
const rows = Array.from({ length: 100 }, (_, row) => <Text key={row}>row</Text>)
export default () => <Document><Page style={{ padding: 40 }}>{rows}<View fixed>${drawing}</View></Page></Document>`
    const pdf = await render({ source })
    const { pages, text } = await inspectPdf(pdf)
    const shadings = occurrences(Buffer.from(pdf).toString('latin1'), '/ShadingType')
    expect([pages, occurrences(text, 'Ω'), shadings]).toEqual([3, 3, 3])
  })

  test('keeps every word of rows that are higher than a page', async () => {
    const words = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at}`).join(' ')
    const cells = [words('a', 2000), 'short', words('b', 500)].map((cell) => `<Text style={{ flex: 1 }}>${cell}</Text>`)
    const document = `<Page size="A5"><View style={{ flexDirection: 'row' }}>${cells.join('')}</View></Page>`
    const { pages, text } = await inspectPdf(await render({ document }))
    expect(pages).toBeGreaterThan(3)
    const seen = new Set(text.split(/\s+/))
    expect([...words('a', 2000).split(' '), ...words('b', 500).split(' ')].filter((word) => !seen.has(word))).toEqual(
      [],
    )
  })

  test('breaks where it says', async () => {
    const document =
      '<Page><Text>first</Text><View break><Text>second</Text></View></Page><Page><Text>third</Text></Page>'
    const { text } = await inspectPdf(await render({ document }))
    expect(pagesOf(text).map((page) => page.trim())).toEqual(['first', 'second', 'third'])
  })

  test('may have as many pages as the limit and not one more', async () => {
    const pages = (count: number) => `{Array.from({ length: ${count} }, (_, page) => <Page key={page} size="A6" />)}`
    expect((await inspectPdf(await render({ document: pages(PDF_PAGES_MAX) }))).pages).toBe(PDF_PAGES_MAX)
    await expect(render({ document: pages(PDF_PAGES_MAX + 1) })).rejects.toMatchObject({
      code: 'page_limit',
      message: 'the document has 2001 pages; at most 2000 are allowed',
    })
  })
})

describe('a layout that react-pdf by itself never ends', () => {
  const noRoom = { code: 'template_error', message: expect.stringContaining('leaves no room for content') }
  const words = 'many words '.repeat(50)

  test.for([
    [
      'a margin higher than the page',
      '<Page><View style={{ marginTop: 1000 }}><Text>word</Text></View></Page>',
      undefined,
    ],
    ['letters higher than the page', '<Page><Text style={{ fontSize: 2000 }}>word</Text></Page>', undefined],
    [
      'a fixed header higher than the page',
      '<Page><View fixed style={{ height: 900 }} /><Text>word</Text></Page>',
      undefined,
    ],
    ['lines higher than the page', `<Page><Text style={{ lineHeight: 100 }}>${words}</Text></Page>`, undefined],
    [
      'a fixed footer higher than the page',
      '<Page><Text>word</Text><View fixed style={{ height: 900 }} /></Page>',
      undefined,
    ],
    ['a padding as high as the page', '<Page style={{ paddingTop: 842 }}><Text>word</Text></Page>', noRoom],
    [
      'paddings higher than the page',
      '<Page style={{ paddingTop: 500, paddingBottom: 500 }}><Text>word</Text></Page>',
      noRoom,
    ],
    ['a page of one point', '<Page size={[200, 1]}><Text>word</Text></Page>', { code: 'template_error' }],
  ] as const)('ends with %s', async ([, document, failure]) => {
    if (failure === undefined) expect((await inspectPdf(await render({ document }))).pages).toBeGreaterThan(0)
    else await expect(render({ document })).rejects.toMatchObject(failure)
    expect((await inspectPdf(await render({}))).text).toContain('word')
  })
})

describe('a page that is a row', () => {
  const row = (content: string, style = '') =>
    `<Page size={[200, 300]} style={{ flexDirection: 'row', flexWrap: 'wrap', padding: 10${style} }}>${content}</Page>`

  test.for([
    [
      'a margin',
      row('<Text style={{ marginTop: 300 }}>word</Text>'),
      /^template\.tsx:3:\d+: .* its margin, border and padding at the top take 300 points, and the page has room for 280$/,
    ],
    [
      'letters',
      row('<View><Text style={{ fontSize: 400 }}>a</Text></View>'),
      /^template\.tsx:3:\d+: .* a line of its text is \d+(\.\d)? points high, and the page has room for 280$/,
    ],
    [
      'fixed elements',
      row('<View fixed style={{ height: 500, width: 180 }} /><Text>word</Text>'),
      /^template\.tsx:3:\d+: .* its fixed elements take 500 of the 280 points between its paddings$/,
    ],
    ['paddings', row('<Text>word</Text>', ', paddingTop: 290'), /its paddings take 300 of its 300 points$/],
  ] as const)('names the element whose %s fit on no page', async ([, document, message]) => {
    const failure = { code: 'template_error', message: expect.stringMatching(message) }
    await expect(render({ document })).rejects.toMatchObject(failure)
  })

  test('has all of a thousand labels', async () => {
    const label = "<View key={at} style={{ width: '33%', height: 20 }}><Text>label-{at}-end</Text></View>"
    const document = row(`{Array.from({ length: 1000 }, (_, at) => ${label})}`, ', fontSize: 6')
    const { text, pages } = await inspectPdf(await render({ document }))
    expect(text.match(/label-\d+-end/g)).toHaveLength(1000)
    expect(pages).toBe(24)
  })
})

describe('a head that repeats', () => {
  const section = (name: string, rows: number) =>
    `<View><View fixed wrap={false} style={{ height: 44 }}><Text>head-${name}</Text></View>
      {Array.from({ length: ${rows} }, (_, at) => <Text key={at}>row-${name}</Text>)}</View>`
  const page = (content: string) => `<Page size={[260, 360]} style={{ padding: 20, fontSize: 11 }}>${content}</Page>`

  test.for([
    ['on the page', (content: string) => page(content)],
    ['in a box', (content: string) => page(`<View style={{ border: '1pt solid black' }}>${content}</View>`)],
    ['in a box of a box', (content: string) => page(`<Text>title</Text><View><View>${content}</View></View>`)],
  ] as const)('never stands alone at the end of a page: %s', async ([, around]) => {
    for (const rows of [15, 17, 18, 19, 20, 21, 22, 40]) {
      const content = `${section('a', rows)}${section('b', 30)}${section('c', rows)}${section('d', 3)}`
      const { text } = await inspectPdf(await render({ document: around(content) }))
      const pages = pagesOf(text)
      for (const name of ['a', 'b', 'c', 'd']) {
        const heads = pages.filter((words) => words.includes(`head-${name}`))
        expect(heads.filter((words) => !words.includes(`row-${name}`))).toEqual([])
      }
      expect(text.match(/row-/g)).toHaveLength(2 * rows + 33)
    }
  })

  test('stands where it is if its section begins the page', async () => {
    const high = '<View wrap={false} style={{ height: 300 }}><Text>high</Text></View>'
    const document = page(`<View><View fixed style={{ height: 44 }}><Text>head</Text></View>${high}</View>`)
    expect((await inspectPdf(await render({ document }))).text).toMatch(/head[^]*high/)
  })

  test('keeps its height where a function makes it', async () => {
    const head = 'pageNumber > 1 ? <View style={{ height: 40 }}><Text>head</Text></View> : null'
    const document = page(
      `<View fixed render={({ pageNumber }) => ${head}} /><View style={{ height: 80 }} /><Rows count={50} />`,
    )
    const { pages } = await factsOf(await render({ document }))
    const tops = pages.slice(1).map(({ words }) => {
      const rows = words.filter(({ text }) => text.startsWith('row-'))
      return Math.round(Math.min(...rows.map(({ y }) => y)) - (words.find(({ text }) => text === 'head')?.y ?? 0))
    })
    expect(tops.length).toBeGreaterThan(1)
    expect(new Set(tops).size).toBe(1)
  })
})

test('what is made for each page and is higher than it takes nothing with it', async () => {
  const numbers = '<Text style={{ height: 450 }}>above</Text><Text render={({ pageNumber }) => `on ${pageNumber}`} />'
  const document = `<Page size="A6"><View wrap={false}>${numbers}</View><Text>after it</Text></Page>`
  expect((await inspectPdf(await render({ document }))).text).toMatch(/on 1[^]*after it/)
})

describe('a failure', () => {
  test.for([
    ['of the source', { source: 'const = 1' }, 'template_error', /^template\.tsx:1:7: /],
    [
      'of a component',
      { document: '<Page><Text>{data.customer.name}</Text></Page>' },
      'template_error',
      /^template\.tsx:3:\d+: TypeError/,
    ],
    [
      'of a render function',
      { document: '<Page><Text render={() => data.customer.name} /></Page>' },
      'template_error',
      /^template\.tsx:3:\d+: TypeError/,
    ],
    [
      'of what a render function returns',
      { document: '<Page><View render={() => <Page />} /></Page>' },
      'template_error',
      /^template\.tsx:3:\d+: <Page> cannot be here/,
    ],
    [
      'of an image',
      { document: '<Page><Image src="/etc/passwd" /></Page>' },
      'asset_unavailable',
      /^template\.tsx:3:\d+: <Image src>: image \/etc\/passwd: /,
    ],
    [
      'of layout',
      { document: '<Page style={{ padding: 500 }}><Text>a</Text></Page>' },
      'template_error',
      /^template\.tsx:3:\d+: the document cannot be laid out: .*leaves no room.*: its paddings take 1000 of its 841\.9 points$/,
    ],
  ] as const)('%s keeps its code and place on the way out of its thread', async ([, fields, code, message]) => {
    await expect(render(fields)).rejects.toMatchObject({
      name: 'ServiceError',
      code,
      message: expect.stringMatching(message),
    })
  })
})

test('every primitive is known to react-pdf by the name we give it', async () => {
  // Loaded here alone: the service loads react-pdf in render threads only.
  const known = new Map<string, unknown>(Object.entries(await import('@react-pdf/renderer')))
  for (const [name, { tag }] of Object.entries(PRIMITIVES)) expect([name, known.get(name)]).toEqual([name, tag])
})
