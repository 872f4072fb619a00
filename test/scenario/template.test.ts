/** What a template's author can do, as it shows over HTTP, in both engines. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACME_LIVE, ACME_TEST, html, key, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { ended, published, render, submit } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const SCRIPTED_LIVE = `service_live_${'S'.repeat(43)}`

const STRICT_LIVE = `service_live_${'T'.repeat(43)}`

/** A PNG of one half-transparent red pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const FONT = new URL('../fixture/font/brand-regular.ttf', import.meta.url)

const tsxOf = (page: string) =>
  tsx(`import { Document, Image, Page, Text, View } from '@react-pdf/renderer'
export default ({ data, options }) => <Document language="pl">${page}</Document>`)

/** What is in both engines: an image, a font and a text of the template's own. */
const BRANDED = {
  assets: [{ name: 'dot.png', inline: DOT }],
  ...tsxOf(
    `<Page><Image src="asset:dot.png" style={{ width: 50 }} /><Text style={{ fontFamily: 'Brand' }}>ABC {data.name}</Text></Page>`,
  ),
  ...html(
    '<html lang="pl"><img src="asset:dot.png" width="50"><p style="font-family: Brand">ABC {{ name }}</p></html>',
  ),
}

/** Two pages with a text from the data. */
const TWO_PAGES = {
  ...tsxOf('<Page><Text>{data.name}</Text></Page><Page><Text>second</Text></Page>'),
  ...html('<p>{{ name }}</p><p style="break-before: page">second</p>'),
}
/** A character for private use, which no font has. */
const UNKNOWN = '\u{10fffd}'

/** A column of the options: nothing but a word in the corner of the page's content. */
const CORNER = {
  ...tsxOf(`<Page size="A5" orientation="landscape" style={{ padding: 10 }}><Text>corner</Text></Page>`),
  ...html('<style>@page { size: A5 landscape; margin: 10pt } body { margin: 0 }</style>corner'),
}

const LOCALE = {
  ...tsxOf(
    `<Page><Text>{new Intl.NumberFormat().format(data.sum)} {data.at && new Date(data.at).toLocaleDateString()}</Text></Page>`,
  ),
  ...html('{{ sum | number }} {{ at | date: nothing, "short" }}'),
}

const SCRIPT = "<p id='out'>still</p><script>document.getElementById('out').textContent = 'moved by script'</script>"
const scripted = { engine: 'Html', html: { template: { inline: SCRIPT }, javascriptEnabled: true } }

/** Two addresses of this machine, at which nothing listens; the operator has opened the network of the first alone. */
const [OPEN, CLOSED] = ['127.77.7.7', '127.78.7.7']
/** Shows an image of the address the data names, and lists both. */
const FAR = {
  egress: { allowedHosts: [OPEN, CLOSED] },
  ...tsxOf('<Page><Image src={data.logo} /></Page>'),
  ...html('<img src="{{ logo }}">'),
}

const service = await startService({ PLATEN_EGRESS_ALLOW_CIDRS: '127.77.0.0/16' })
afterAll(() => service[Symbol.asyncDispose]())

beforeAll(async () => {
  const brand = (await readFile(FONT)).toString('base64')
  const documents = [
    template('acme', 'branded', {
      ...BRANDED,
      assets: [...BRANDED.assets, { name: 'brand.ttf', inline: brand }],
      fonts: [{ family: 'Brand', asset: 'brand.ttf' }],
    }),
    template('acme', 'corner', CORNER),
    template('acme', 'wide', { ...CORNER, options: { pageSize: 'A4', margin: 40 } }),
    template('acme', 'polish', { ...LOCALE, locale: 'pl-PL' }),
    template('acme', 'american', LOCALE),
    template('acme', 'scripted', scripted),
    template('acme', 'far', FAR),
    template('acme', 'lenient', TWO_PAGES),
    template('acme', 'strict', { ...TWO_PAGES, strict: true }),
    plan('strict', { htmlEngineEnabled: true, strict: true }),
    tenant('strict', 'strict'),
    key('strict', 'live', STRICT_LIVE),
    template('strict', 'lenient', TWO_PAGES),
    plan('scripting', { htmlEngineEnabled: true, javascriptEnabled: true }),
    tenant('scripted', 'scripting'),
    key('scripted', 'live', SCRIPTED_LIVE),
    template('scripted', 'scripted', scripted),
  ]
  await writeFile(join(service.manifestsDir, 'author.yaml'), manifestOf(documents))
  for (const [apiKey, code] of [
    [ACME_LIVE, 'branded'],
    [ACME_LIVE, 'far'],
    [SCRIPTED_LIVE, 'scripted'],
    [ACME_LIVE, 'strict'],
    [STRICT_LIVE, 'lenient'],
  ] as const) {
    await published(service, apiKey, code)
  }
})

async function pdfOf(body: object, apiKey = ACME_LIVE) {
  const answer = await render(service, apiKey, { data: {}, ...body })
  expect(Buffer.from(answer.body).toString('latin1', 0, 5)).toBe('%PDF-')
  return await inspectPdf(answer.body)
}

async function recordOf(body: object, apiKey = ACME_LIVE): Promise<StatusRecord> {
  return await ended(service, apiKey, await submit(service, apiKey, { data: {}, ...body }))
}

describe.for(['react_pdf', 'html'] as const)('in %s', (engine) => {
  test('a template has images and fonts of its own, and says what no font of it can write', async () => {
    const pdf = await pdfOf({ template: 'branded', engine, data: { name: 'Ala' } })
    expect(pdf.fonts.some(({ name }) => name.includes('PlatenBrand'))).toBe(true)
    expect(pdf.fonts.every(({ isEmbedded, hasUnicode }) => isEmbedded && hasUnicode)).toBe(true)
    expect(pdf.text).toContain('ABC Ala')
    expect(pdf.info).toMatchObject({ Title: 'branded', Keywords: 'template:branded, version:1' })
    expect(await recordOf({ template: 'branded', engine, data: { name: '𒀀𒀁' } })).toMatchObject({
      status: 'succeeded',
      warnings: [{ code: 'missing_glyph', message: expect.stringContaining('𒀀 (U+12000), 𒀁 (U+12001)') }],
    })
    expect(await recordOf({ template: 'branded', engine, data: { name: 'Ala' } })).not.toHaveProperty('warnings')
  })

  test('a sync answer says how many pages and warnings there are, and the status which', async () => {
    const answers = [
      await render(service, ACME_LIVE, { template: 'lenient', engine, data: { name: 'Ala' } }),
      await render(service, ACME_LIVE, { template: 'lenient', engine, data: { name: UNKNOWN } }),
    ]
    const told = answers.map(({ headers }) => ['pages', 'warnings'].map((name) => headers.get(`x-service-${name}`)))
    expect(told).toEqual([
      ['2', '0'],
      ['2', '1'],
    ])
    const [plain, warned] = await Promise.all(
      answers.map(({ headers }) => ended(service, ACME_LIVE, headers.get('x-service-render-id') ?? '')),
    )
    expect(plain).toMatchObject({ status: 'succeeded', pages: 2 })
    expect(plain).not.toHaveProperty('warnings')
    expect(warned).toMatchObject({ status: 'succeeded', pages: 2, warnings: [{ code: 'missing_glyph' }] })
  })

  test('a warning fails the render if its template, its plan or the request is strict, and only then', async () => {
    const strict = { template: 'lenient', options: { strict: true } }
    const asked = [
      [ACME_LIVE, { template: 'strict' }],
      [ACME_LIVE, { template: 'strict', options: { strict: false } }],
      [ACME_LIVE, strict],
      [STRICT_LIVE, { template: 'lenient' }],
    ] as const
    const message = expect.stringMatching(/^the document has 1 warning, .*U\+10FFFD/)
    for (const [apiKey, body] of asked) {
      const record = await recordOf({ ...body, engine, data: { name: UNKNOWN } }, apiKey)
      expect(record).toMatchObject({
        status: 'failed',
        error: { code: 'document_warnings', reason: 'document_warnings', message },
        warnings: [{ code: 'missing_glyph' }],
      })
      expect(record).not.toHaveProperty('pdf_url')
      await pdfOf({ ...body, engine, data: { name: 'Ala' } }, apiKey)
    }
    const answer = await render(service, ACME_LIVE, { ...strict, engine, data: { name: UNKNOWN } })
    expect([answer.status, answer.json()['error']]).toMatchObject([
      500,
      { code: 'INTERNAL_ERROR', reason: 'document_warnings', message: expect.stringMatching(/^document_warnings: /) },
    ])
  })

  test('options of the request beat those of the template, and these the source', async () => {
    const sizeOf = async (body: object) => (await pdfOf({ engine, ...body })).size.map(Math.round)
    expect(await sizeOf({ template: 'corner' })).toEqual([595, 420])
    expect(await sizeOf({ template: 'corner', options: { orientation: 'portrait' } })).toEqual([420, 595])
    expect(await sizeOf({ template: 'wide', options: { orientation: 'portrait' } })).toEqual([595, 842])
    expect(await sizeOf({ template: 'wide', options: { page_size: 'LETTER', orientation: 'landscape' } })).toEqual([
      792, 612,
    ])
    expect(await sizeOf({ template: 'wide', options: { page_size: { width: 300, height: 200 } } })).toEqual([300, 200])
  })

  test('a page is as large as its size says, also that of a template that says none', async () => {
    const sizeOf = async (options: object) =>
      (await pdfOf({ template: 'american', engine, data: { sum: 1 }, options })).size
    // Chromium prints whole points, to a three-hundredth of an inch.
    const sides = (width: number, height: number) => [expect.closeTo(width, 0), expect.closeTo(height, 0)]
    expect(await sizeOf({})).toEqual(sides(595.28, 841.89))
    expect(await sizeOf({ orientation: 'landscape' })).toEqual(sides(841.89, 595.28))
    expect(await sizeOf({ page_size: 'A4' })).toEqual(sides(595.28, 841.89))
    expect(await sizeOf({ page_size: 'LETTER' })).toEqual(sides(612, 792))
    expect(await sizeOf({ page_size: 'LETTER', orientation: 'landscape' })).toEqual(sides(792, 612))
  })

  test('a margin that leaves no room is named, with the page', async () => {
    const options = { page_size: 'A6', margin: 500 }
    const answer = await render(service, ACME_LIVE, { template: 'corner', data: {}, engine, options })
    expect(answer.status).toBe(422)
    expect(answer.json()['error']).toMatchObject({
      code: 'VALIDATION_FAILED',
      reason: 'invalid_options',
      message: expect.stringMatching(/^invalid_options: .*margin/),
    })
  })

  test('numbers are written in the locale of the template', async () => {
    expect((await pdfOf({ template: 'polish', engine, data: { sum: 1234567.5 } })).text).toMatch(/1\s234\s567,5/)
    expect((await pdfOf({ template: 'american', engine, data: { sum: 1234567.5 } })).text).toContain('1,234,567.5')
  })

  test('numbers and dates are written for the locale and in the time zone of the request', async () => {
    const body = { template: 'american', engine, data: { sum: 1234567.5, at: '2026-11-21T23:30:00Z' } }
    const american = await pdfOf(body)
    expect(american.text).toMatch(/11\/21\/(20)?26/)
    const polish = await pdfOf({ ...body, options: { locale: 'pl-PL', time_zone: 'Europe/Warsaw' } })
    expect(polish.text).toMatch(/1\s234\s567,5 22\.11\.2026/)
    const { body: answer, status } = await render(service, ACME_LIVE, { ...body, options: { time_zone: 'Warsaw' } })
    expect([status, Buffer.from(answer).toString()]).toEqual([400, expect.stringContaining('Europe/Warsaw')])
  })

  test('a PDF is dated by the acceptance of its render, or by the request', async () => {
    const body = { template: 'american', engine, data: { sum: 1 }, mode: 'async' }
    const datesOf = async (options: object) => {
      const id = await submit(service, ACME_LIVE, { ...body, options })
      const { pdf_url, created_at } = await ended(service, ACME_LIVE, id)
      const { info } = await inspectPdf(new Uint8Array(await (await fetch(pdf_url ?? '')).arrayBuffer()))
      // pdfinfo has whole seconds.
      const seconds = (text = '') => Math.trunc(Date.parse(text) / 1000)
      return { dates: [info['CreationDate'], info['ModDate']].map(seconds), created: seconds(created_at) }
    }
    const { dates, created } = await datesOf({})
    expect(dates).toEqual([created, created])
    const asked = Date.UTC(2026, 0, 1, 1) / 1000
    expect((await datesOf({ date: '2026-01-01T00:00:00-01:00' })).dates).toEqual([asked, asked])
  })

  test('an image is fetched from a listed host, at public addresses and those the operator opens', async () => {
    const failureOf = async (logo: string) => (await recordOf({ template: 'far', engine, data: { logo } })).error
    const code = 'asset_unavailable'
    const closed = expect.stringContaining(`${CLOSED}: it does not lead to a public address`)
    expect(await failureOf(`http://${CLOSED}/logo.png`)).toEqual({ code, reason: code, message: closed })
    const unreachable = expect.stringContaining(
      `${OPEN}: it could not be reached, or the connection broke (ECONNREFUSED)`,
    )
    expect(await failureOf(`https://${OPEN}/logo.png`)).toEqual({ code, reason: code, message: unreachable })
  })

  test('a sandbox key gives a watermark on every page, and a live key gives none', async () => {
    const data = { number: 'A1', rows: Array.from({ length: 200 }, () => ({ name: 'x' })) }
    const marked = await pdfOf({ template: 'invoice', engine, data }, ACME_TEST)
    expect(marked.pages).toBeGreaterThan(1)
    const pages = marked.text.split('\f').slice(0, -1)
    expect(pages.filter((page) => /^\s*TEST\s*$/m.test(page))).toHaveLength(marked.pages)
    expect((await pdfOf({ template: 'invoice', engine, data })).text).not.toContain('TEST')
  })
})

describe('page JavaScript', () => {
  test('runs where template and plan say so', async () => {
    expect((await pdfOf({ template: 'scripted', engine: 'html' }, SCRIPTED_LIVE)).text).toContain('moved by script')
  })

  test('does not run where the plan says nothing of it, and the render says so', async () => {
    expect((await pdfOf({ template: 'scripted', engine: 'html' })).text).toContain('still')
    expect(await recordOf({ template: 'scripted', engine: 'html' })).toMatchObject({
      warnings: [{ code: 'javascript_disabled' }],
    })
  })
})
