/** Rendering as a caller sees it, over HTTP alone. */
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { RenderPage } from '@platen/contract/schema/response.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACME_LIVE, ACME_TEST, GLOBEX_LIVE, invoice } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { inspectPdf, occurrences, type PdfFacts } from '../topology/oracle.ts'
import { ended, readList, render, request, type Service, statusOf, submit } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

const ENGINES = ['react_pdf', 'html'] as const

describe.for(ENGINES)('the %s engine', (engine) => {
  test('answers a sync render with a sound PDF of several pages, each row on it once, all fonts embedded', async () => {
    const answer = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(200), engine })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/pdf')
    expect(answer.headers.get('x-service-render-id')).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
    expect(answer.headers.get('x-service-render-ms')).toMatch(/^\d+$/)
    const pdf = await inspectPdf(answer.body)
    expect(pdf.pages).toBeGreaterThan(2)
    expectSize(pdf, [595.28, 841.89])
    expect(pdf.title).toBe('Invoice 2026-0042')
    for (const { name } of invoice(200).rows) expect(occurrences(pdf.text, name), name).toBe(1)
    expect(pdf.fonts.length).toBeGreaterThan(0)
    expect(pdf.fonts.filter((font) => !font.isEmbedded || !font.hasUnicode)).toEqual([])
  })

  test('writes every default script so that it can be copied out again', async () => {
    const texts = ['Zażółć gęślą jaźń', 'Ελληνικά', 'Привет', '10 € ✓', 'Straße']
    const data = { number: 'A1', rows: texts.map((name) => ({ name })) }
    const pdf = await inspectPdf((await render(service, ACME_LIVE, { template: 'invoice', data, engine })).body)
    for (const text of texts) expect(pdf.text).toContain(text)
  })

  test('keeps an async render, which its caller polls for and downloads', async () => {
    const accepted = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(5), engine, mode: 'async' })
    expect(accepted.status).toBe(202)
    const { render_id, status, poll_url: path } = accepted.json()
    const id = String(render_id)
    expect({ status, path }).toEqual({ status: 'queued', path: `/api/v1/render/${id}` })
    const record = await ended(service, ACME_LIVE, id)
    expect(record).toMatchObject({ render_id: id, template: 'invoice', status: 'succeeded' })
    const download = await fetch(String(record.pdf_url))
    const bytes = new Uint8Array(await download.arrayBuffer())
    expect(bytes.byteLength).toBe(record.pdf_size_bytes)
    expect((await inspectPdf(bytes)).text).toContain('row-5-of-5.')
    const get = (headers = {}) =>
      request(service, { key: ACME_LIVE, path: `${String(path)}/pdf?disposition=attachment`, headers })
    const answer = await get()
    expect([answer.status, Buffer.from(answer.body).equals(bytes)]).toEqual([200, true])
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="invoice-/)
    const part = await get({ range: 'bytes=1-4' })
    expect([part.status, Buffer.from(part.body).toString()]).toEqual([206, 'PDF-'])
    expect((await get({ 'if-none-match': String(answer.headers.get('etag')) })).status).toBe(304)
    expect((await request(service, { key: GLOBEX_LIVE, path: `${String(path)}/pdf` })).status).toBe(404)
  })

  test('shows a sync render and its PDF right after the answer', async () => {
    for (let time = 1; time <= 5; time++) {
      const answer = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(time), engine })
      const path = `/api/v1/render/${answer.headers.get('x-service-render-id')}`
      const [record, pdf] = await Promise.all([
        request(service, { key: ACME_LIVE, path }),
        request(service, { key: ACME_LIVE, path: `${path}/pdf` }),
      ])
      expect(record.json()).toMatchObject({ status: 'succeeded', pdf_size_bytes: answer.body.byteLength })
      expect(Buffer.from(pdf.body).equals(Buffer.from(answer.body))).toBe(true)
    }
  })

  test('shows a sync render under its id too', async () => {
    const answer = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1), engine })
    const record = await ended(service, ACME_LIVE, String(answer.headers.get('x-service-render-id')))
    expect(record).toMatchObject({ status: 'succeeded', pdf_size_bytes: answer.body.byteLength })
  })

  test('follows page size and orientation of the request', async () => {
    const options = { page_size: 'A5', orientation: 'landscape' }
    const answer = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1), engine, options })
    expectSize(await inspectPdf(answer.body), [595.28, 419.53])
  })
})

describe('react_pdf', () => {
  test('repeats fixed headers and footers and numbers the pages', async () => {
    const pdf = await inspectPdf((await render(service, ACME_LIVE, { template: 'invoice', data: invoice(200) })).body)
    expect(occurrences(pdf.text, 'Header of 2026-0042')).toBe(pdf.pages)
    for (let page = 1; page <= pdf.pages; page++) expect(pdf.text).toContain(`page ${page} of ${pdf.pages}`)
  })

  test('gives equal bytes for equal input and date', async () => {
    const options = { date: '2026-11-25T12:00:00Z' }
    const once = () => render(service, ACME_LIVE, { template: 'invoice', data: invoice(30), options })
    const [first, second] = [await once(), await once()]
    expect(Buffer.from(first.body).equals(second.body)).toBe(true)
  })

  test('ends a template that never ends at the deadline of the plan, in both modes, and works on', async () => {
    const endless = { template: 'busy', data: { rounds: 1e15 } }
    const answer = await render(service, ACME_LIVE, endless)
    expect(answer.status).toBe(500)
    expect(answer.json()).toMatchObject({
      error: { code: 'INTERNAL_ERROR', message: expect.stringMatching(/^render_timeout: .*5 seconds/) },
    })
    const id = await submit(service, ACME_LIVE, endless)
    expect(await ended(service, ACME_LIVE, id)).toMatchObject({ status: 'failed', error: { code: 'render_timeout' } })
    expect((await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })).status).toBe(200)
  })

  test('names file, line and column of what an author got wrong', async () => {
    const answer = await render(service, ACME_LIVE, { template: 'broken', data: {} })
    expect(answer.status).toBe(500)
    expect(answer.headers.get('x-service-render-id')).not.toBeNull()
    expect(answer.json()).toMatchObject({ error: { message: expect.stringMatching(/^template_error: .*:5:\d+/) } })
  })
})

describe('templates', () => {
  test('name their own engine', async () => {
    const answer = await render(service, ACME_LIVE, { template: 'page-only', data: { name: '<b>you</b>' } })
    expect((await inspectPdf(answer.body)).text).toContain('Hello <b>you</b>')
  })

  test('are listed with their schema, as pages that headers describe', async () => {
    const answer = await request(service, { key: ACME_LIVE, path: '/api/v1/templates?page=1&per_page=2' })
    expect(answer.json()).toEqual({
      templates: [
        { code: 'broken', name: 'broken', version: 1, variables_schema: { type: 'object', properties: {} } },
        { code: 'busy', name: 'busy', version: 1, variables_schema: { type: 'object', properties: {} } },
      ],
    })
    expect(answer.headers.get('x-total-count')).toBe('4')
    expect(answer.headers.get('link')).toContain('rel="next"')
  })
})

describe('a template', () => {
  const get = (code: string, key = ACME_LIVE) => request(service, { key, path: `/api/v1/templates/${code}` })

  test('is shown with its engines and their price, its options and its sample', async () => {
    expect((await get('page-only')).json()).toEqual({
      code: 'page-only',
      name: 'page-only',
      version: 1,
      engine: 'html',
      engines: [{ engine: 'html', units: 1, in_plan: true }],
      options: { page_size: 'A5' },
      variables_schema: { type: 'object', properties: {} },
      sample: { name: 'you' },
    })
  })

  test('is not shown to another tenant', async () => {
    const answers = [await get('page-only', GLOBEX_LIVE), await get('secret-plans'), await get('nothing')]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
    expect((await get('secret-plans', GLOBEX_LIVE)).status).toBe(200)
  })
})

test('a body may be sent as gzip, and is bounded as what it becomes', async () => {
  const post = (text: string) =>
    fetch(`${service.url()}/api/v1/render`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ACME_LIVE}`, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(text),
    })
  const answer = await post(JSON.stringify({ template: 'invoice', data: invoice(3) }))
  const pdf = await inspectPdf(new Uint8Array(await answer.arrayBuffer()))
  expect([answer.status, pdf.text]).toEqual([200, expect.stringContaining('row-3-of-3.')])
  const bomb = await post(JSON.stringify({ template: 'invoice', data: { number: ' '.repeat(50 * 1024 * 1024) } }))
  expect([bomb.status, await bomb.json()]).toMatchObject([413, { error: { code: 'PAYLOAD_TOO_LARGE' } }])
})

describe('a plan without the html engine', () => {
  test('answers 402 to html and renders react_pdf', async () => {
    const answer = await render(service, GLOBEX_LIVE, { template: 'invoice', data: invoice(1), engine: 'html' })
    expect([answer.status, answer.json()]).toMatchObject([402, { error: { code: 'PAYMENT_REQUIRED' } }])
    expect((await render(service, GLOBEX_LIVE, { template: 'invoice', data: invoice(1) })).status).toBe(200)
  })
})

describe('a render', () => {
  test('does not exist for another tenant or environment', async () => {
    const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
    const answers = await Promise.all(
      [GLOBEX_LIVE, ACME_TEST].map((key) => request(service, { key, path: `/api/v1/render/${id}` })),
    )
    for (const answer of answers)
      expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: 'RENDER_NOT_FOUND' } }])
    expect((await statusOf(service, ACME_LIVE, id)).render_id).toBe(id)
  })

  test('of a template that only another tenant has does not exist', async () => {
    const answer = await render(service, ACME_LIVE, { template: 'secret-plans', data: {} })
    expect([answer.status, answer.json()]).toMatchObject([404, { error: { code: 'TEMPLATE_NOT_FOUND' } }])
  })

  test('with data of megabytes is accepted and finished', async () => {
    const data = { number: 'big', rows: [{ name: 'only' }], ballast: 'x'.repeat(3_000_000) }
    const id = await submit(service, ACME_LIVE, { template: 'invoice', data })
    expect(await ended(service, ACME_LIVE, id)).toMatchObject({ status: 'succeeded' })
  })

  test('is still known after the service was stopped and started', async () => {
    const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
    const before = await ended(service, ACME_LIVE, id)
    const sync = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
    expect(await service.stop()).toBe(0)
    await service.start()
    const after = await statusOf(service, ACME_LIVE, id)
    expect({ ...after, pdf_url: '' }).toEqual({ ...before, pdf_url: '' })
    expect((await fetch(String(after.pdf_url))).status).toBe(200)
    expect((await statusOf(service, ACME_LIVE, String(sync.headers.get('x-service-render-id')))).status).toBe(
      'succeeded',
    )
  })
})

describe('the list of renders', () => {
  const list = (key: string, filters: Record<string, string>) =>
    readList(service, { key, path: `/api/v1/renders?${new URLSearchParams(filters).toString()}` })
  const idsOf = async (filters: Record<string, string>, key = ACME_LIVE) => {
    const answer = await list(key, filters)
    expect(answer.status).toBe(200)
    return (answer.json() as RenderPage).renders.map(({ render_id }) => render_id)
  }

  /** The list learns of an end beside the status, and may do so a moment later. */
  const endsListed = (reference: string, ids: readonly string[]) =>
    poll(async () => ((await list(ACME_LIVE, { reference })).json() as RenderPage).renders).until(
      (renders) =>
        renders.length === ids.length && renders.every(({ status }) => status === 'succeeded' || status === 'failed'),
    )

  test('finds what was asked for by what the request said, page by page, the newest first', async () => {
    const reference = `order ${randomUUID()} é/"`
    const metadata = { customer: 'c-17', note: '' }
    const body = { template: 'invoice', data: invoice(1), reference, metadata }
    const before = new Date().toISOString()
    const first = await submit(service, ACME_LIVE, body)
    const html = await submit(service, ACME_LIVE, { ...body, engine: 'html' })
    const broken = await submit(service, ACME_LIVE, { template: 'broken', data: {}, reference })
    const sync = await render(service, ACME_LIVE, body)
    await submit(service, ACME_TEST, body)
    const last = String(sync.headers.get('x-service-render-id'))
    for (const id of [first, html, broken, last]) await ended(service, ACME_LIVE, id)
    expect(await statusOf(service, ACME_LIVE, first)).toMatchObject({ reference, metadata })
    const all = [last, broken, html, first]
    await endsListed(reference, all)
    expect(await idsOf({ reference })).toEqual(all)
    expect(await idsOf({ reference, status: 'failed' })).toEqual([broken])
    expect(await idsOf({ reference, template: 'broken', status: 'succeeded' })).toEqual([])
    expect(await idsOf({ reference, engine: 'html', template: 'invoice' })).toEqual([html])
    expect(await idsOf({ reference, created_after: before })).toEqual(all)
    expect(await idsOf({ reference, created_before: before })).toEqual([])
    expect((await idsOf({ created_after: before })).toSorted()).toEqual(expect.arrayContaining(all.toSorted()))
    expect(await idsOf({ reference }, GLOBEX_LIVE)).toEqual([])
    expect(await idsOf({ reference }, ACME_TEST)).toHaveLength(1)
    const pages: string[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = (await list(ACME_LIVE, { reference, limit: '3', ...(cursor && { cursor }) })).json() as RenderPage
      pages.push(...page.renders.map(({ render_id }) => render_id))
      cursor = page.next_cursor
    }
    expect(pages).toEqual(all)
    const [failed] = ((await list(ACME_LIVE, { reference, status: 'failed' })).json() as RenderPage).renders
    const error = { code: 'template_error', reason: 'template_error' }
    expect(failed).toMatchObject({ template: 'broken', engine: 'react_pdf', reference, status: 'failed', error })
  })

  test('shows a render as soon as it is accepted, and is the same after a restart', async () => {
    const reference = randomUUID()
    const ids = []
    for (let i = 0; i < 3; i++) {
      const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1), reference })
      ids.unshift(id)
      expect(await idsOf({ reference })).toEqual(ids)
    }
    for (const id of ids) await ended(service, ACME_LIVE, id)
    await endsListed(reference, ids)
    const before = (await list(ACME_LIVE, { reference })).json()
    expect(await service.stop()).toBe(0)
    await service.start()
    expect((await list(ACME_LIVE, { reference })).json()).toEqual(before)
  })

  test('takes no cursor but its own', async () => {
    const reference = randomUUID()
    for (let i = 0; i < 2; i++) await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1), reference })
    const { next_cursor: cursor = '' } = (await list(ACME_LIVE, { reference, limit: '1' })).json() as RenderPage
    const tampered = `${cursor.startsWith('B') ? 'C' : 'B'}${cursor.slice(1)}`
    const refused = [
      [ACME_LIVE, { cursor }],
      [ACME_LIVE, { cursor, reference, status: 'queued' }],
      [ACME_TEST, { cursor, reference }],
      [GLOBEX_LIVE, { cursor, reference }],
      [ACME_LIVE, { cursor: tampered, reference }],
      [ACME_LIVE, { cursor: cursor.slice(1), reference }],
    ] as const
    for (const [key, filters] of refused) {
      const answer = await list(key, filters)
      const error = { code: 'INVALID_PAYLOAD', details: [{ path: 'cursor' }] }
      expect([answer.status, answer.json()]).toMatchObject([400, { error }])
    }
    expect((await list(ACME_LIVE, { cursor, reference, limit: '7' })).status).toBe(200)
  })
})

describe('a link to a PDF', () => {
  test('is worth nothing once it was changed', async () => {
    const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
    const url = new URL(String((await ended(service, ACME_LIVE, id)).pdf_url))
    expect((await fetch(url)).status).toBe(200)
    // The path, and whatever the link says of its time and its signature.
    const changed = [...url.searchParams.keys()].map((name) => {
      const other = new URL(url)
      const value = url.searchParams.get(name) ?? ''
      other.searchParams.set(name, `${value.slice(0, -1)}${value.endsWith('1') ? '2' : '1'}`)
      return other
    })
    changed.push(
      new URL(
        url.href.replace(
          id,
          id.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        ),
      ),
    )
    for (const other of changed) expect([other.href, (await fetch(other)).ok]).toEqual([other.href, false])
  })
})

/** Chromium lays pages out in whole pixels, three quarters of a point each. */
function expectSize({ size }: PdfFacts, [width, height]: readonly [number, number]): void {
  expect(Math.abs(size[0] - width)).toBeLessThan(0.75)
  expect(Math.abs(size[1] - height)).toBeLessThan(0.75)
}
