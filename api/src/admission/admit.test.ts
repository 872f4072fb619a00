import { cidrsOf } from '@platen/lib/address.ts'
import { describe, expect, test } from 'vitest'
import { anApi, isQueueEmpty, queued } from '../../../test/fixture/api.ts'
import { aTemplate } from '../../../test/fixture/build.ts'
import type { EngineStatus } from '../ports.ts'

const ASYNC = { template: 'invoice', data: {}, mode: 'async' }
const SYNC = { template: 'invoice', data: {} }

describe('admission refuses', () => {
  const html = { tenant: { limits: { htmlEngineEnabled: true } } }
  const picky = aTemplate({
    variablesSchema: { type: 'object', required: ['number'], properties: { number: { type: 'string' } } },
  })

  test.for([
    ['an unknown field', { ...SYNC, colour: 'red' }, '/colour', 'is not a known field'],
    ['a missing template', { data: {} }, '/template', 'is required'],
    ['missing data', { template: 'invoice' }, '/data', 'is required'],
    [
      'a template code that is none',
      { ...SYNC, template: '../etc' },
      '/template',
      'does not have the required form: Template code, in snake',
    ],
    ['data that is no object', { ...SYNC, data: [] }, '/data', 'must be object'],
    ['an unknown engine', { ...SYNC, engine: 'latex' }, '/engine', 'must be one of "react_pdf", "html"'],
    ['an unknown mode', { ...SYNC, mode: 'later' }, '/mode', 'must be one of "sync", "async"'],
    ['a flag that is a text', { ...SYNC, async: 'true' }, '/async', 'must be boolean'],
    ['mode sync with async true', { ...SYNC, mode: 'sync', async: true }, '/async', 'contradicts mode sync'],
    ['mode async with async false', { ...ASYNC, async: false }, '/async', 'contradicts mode async'],
    [
      'an unknown page size',
      { ...SYNC, options: { page_size: 'B5' } },
      '/options/page_size',
      '"TABLOID", or must be object',
    ],
    ['an unknown option', { ...SYNC, options: { paper: 'A4' } }, '/options/paper', 'is not a known field'],
    [
      'a file name with a slash',
      { ...SYNC, options: { filename: '../a' } },
      '/options/filename',
      'does not have the required form: A file name',
    ],
    ['a webhook over http', { ...SYNC, webhook_url: 'http://example.com' }, '/webhook_url', 'must be an https URL'],
    ['a webhook over ftp', { ...SYNC, webhook_url: 'ftp://example.com' }, '/webhook_url', 'must be an https URL'],
    ['a webhook with a password', { ...SYNC, webhook_url: 'https://u:p@a.example' }, '/webhook_url', 'user name'],
    ['a webhook that is no URL', { ...SYNC, webhook_url: 'example' }, '/webhook_url', 'must be a URL such as'],
    ['a webhook without a host', { ...SYNC, webhook_url: 'https://' }, '/webhook_url', 'must be an https URL'],
    [
      'a webhook of a port and no host',
      { ...SYNC, webhook_url: 'https://:443/' },
      '/webhook_url',
      'must be an https URL',
    ],
    ['a webhook of 3 KB', { ...SYNC, webhook_url: `https://a.example/${'a'.repeat(3000)}` }, '/webhook_url', '2048'],
    // A URI is ASCII. Its author writes the name in Punycode.
    [
      'a webhook of a name in Unicode',
      { ...SYNC, webhook_url: 'https://bücher.example/' },
      '/webhook_url',
      'in a host name as xn--…',
    ],
    [
      'a webhook on a port of the system',
      { ...SYNC, webhook_url: 'https://a.example:25/' },
      '/webhook_url',
      'port 80, 443',
    ],
    ['a webhook to this machine', { ...SYNC, webhook_url: 'https://localhost/' }, '/webhook_url', 'a public address'],
    [
      'a webhook to a private network',
      { ...SYNC, webhook_url: 'https://10.0.0.1/' },
      '/webhook_url',
      'a public address',
    ],
    ['a webhook to metadata', { ...SYNC, webhook_url: 'https://0xa9fea9fe/' }, '/webhook_url', 'a public address'],
    ['a webhook to a service', { ...SYNC, webhook_url: 'https://api.team.svc/' }, '/webhook_url', 'a public address'],
    ['a body that is no object', [SYNC], '', 'must be object'],
  ] as const)('%s with 400 and the place', async ([, body, path, message]) => {
    const api = anApi()
    const answer = await api.post(body)
    expect(answer.statusCode).toBe(400)
    const { error } = answer.json()
    expect(error.code).toBe('INVALID_PAYLOAD')
    expect(error.message).toContain(path)
    expect(error.details).toContainEqual({ in: 'body', path, message: expect.stringContaining(message) })
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test.for([
    ['a suspended tenant', ASYNC, { tenant: { suspended: true } }, 'PAYMENT_REQUIRED', 'suspended'],
    ['html outside the plan', { ...ASYNC, engine: 'html' }, {}, 'PAYMENT_REQUIRED', 'html engine'],
    ['html without a source', { ...ASYNC, engine: 'html' }, html, 'VALIDATION_FAILED', 'no source'],
    [
      'react_pdf without a source',
      { ...ASYNC, engine: 'react_pdf' },
      { ...html, templates: [aTemplate({ engine: 'html', engines: ['html'] })] },
      'VALIDATION_FAILED',
      'no source',
    ],
    [
      'no engine, where the template has no source for its own',
      ASYNC,
      { ...html, templates: [aTemplate({ engines: ['html'] })] },
      'VALIDATION_FAILED',
      'no source for the engine react_pdf',
    ],
    ['an unknown template', { ...ASYNC, template: 'offer' }, {}, 'TEMPLATE_NOT_FOUND', 'no published template'],
    ['data that does not fit', ASYNC, { templates: [picky] }, 'VALIDATION_FAILED', 'variables_schema'],
    [
      'an engine that this installation does not have',
      ASYNC,
      { ports: { engineStatus: (): EngineStatus => 'missing' } },
      'VALIDATION_FAILED',
      'does not have the engine react_pdf',
    ],
    [
      'an engine that takes no renders now',
      ASYNC,
      { ports: { engineStatus: (): EngineStatus => 'unavailable' } },
      'RENDER_UNAVAILABLE',
      'no renderer of the engine react_pdf',
    ],
  ] as const)('%s', async ([, body, options, code, message]) => {
    const api = anApi(options)
    const { error } = (await api.post(body)).json()
    expect(error.code).toBe(code)
    expect(error.message).toContain(message)
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test('nothing for an optional field that is null', async () => {
    const api = anApi()
    const options = { page_size: null, margin: { top: 5, left: null }, filename: null }
    const nulls = { engine: null, async: null, webhook_url: null, options }
    expect((await api.post({ ...ASYNC, ...nulls }, { 'idempotency-key': 'a' })).statusCode).toBe(202)
    expect((await queued(api, 'async')).options).toEqual({ margin: { top: 5 } })
    const again = await api.post({ ...ASYNC, options: { margin: { top: 5 } } }, { 'idempotency-key': 'a' })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect((await api.post({ ...ASYNC, data: null })).json().error.details).toEqual([
      { in: 'body', path: '/data', message: 'must be object' },
    ])
  })

  test('data that does not fit with the places, at most twenty, and none of its values', async () => {
    const properties = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, { type: 'number' }]))
    const api = anApi({ templates: [aTemplate({ variablesSchema: { type: 'object', properties } })] })
    const data = Object.fromEntries(Object.keys(properties).map((name) => [name, 'hunter2']))
    const answer = await api.post({ ...ASYNC, data })
    expect(answer.statusCode).toBe(422)
    expect(answer.json().error.details).toHaveLength(20)
    expect(answer.json().error.details[0]).toEqual({ in: 'body', path: '/data/f0', message: 'must be number' })
    expect(answer.body).not.toContain('hunter2')
  })

  test('one fault after the other, in the order of admission', async () => {
    const template = aTemplate({ engine: 'html', variablesSchema: picky.variablesSchema })
    const codeOf = async (options: Parameters<typeof anApi>[0], body: object) =>
      (await anApi({ templates: [template], ...options }).post(body)).json().error?.code
    const body = { ...ASYNC, template: 'offer', data: {} }
    const suspended = { suspended: true }
    expect(await codeOf({ tenant: suspended }, { ...body, mode: 'never' })).toBe('INVALID_PAYLOAD')
    expect(await codeOf({ tenant: suspended }, body)).toBe('PAYMENT_REQUIRED')
    expect(await codeOf({}, body)).toBe('TEMPLATE_NOT_FOUND')
    expect(await codeOf({}, { ...body, template: 'invoice' })).toBe('PAYMENT_REQUIRED')
    expect(await codeOf(html, { ...body, template: 'invoice' })).toBe('VALIDATION_FAILED')
  })

  test.for([
    ['a name', 'https://example.com/hook'],
    ['a name in Punycode', 'https://xn--bcher-kva.example/hook'],
    ['a public address', 'https://1.1.1.1/hook?a=b#c'],
    ['a port of its own', 'https://example.com:8443/hook'],
    ['2048 characters', `https://example.com/${'a'.repeat(2028)}`],
  ])('nothing of a webhook to %s', async ([, webhook_url]) => {
    expect((await anApi().post({ ...ASYNC, webhook_url })).statusCode).toBe(202)
  })

  test('nothing of a webhook to a network that the installation or the tenant allows, metadata aside', async () => {
    const answersOf = async (options: Parameters<typeof anApi>[0]) => {
      const api = anApi(options)
      const urls = ['https://10.0.0.1/', 'https://hooks.internal/', 'https://10.1.0.1/', 'https://169.254.169.254/']
      const answers = await Promise.all(urls.map((webhook_url) => api.post({ ...ASYNC, webhook_url })))
      return answers.map(({ statusCode }) => statusCode)
    }
    const allowCidrs = cidrsOf(['10.0.0.0/16', '169.254.0.0/16'])
    expect(await answersOf({ settings: { webhooks: { isHttpAllowed: false, allowCidrs } } })).toEqual([
      202, 202, 400, 400,
    ])
    const webhookAllowCidrs = ['10.0.0.0/16', '169.254.0.0/16']
    expect(await answersOf({ tenant: { webhookAllowCidrs } })).toEqual([202, 202, 400, 400])
    expect(await answersOf({})).toEqual([400, 400, 400, 400])
  })

  test('nothing of a webhook over http where the installation allows it', async () => {
    const api = anApi({ settings: { webhooks: { isHttpAllowed: true, allowCidrs: [] } } })
    expect((await api.post({ ...ASYNC, webhook_url: 'http://example.com/hook' })).statusCode).toBe(202)
  })
})

describe('the engine of a render', () => {
  test.for([
    [{ engines: ['react_pdf', 'html'] }, {}, 'react_pdf'],
    [{ engines: ['react_pdf', 'html'], engine: 'html' }, {}, 'html'],
    [{ engines: ['react_pdf', 'html'], engine: 'html' }, { engine: 'react_pdf' }, 'react_pdf'],
    [{ engines: ['react_pdf', 'html'] }, { engine: 'html' }, 'html'],
    [{ engines: ['html'] }, { engine: 'html' }, 'html'],
  ] as const)('of a template %o asked for with %o is %s', async ([template, asked, engine]) => {
    const api = anApi({ tenant: { limits: { htmlEngineEnabled: true } }, templates: [aTemplate(template)] })
    await api.post({ ...ASYNC, ...asked })
    expect((await queued(api, 'async', engine)).engine).toBe(engine)
  })
})

describe('a schema published anew', () => {
  test('counts from the next request, though the digest of the sources is the same', async () => {
    const loose = anApi()
    const strict = aTemplate({ variablesSchema: { type: 'object', required: ['number'] } })
    let { directory } = loose.ports
    const api = anApi({ ports: { directory: { current: () => directory.current() } } })
    expect((await api.post(ASYNC)).statusCode).toBe(202)
    directory = anApi({ templates: [strict] }).ports.directory
    expect((await api.post(ASYNC)).statusCode).toBe(422)
  })
})
