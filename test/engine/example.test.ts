/** The templates of examples/, each rendered by every engine it has a source for: as its sample, and at the limits of its schema. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import type { CheckRequest } from '@platen/contract/domain/template-check.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { openReactPdfEngine } from '@platen/renderer/engine/react-pdf.ts'
import { openThreadPool } from '@platen/renderer/engine/thread-pool.ts'
import type { RenderEngine } from '@platen/renderer/port/engine.ts'
import { NO_PREVIOUS } from '@platen/settings/compilation/compile.ts'
import { compileFolder, SERVICE_BUCKET } from '@platen/settings/manifest/compile-folder.ts'
import { EMPTY_FOLDER, readFolder } from '@platen/settings/manifest/folder.ts'
import type { FolderChecks } from '@platen/settings/manifest/folder-checks.ts'
import { identify } from '@platen/settings/manifest/identity.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEVER } from '../fixture/build.ts'
import { aRenderWork } from '../fixture/render/work.ts'
import { IS_LONG } from '../run/form.ts'
import { inspectPdf, type PdfFacts } from '../topology/oracle.ts'
import { anEngine, inspect } from './html/html-fixture.ts'
import { pagesOf } from './react-pdf/react-pdf-fixture.ts'

const ROOT = join(import.meta.dirname, '../..')

/** So many of what may be many take several pages of every example. */
const MANY = IS_LONG ? 500 : 100

/** Past it a render hangs; the largest takes seconds. */
const DEADLINE_MS = 100_000

const resources = new AsyncDisposableStack()
const engines = new Map<Engine, RenderEngine>()
let examples: ReadonlyMap<string, CheckRequest> = new Map()
beforeAll(async () => {
  examples = await readExamples()
  const pool = resources.use(openThreadPool({ size: 1, clock: systemClock() }))
  engines.set('react_pdf', openReactPdfEngine({ pool, slots: 1 }))
  engines.set('html', resources.use(await anEngine({ slots: 1 })).engine)
})
afterAll(() => resources.disposeAsync())

/** By code: what the publish check is asked of every template there. */
async function readExamples(): Promise<ReadonlyMap<string, CheckRequest>> {
  const { documents, faults } = await readFolder(join(ROOT, 'examples'), EMPTY_FOLDER, { read: resourceReader() })
  expect(faults).toEqual([])
  const { resources } = identify({ documents, known: {}, isComplete: false, now: systemClock().now() }, systemIds())
  const requests: CheckRequest[] = []
  const checks: Pick<FolderChecks, 'answer'> = {
    async answer(wanted) {
      requests.push(...Array.from(wanted.values(), ({ request }) => request))
      return new Map()
    },
  }
  const found = { foundKeys: new Map(), webhookSecrets: new Map() }
  const given = { documents, resources, ...found, serviceBucket: SERVICE_BUCKET, previous: NO_PREVIOUS }
  await compileFolder({ ...given, known: new Map(), checks, checkWaitMs: 0, clock: systemClock() }, NEVER)
  return new Map(requests.map((request) => [request.source.code, request]))
}

/** What a template promises of its pages. Data of `one` and `many` is made from the sample. */
interface Expected {
  readonly engines: readonly Engine[]
  readonly pages: number
  /** Points. */
  readonly size: readonly [number, number]
  /** Texts of each page of the sample. */
  readonly texts: readonly (readonly string[])[]
  /** As little as the schema allows. */
  readonly one: (data: JsonObject) => JsonObject
  /** `MANY` of what may be many. */
  readonly many: (data: JsonObject) => JsonObject
  /** What is on each page of the many, `page` counted from 1. */
  readonly everyPage: (page: number, pages: number) => readonly string[]
}

const A4 = [595, 842] as const
const numbered = (page: number, pages: number) => [`Page ${page} of ${pages}`]

const EXPECTED: Readonly<Record<string, Expected>> = {
  invoice: {
    engines: ENGINES,
    pages: 2,
    size: A4,
    texts: [
      ['Invoice 2026-0417', 'Księgarnia „Żółta Łódź”', '21 November 2026', 'Unit price', 'Page 1 of 2'],
      ['Unit price', '€12,439.00', 'VAT 7 % of €3,099.00', 'Total due', '€14,430.53', 'Page 2 of 2'],
    ],
    one: (data) => ({ ...without(data, 'note'), rows: [oneRow], taxes: [] }),
    many: (data) => ({ ...data, rows: repeated(data['rows'], MANY) }),
    everyPage: (page, pages) => [...numbered(page, pages), 'IBAN DE02 1203 0000 0000 2020 51'],
  },
  letter: {
    engines: ENGINES,
    pages: 1,
    size: A4,
    texts: [
      ['81-372 Gdynia', '24 November 2026', 'Dear Ms Świętochowska', 'Jonas Weidlich', 'Enclosures', 'Page 1 of 1'],
    ],
    one: (data) => ({
      ...without(data, 'references', 'enclosures'),
      paragraphs: ['Yes.'],
      recipient: ['Acme'],
    }),
    many: (data) => ({ ...data, paragraphs: repeated(data['paragraphs'], MANY) }),
    everyPage: (page, pages) => [...numbered(page, pages), 'hello@acme.example'],
  },
  certificate: {
    engines: ENGINES,
    pages: 1,
    size: [842, 595],
    texts: [
      [
        'ACME SCHOOL OF PRINTING',
        'Certificate of Mastery',
        'Zofia Świętochowska-Łącka',
        'Leipzig, 27 November 2026',
        'AP-2026-014',
      ],
    ],
    one: (data) => ({ ...data, recipients: [{ name: 'Li' }], signers: [{ name: 'A', role: 'B' }] }),
    many: (data) => ({
      ...data,
      recipients: Array.from({ length: MANY }, (_, index) => ({ name: `Name ${index + 1}` })),
    }),
    everyPage: (page) => ['Certificate of Mastery', `Name ${page}`],
  },
  report: {
    engines: ENGINES,
    pages: 3,
    size: A4,
    texts: [
      ['Business report', '11,384', '▲ 5.1 %', '2 Revenue and punctuality', 'Page 1 of 3'],
      ['Revenue, € thousand', '600', '95', 'Jul', 'Exhibition catalogues', '27.2 %', '▼ 4.6 %', 'Page 2 of 3'],
      ['6 Books of the year', 'Ψάρι & θάλασσα', '7 Outlook', 'Page 3 of 3'],
    ],
    one: ({ chart, ...data }) => ({
      ...without(data, 'sections', 'subtitle'),
      summary: ['Nothing happened.'],
      figures: [{ label: 'One', value: 0 }],
      chart: { ...objectOf(chart), points: [{ label: 'Now', bar: 0, line: 90 }] },
      table: { title: 'One row', rows: [{ name: 'Only', orders: 0, revenue: 0, share: 100 }] },
    }),
    many: ({ table, ...data }) => ({
      ...data,
      table: { ...objectOf(table), rows: repeated(objectOf(table)['rows'], MANY) },
    }),
    everyPage: (page, pages) => [...numbered(page, pages), 'Acme Print & Paper', 'Business report'],
  },
  'invoice-ar': {
    engines: ENGINES,
    pages: 1,
    size: A4,
    texts: [['ضريبية', 'النخيل', 'نوفمبر', '٥٣٬٤٠٣٫٩٠', 'ج.م', '412-873-095', 'Bluebird', 'EG38 0019 0005']],
    one: (data) => ({ ...without(data, 'note', 'link'), rows: [oneRow], taxes: [] }),
    many: (data) => ({ ...data, rows: repeated(data['rows'], MANY) }),
    everyPage: (page) => ['صفحة', page.toLocaleString('ar-EG'), 'النخيل'],
  },
  'invoice-ja': {
    engines: ['react_pdf'],
    pages: 1,
    size: A4,
    texts: [
      [
        '青空書房株式会社 御中',
        '登録番号 T1234567890123',
        '682,214円（税込）',
        '8％対象 75,060円 6,004円',
        '2026年12月31日',
      ],
    ],
    one: ({ rows, taxes, ...data }) => ({
      ...without(data, 'note'),
      rows: repeated(rows, 1),
      taxes: repeated(taxes, 1),
    }),
    many: (data) => ({ ...data, rows: repeated(data['rows'], MANY) }),
    everyPage: (page, pages) => [`${pages}ページ中${page}ページ`, '株式会社みなと活版所'],
  },
  'letter-th': {
    engines: ['react_pdf'],
    pages: 2,
    size: A4,
    texts: [
      ['0417/2569', '25 พฤศจิกายน 2569', 'หอสมุด', 'กระดาษปลอดกรด', 'เดือนมกราคม', 'จาก 2'],
      ['1,026,000 บาท', 'ขอแสดงความ', 'ศรีวารี', 'จาก 2'],
    ],
    one: (data) => ({ ...without(data, 'reference', 'enclosures'), paragraphs: [{ text: 'ครับ' }] }),
    many: (data) => ({ ...data, paragraphs: repeated(data['paragraphs'], MANY) }),
    everyPage: (page, pages) => [`${page} จาก ${pages}`, 'โรงพิมพ์ดอกบัว'],
  },
  'certificate-hi': {
    engines: ['html'],
    pages: 1,
    size: [842, 595],
    texts: [['प्रमाणपत्र', 'मृणालिनी द्विवेदी', 'पाठ्यक्रम सफलतापूर्वक', '27 नवंबर 2026', 'समुवि/2026/014']],
    one: (data) => ({ ...without(data, 'motto'), recipients: [{ name: 'अ' }], signers: [{ name: 'क', role: 'ख' }] }),
    many: (data) => ({
      ...data,
      recipients: Array.from({ length: MANY }, (_, index) => ({ name: `नाम ${index + 1}` })),
    }),
    everyPage: (page) => ['प्रमाणपत्र', `नाम ${page}`],
  },
  'delivery-note': {
    engines: ['react_pdf'],
    pages: 1,
    size: [420, 595],
    texts: [['Delivery note GLX-2026-118', '412.5 kg', 'Received by']],
    one: (data) => ({ ...data, parcels: [{ label: 'One', kilograms: 1 }] }),
    many: (data) => ({ ...data, parcels: repeated(data['parcels'], MANY) }),
    everyPage: () => ['kg'],
  },
}

const oneRow = { title: 'One', quantity: 1, unitPrice: 1, taxRate: 0, amount: 1 }

/** A field that the schema says is an object. */
function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : expect.fail()
}

function without(data: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)))
}

function repeated(list: Json | undefined, count: number): Json[] {
  const items: readonly Json[] = Array.isArray(list) ? list : []
  return Array.from({ length: count }, (_, index) => items[index % items.length] ?? null)
}

interface Rendered extends PdfFacts {
  readonly pdf: Uint8Array
}

async function render(code: string, engine: Engine, change = (data: JsonObject) => data): Promise<Rendered> {
  const {
    source,
    assets,
    sampleData = '{}',
    variablesSchema,
  } = examples.get(code) ?? expect.fail(`there is no ${code}`)
  const data = change(JSON.parse(sampleData))
  expect(compileVariablesSchema(JSON.parse(variablesSchema))(data)).toEqual([])
  const work = aRenderWork({ template: source, assets, data, options: source.options })
  const { pdf, warnings } = await (engines.get(engine) ?? expect.fail()).render(work, AbortSignal.timeout(DEADLINE_MS))
  expect(warnings).toEqual([])
  const facts = await inspectPdf(pdf)
  expect(facts.fonts.filter(({ isEmbedded, hasUnicode }) => !(isEmbedded && hasUnicode))).toEqual([])
  return { ...facts, pdf }
}

const samples = new Map<string, Promise<Rendered>>()

/** An example as its sample, rendered once. */
function sampleOf(code: string, engine: Engine): Promise<Rendered> {
  const name = `${code} by ${engine}`
  const rendered = samples.get(name) ?? render(code, engine)
  samples.set(name, rendered)
  return rendered
}

/** Without the marks of direction, which pdftotext also adds. */
const plain = (text: string) => text.replaceAll(/[\u200e\u200f\u202a-\u202e]/g, '').replace(/\s+/g, ' ')
/** As which of two a mirrored bracket is copied depends on the engine. */
const wordsOf = ({ text }: PdfFacts) =>
  plain(text)
    .replaceAll(/[()«»]/g, '|')
    .trim()
    .split(' ')
    .sort()

/** All texts in data. */
function textsIn(data: Json): readonly string[] {
  if (typeof data === 'string') return [data]
  return typeof data === 'object' && data !== null ? Object.values(data).flatMap(textsIn) : []
}

function lettersOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '')
}

/** Every field, each as long or large as the schema allows, in letters of the sample. A list has ten items at most. */
function longest(schema: JsonObject, sample: Json | undefined, root = schema): Json {
  const { $ref, properties, items, maxItems, maxLength, maximum, type } = schema
  if (typeof $ref === 'string') return longest(at(root, $ref.split('/').slice(1)), sample, root)
  if (type === 'object') {
    const known = isJsonObject(sample) ? sample : {}
    const fields = Object.entries(objectOf(properties))
    return Object.fromEntries(fields.map(([name, field]) => [name, longest(objectOf(field), known[name], root)]))
  }
  if (type === 'array') {
    const whole = Array.isArray(sample) ? sample.reduceRight(merged) : undefined
    return Array.from({ length: Math.min(10, Number(maxItems)) }, () => longest(objectOf(items), whole, root))
  }
  if (type === 'boolean') return true
  if (typeof maximum === 'number') return maximum
  const text = typeof sample === 'string' ? sample : 'M'
  return typeof maxLength === 'number' ? text.repeat(maxLength).slice(0, maxLength).trimEnd() : text
}

const merged = (one: Json, other: Json): Json =>
  isJsonObject(one) && isJsonObject(other) ? { ...one, ...other } : other

function at(root: JsonObject, path: readonly string[]): JsonObject {
  return path.reduce((found, name) => objectOf(found[name]), root)
}

test('every example is looked at here', () => {
  expect([...examples.keys()].sort()).toEqual(Object.keys(EXPECTED).sort())
})

const cases = Object.entries(EXPECTED).flatMap(([code, expected]) =>
  expected.engines.map((engine) => ({ code, engine, expected })),
)

describe.for(cases)('$code by $engine', ({ code, engine, expected }) => {
  test('renders its sample, page for page', async () => {
    const facts = await sampleOf(code, engine)
    expect(facts.size.map(Math.round)).toEqual(expected.size)
    const pages = pagesOf(facts.text).map(plain)
    expect(pages.length).toBe(expected.pages)
    for (const [page, texts] of expected.texts.entries()) {
      for (const text of texts) expect(pages[page]).toContain(text)
    }
  })

  test('has the words of its sample as they were written', async () => {
    const printed = plain((await sampleOf(code, engine)).text).split(' ')
    const words = textsIn(JSON.parse(examples.get(code)?.sampleData ?? '{}')).flatMap((text) => plain(text).split(' '))
    // A word that is broken over lines, or not printed, has no like. pdftotext turns signs around beside letters from the right.
    const found = words
      .filter((word) => !/\p{Script=Arabic}/u.test(word))
      .filter((word) => printed.some((other) => lettersOf(other) === lettersOf(word)))
    expect(found.length).toBeGreaterThan(10)
    expect(found.filter((word) => !printed.some((other) => other.includes(word)))).toEqual([])
  })

  test('renders the least its schema allows', async () => {
    const facts = await render(code, engine, expected.one)
    expect(facts.pages).toBeLessThanOrEqual(expected.pages)
  })

  test('renders many of what may be many', async () => {
    const facts = await render(code, engine, expected.many)
    const pages = pagesOf(facts.text).map(plain)
    expect(pages.length).toBeGreaterThan(expected.pages)
    for (const [index, text] of pages.entries()) {
      for (const part of expected.everyPage(index + 1, pages.length)) expect(text).toContain(part)
    }
  })
})

test.for(cases.filter(({ code }) => /-(?:ar|hi|ja|th)$/.test(code)))(
  '$code has room for the longest of everything, by $engine',
  async ({ code, engine }) => {
    const schema = JSON.parse(examples.get(code)?.variablesSchema ?? '{}')
    const { pages } = await render(code, engine, (data) => objectOf(longest(schema, data)))
    expect(pages).toBeGreaterThan(0)
  },
)

test.for(['invoice', 'letter', 'certificate', 'report', 'invoice-ar'])(
  '%s says the same in both engines',
  async (code) => {
    expect(wordsOf(await sampleOf(code, 'html'))).toEqual(wordsOf(await sampleOf(code, 'react_pdf')))
  },
)

test.for(ENGINES)('the letter shows the logo of its tenant and is set in its type, by %s', async (engine) => {
  const { pdf, fonts } = await sampleOf('letter', engine)
  // react_pdf tells faces of one name apart by their content.
  const names = fonts.map(({ name }) => name.replace(/^[A-Z]{6}\+|-[0-9a-f]{8}$/g, ''))
  expect(names).toEqual(expect.arrayContaining(['AcmeSerif-Regular', 'AcmeSerif-Italic']))
  const images = inspect(pdf, 'pdfimages', '-list').trim().split('\n').slice(2)
  expect(images).toContainEqual(expect.stringMatching(/ image +132 +132 /))
})

test.for(ENGINES)('the template in the guide for authors renders by %s', async (engine) => {
  const guide = await readFile(join(ROOT, 'docs/templates.md'), 'utf8')
  const block = (language: string) => new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'm').exec(guide)?.[1] ?? ''
  const template = { reactPdf: block('tsx'), html: { template: block('html'), javascript: false } }
  const work = aRenderWork({ template, data: { rows: [{ name: 'Cotton, 400 g', price: 12.5 }] } })
  const { pdf } = await (engines.get(engine) ?? expect.fail()).render(work, AbortSignal.timeout(DEADLINE_MS))
  const facts = await inspectPdf(pdf)
  expect(facts).toMatchObject({ pages: 1, title: 'Price list' })
  expect(facts.size.map(Math.round)).toEqual([420, 595])
  expect(plain(facts.text)).toContain('Cotton, 400 g €12.50')
})

test.for(ENGINES)('the table of the invoice has its head on each page with a row, by %s', async (engine) => {
  const { text } = await render('invoice', engine, (data) => ({
    ...data,
    rows: Array.from({ length: MANY }, () => oneRow),
  }))
  const pages = pagesOf(text).map(plain)
  expect(pages.map((page) => page.includes('Unit price'))).toEqual(pages.map((page) => page.includes('€1.00')))
})
