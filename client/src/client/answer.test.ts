import { expect, test } from 'vitest'
import {
  type Answer,
  aClient,
  accepted,
  errorOf,
  ID,
  INPUT,
  json,
  pdf,
  record,
} from '../../../test/fixture/api/client.ts'
import type { Client } from '../client.ts'
import { pdfAnswerOf } from './answer.ts'

const answerWith = (headers: Record<string, string>) =>
  pdfAnswerOf(
    new Response('', { headers: { 'content-type': 'application/pdf', 'x-acme-render-id': ID, ...headers } }),
    'acme',
  )

test('the quota and the rate are those of the headers', () => {
  const quota = { 'x-acme-quota-limit': '10', 'x-acme-quota-remaining': '0' }
  const rate = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1795262400' }
  expect(answerWith({ ...quota, ...rate })).toMatchObject({
    quota: { limit: 10, remaining: 0 },
    rate: { limit: 60, remaining: 59, resetsAt: '2026-11-21T12:00:00.000Z' },
  })
})

test.for<[string, Record<string, string>]>([
  ['are absent', {}],
  ['are of another brand', { 'x-service-quota-limit': '10', 'x-service-quota-remaining': '0' }],
  ['are incomplete', { 'x-acme-quota-limit': '10', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' }],
  [
    'are those of a proxy',
    { 'x-ratelimit-limit': '60, 60;w=60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': 'soon' },
  ],
])('there is no quota and no rate where the headers %s', ([, headers]) => {
  expect(answerWith(headers)).toMatchObject({ quota: undefined, rate: undefined })
})

test('an answer that is nested too deeply to be read is not one of the service', async () => {
  const { client } = aClient([() => new Response('[{"a":'.repeat(100_000) + '1' + '}]'.repeat(100_000))], {
    retries: 0,
  })
  await expect(client.getRender(ID)).rejects.toMatchObject({ code: 'INVALID_ANSWER' })
})

/** An answer that has what the service says of a PDF, and another body or type. */
const almost = (body: string | ReadableStream | null, type = 'application/pdf'): Answer => {
  return async (request) => {
    const { headers } = await pdf(request)
    headers.set('content-type', type)
    headers.set('x-request-id', 'r-1')
    return new Response(body, { headers })
  }
}
const piecesOf = (...texts: string[]) =>
  new ReadableStream({
    start(stream) {
      for (const text of texts) stream.enqueue(new TextEncoder().encode(text))
      stream.close()
    },
  })
const ready = record({ status: 'succeeded', pdf_url: 'https://storage.example.com/x.pdf' })

/** Every call that gives a PDF, with the answers before it. */
const PDF_CALLS: readonly [string, readonly Answer[], (client: Client, taken: string[]) => Promise<unknown>][] = [
  ['render', [], (client) => client.render(INPUT)],
  ['getPdf', [], (client) => client.getPdf(ID)],
  ['downloadPdf', [], (client) => client.downloadPdf({ pdfUrl: 'https://storage.example.com/x.pdf' })],
  ['renderAndWait', [accepted, ready], (client) => client.renderAndWait(INPUT)],
  [
    'renderTo',
    [],
    (client, taken) =>
      client.renderTo(INPUT, async (pdf) => {
        for await (const piece of pdf) taken.push(new TextDecoder().decode(piece))
      }),
  ],
]

test.for(PDF_CALLS)('%s refuses a 200 that is no PDF, and hands nothing over', async ([, before, ask]) => {
  const answers: readonly Answer[] = [
    almost('<html>log in</html>', 'text/html'),
    almost('<html>log in</html>'),
    almost('%PDF-1.7', 'text/html; charset=utf-8'),
    almost('%PDF-1.7', 'application/pdfx'),
    almost(''),
    almost(null),
    almost('%PDF'),
    almost(' %PDF-1.7'),
    almost('%pdf-1.7'),
  ]
  for (const answer of answers) {
    const taken: string[] = []
    const error = await errorOf(ask(aClient([...before, answer]).client, taken))
    expect(error).toMatchObject({ code: 'INVALID_ANSWER', status: 200, requestId: 'r-1' })
    expect(taken).toEqual([])
  }
})

test.for(PDF_CALLS)('%s takes a PDF in any pieces', async ([, before, ask]) => {
  const types = ['application/pdf', 'Application/PDF; charset=binary']
  for (const type of types) {
    for (const pieces of [['%PDF-1.7'], ['%', 'PD', 'F-1', '.7'], ['', '%PDF-', '', '1.7']]) {
      const answer: Answer = (request) => almost(piecesOf(...pieces), type)(request)
      const taken: string[] = []
      await ask(aClient([...before, answer]).client, taken)
      expect(['', '%PDF-1.7']).toContain(taken.join(''))
    }
  }
})

test('a call of JSON refuses JSON of somebody else', async () => {
  const calls: Partial<Record<keyof Client, (client: Client) => Promise<unknown>>> = {
    renderAsync: (client) => client.renderAsync(INPUT),
    renderAndWait: (client) => client.renderAndWait(INPUT),
    getRender: (client) => client.getRender(ID),
    deleteRender: (client) => client.deleteRender(ID),
    waitForRender: (client) => client.waitForRender(ID, { timeoutMs: 3000 }),
    createBatch: (client) => client.createBatch({ template: 'invoice', items: [{ data: {} }] }),
    getBatch: (client) => client.getBatch(ID),
    waitForBatch: (client) => client.waitForBatch(ID, { timeoutMs: 3000 }),
    listRenders: (client) => client.listRenders(),
    allRenders: (client) => client.allRenders().next(),
    listTemplates: (client) => client.listTemplates(),
    allTemplates: (client) => client.allTemplates().next(),
    getTemplate: (client) => client.getTemplate('invoice'),
    getUsage: (client) => client.getUsage(),
    listDeliveries: (client) => client.listDeliveries(ID),
    listAllDeliveries: (client) => client.listAllDeliveries(),
    allDeliveries: (client) => client.allDeliveries().next(),
    getDelivery: (client) => client.getDelivery('d'),
    testWebhook: (client) => client.testWebhook('https://x.example'),
    redeliver: (client) => client.redeliver('d'),
  }
  const bodies = [{}, [], null, 1, 'text', { status: 'ok' }, { renders: {}, templates: 1, deliveries: [null] }]
  const accepted: string[] = []
  for (const [name, ask] of Object.entries(calls)) {
    for (const body of bodies) {
      const error = await errorOf(ask(aClient([json(body)]).client)).catch(() => undefined)
      if (error?.code !== 'INVALID_ANSWER') accepted.push(`${name} ${JSON.stringify(body)}: ${error?.message}`)
    }
  }
  expect(accepted).toEqual([])
})

test('the field that is not as it should be is named, and what it has is not', async () => {
  const { client } = aClient([json({ render_id: 42, poll_url: 'secret' })])
  expect((await errorOf(client.renderAsync(INPUT))).message).toBe(
    'the answer is not from the service: its field renderId is missing or of another type',
  )
})
