import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, LIVE_KEY, queued } from '../../test/fixture/api.ts'
import { aReply, NEVER, NOON } from '../../test/fixture/build.ts'
import { manualClock } from '../../test/fixture/memory/clock.ts'
import { memoryLimiter } from '../../test/fixture/memory/limiter.ts'

const ASYNC = { template: 'invoice', data: { secret: 'hunter2' }, mode: 'async' }

describe('a request that leads nowhere', () => {
  test.for([
    ['GET', '/'],
    ['GET', '/api/v1'],
    ['GET', '/api/v1/rendered'],
    ['GET', '/api/v1/render/a/b'],
    ['GET', '/API/V1/templates'],
    ['GET', '/api/v1/usage//'],
    ['POST', '/nothing'],
    ['OPTIONS', '/nothing'],
    ['PROPFIND', '/nothing'],
  ] as const)('is 404 for %s %s', async ([method, path]) => {
    const answer = await anApi().call({ method, path })
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'NOT_FOUND'])
  })

  test.for([
    ['GET', '/api/v1/render', 'POST'],
    ['HEAD', '/api/v1/render', 'POST'],
    ['PUT', '/api/v1/render', 'POST'],
    ['OPTIONS', '/api/v1/render', 'POST'],
    ['TRACE', '/api/v1/render', 'POST'],
    ['QUERY', '/api/v1/render', 'POST'],
    ['PROPFIND', '/api/v1/render', 'POST'],
    ['POST', '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R', 'DELETE, GET, HEAD'],
    ['DELETE', '/api/v1/templates?page=1', 'GET, HEAD'],
    ['POST', '/livez', 'GET, HEAD'],
  ] as const)('is 405 for %s %s, with Allow', async ([method, path, allow]) => {
    const answer = await anApi().app.inject({ method, url: path })
    expect(answer.statusCode).toBe(405)
    expect(String(answer.headers['allow']).split(', ').toSorted().join(', ')).toBe(allow)
    if (method !== 'HEAD') expect(answer.json().error.code).toBe('METHOD_NOT_ALLOWED')
  })

  test('is 405 below a path that a composition root has added', async () => {
    const { app } = anApi()
    app.get('/files/*', async () => 'a file')
    const answer = await app.inject({ method: 'POST', url: '/files/a/b' })
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'GET, HEAD'])
    expect((await app.inject({ method: 'POST', url: '/files' })).statusCode).toBe(404)
  })

  test('is told so whatever its body is said to be', async () => {
    const headers = { 'content-type': ';;' }
    const answer = await anApi().call({ method: 'POST', path: '/nothing', headers, payload: 'x' })
    expect(answer.json().error.code).toBe('NOT_FOUND')
  })

  test('is 400 where its path is not encoded well', async () => {
    const answer = await anApi().call({ path: '/api/v1/render/%E0%A4%A' })
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'INVALID_PAYLOAD'])
    expect(answer.headers['x-request-id']).toBe(answer.json().error.request_id)
  })
})

describe('X-Request-Id', () => {
  test.for(['order 66', '~', 'x'.repeat(128)])('is echoed when it is %s', async (id) => {
    const answer = await anApi().call({ path: '/livez', headers: { 'x-request-id': id } })
    expect(answer.headers['x-request-id']).toBe(id)
  })

  test.for(['', 'x'.repeat(129), 'a\tb', 'zażółć'])('is made when it is %j', async (id) => {
    const answer = await anApi().call({ path: '/nothing', headers: { 'x-request-id': id } })
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
    expect(answer.json().error.request_id).toBe(answer.headers['x-request-id'])
  })

  test('is another one for every request', async () => {
    const api = anApi()
    const ids = [await api.call({ path: '/livez' }), await api.call({ path: '/livez' })].map(
      ({ headers }) => headers['x-request-id'],
    )
    expect(new Set(ids).size).toBe(2)
  })
})

describe('a defect', () => {
  const find = () => Promise.reject(new TypeError('cannot read hunter2 of undefined'))

  async function defect() {
    const api = anApi({ ports: { ledger: { ...memoryRenderLedger(manualClock(NOON)), find } } })
    const { render_id: id } = (await api.post(ASYNC)).json()
    return { api, answer: await api.get(`/api/v1/render/${id}`) }
  }

  test('is answered in the error shape and keeps its message to itself', async () => {
    const { answer } = await defect()
    expect(answer.statusCode).toBe(500)
    expect(answer.json().error.code).toBe('INTERNAL_ERROR')
    expect(answer.body).not.toContain('hunter2')
  })

  test('is logged with its stack and the request it hit', async () => {
    const { api, answer } = await defect()
    const line = api.lines.find(({ level }) => level === 'error')
    expect(line?.fields).toMatchObject({ requestId: answer.json().error.request_id, err: expect.any(TypeError) })
  })
})

describe('the log', () => {
  test('has one line a request at info, and none of its data, key or query', async () => {
    const api = anApi()
    await api.post(ASYNC)
    await api.get('/api/v1/templates?page=7')
    await api.get('/api/v1/templates?page=0')
    const info = api.lines.filter(({ level }) => level === 'info')
    expect(info.map(({ fields }) => [fields['method'], fields['route'], fields['status'], fields['tenant']])).toEqual([
      ['POST', '/api/v1/render', 202, 'acme'],
      ['GET', '/api/v1/templates', 200, 'acme'],
      ['GET', '/api/v1/templates', 400, 'acme'],
    ])
    const everything = JSON.stringify(api.lines)
    for (const secret of ['hunter2', LIVE_KEY, 'page=']) expect(everything).not.toContain(secret)
  })

  test('says of a request who asked, for what, and why it was refused', async () => {
    const api = anApi()
    const { render_id: render } = (await api.post(ASYNC)).json()
    await api.post({ ...ASYNC, data: 7 })
    await api.get('/api/v1/render/unknown')
    const [accepted, malformed, unknown] = api.lines
      .filter(({ message, level }) => message === 'request answered' && level === 'info')
      .map(({ fields }) => fields)
    const keyId = hashOfKey(LIVE_KEY).slice(0, 12)
    const asked = { template: ASYNC.template, mode: 'async', lane: 'async', engine: 'react_pdf' }
    expect(accepted).toMatchObject({ status: 202, render, keyId, environment: 'live', ...asked })
    expect(accepted?.['errorCode']).toBeUndefined()
    expect(malformed).toMatchObject({ status: 400, errorCode: 'INVALID_PAYLOAD', keyId })
    expect(unknown).toMatchObject({ status: 404, errorCode: 'RENDER_NOT_FOUND', keyId })
  })

  test('says nothing at info of a healthy health check', async () => {
    const api = anApi()
    await api.call({ path: '/livez' })
    await api.call({ path: '/readyz' })
    expect(api.lines.filter(({ level }) => level === 'info')).toEqual([])
  })
})

describe('health', () => {
  test.for([
    [true, 200],
    [false, 503],
  ] as const)('is told to whoever asks, without its detail: %s', async ([isWell, status]) => {
    const api = anApi({
      ports: { isAlive: () => isWell, isReady: () => ({ ready: isWell, detail: { queue: isWell } }) },
    })
    const live = await api.call({ path: '/livez' })
    const ready = await api.call({ path: '/readyz' })
    expect([live.statusCode, live.json()]).toEqual([status, { alive: isWell }])
    expect([ready.statusCode, ready.json()]).toEqual([status, { ready: isWell }])
  })
})

describe('HEAD', () => {
  test.for(['/livez', '/readyz', '/openapi.json', '/api/v1/templates'])(
    'answers for %s as GET does, without the body',
    async (path) => {
      const api = anApi()
      const get = await api.get(path)
      const head = await api.call({ method: 'HEAD', path, headers: { authorization: `Bearer ${LIVE_KEY}` } })
      expect([head.statusCode, head.body, head.headers['content-length']]).toEqual([
        200,
        '',
        get.headers['content-length'],
      ])
    },
  )
})

describe('an operator', () => {
  /** Returns the lines of a scrape for a metric, without zeros. */
  const seriesOf = async ({ metrics }: Api, name: string) =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith(`platen_${name}`) && !line.endsWith(' 0'))

  test('sees every answer by route, method and class, and what leads nowhere as one', async () => {
    const api = anApi()
    await api.get('/api/v1/templates')
    await api.get('/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R')
    await api.get('/nothing')
    await api.app.inject({ method: 'PROPFIND', url: `/${'a'.repeat(40)}` })
    await api.app.inject({ method: 'DELETE', url: '/api/v1/templates' })
    expect(await seriesOf(api, 'http_requests_total')).toEqual([
      'platen_http_requests_total{route="none",method="other",status="4xx"} 3',
      'platen_http_requests_total{route="/api/v1/render/:id",method="GET",status="4xx"} 1',
      'platen_http_requests_total{route="/api/v1/templates",method="GET",status="2xx"} 1',
    ])
    expect(await seriesOf(api, 'requests_refused_total')).toEqual([
      'platen_requests_refused_total{code="NOT_FOUND",fault="caller"} 2',
      'platen_requests_refused_total{code="RENDER_NOT_FOUND",fault="caller"} 1',
      'platen_requests_refused_total{code="METHOD_NOT_ALLOWED",fault="caller"} 1',
    ])
  })

  test('sees who waits for a sync render, and for how long', async () => {
    const api = anApi()
    const answer = api.post({ template: 'invoice', data: {} })
    const { id } = await queued(api, 'sync')
    expect(await seriesOf(api, 'sync_renders_waiting')).toEqual(['platen_sync_renders_waiting 1'])
    expect(await seriesOf(api, 'renders_accepted_total')).toEqual([
      'platen_renders_accepted_total{engine="react_pdf",mode="sync",lane="sync"} 1',
    ])
    await api.ports.replies.reply(id, aReply(Buffer.from('%PDF')), NEVER)
    await answer
    expect(await seriesOf(api, 'sync_renders_waiting')).toEqual([])
    expect(await seriesOf(api, 'sync_wait_seconds_count')).toEqual(['platen_sync_wait_seconds_count 1'])
  })

  test('sees that the limiter cannot be asked', async () => {
    const reserve = () => Promise.reject(new Unavailable('no answer'))
    const limiter = { ...memoryLimiter(manualClock(NOON)), reserve }
    const api = anApi({ ports: { limiter } })
    expect((await api.post(ASYNC)).statusCode).toBe(503)
    expect(await seriesOf(api, 'limiter_failures_total')).toEqual(['platen_limiter_failures_total 1'])
    expect(await seriesOf(api, 'renders_accepted_total')).toEqual([])
    expect(await seriesOf(api, 'requests_refused_total')).toEqual([
      'platen_requests_refused_total{code="RENDER_UNAVAILABLE",fault="operator"} 1',
    ])
  })
})
