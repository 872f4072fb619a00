/**
 * What only real sockets show: bytes that are no HTTP, bodies that never end, callers that leave. Everything here is told to a
 * listening API in raw bytes, and what comes back is read as bytes.
 */

import { connect, type Socket } from 'node:net'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { BODY_DISCARD_BYTES_MAX } from '@platen/api/traffic/connection.ts'
import { BODY_BYTES_MAX, HEADER_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, LIVE_KEY } from '../fixture/api.ts'
import { aReply, aTenant, NEVER } from '../fixture/build.ts'
import { poll } from '../time/poll.ts'
import { exchange, listening, openRaw } from './raw-connection.ts'

const MIB = 1024 * 1024
const KEY = `Authorization: Bearer ${LIVE_KEY}`
const JSON_TYPE = 'Content-Type: application/json'
/** No service goes on serving for longer once it stops. */
const LINGER_MS_MAX = 1000
const ASYNC = '{"template":"invoice","data":{"name":"Zażółć"},"mode":"async"}'

function isComplete(answer: string): boolean {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2)
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  return length !== undefined && body.length >= Number(length)
}

/** The parts of one answer; fails the test where a refusal is not in the error shape. */
function read(answer: string): { status: number; head: string; code: string | undefined } {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2)
  const status = Number(head.split(' ')[1])
  if (status < 400) return { status, head, code: undefined }
  const { error } = JSON.parse(body)
  expect(Object.keys(error).toSorted()).toEqual(expect.arrayContaining(['code', 'message', 'request_id']))
  expect(head.toLowerCase()).toContain(`x-request-id: ${error.request_id}`)
  return { status, head: head.toLowerCase(), code: error.code }
}

function post(...headers: readonly string[]): string {
  return ['POST /api/v1/render HTTP/1.1', 'Host: test', KEY, JSON_TYPE, ...headers, '', ''].join('\r\n')
}

function get(path: string, ...headers: readonly string[]): string {
  return [`GET ${path} HTTP/1.1`, 'Host: test', KEY, ...headers, '', ''].join('\r\n')
}

describe('a body', () => {
  test('arrives in chunks that split its characters', async () => {
    const { port } = await listening()
    const { socket, send, end } = openRaw(port)
    send(post('Transfer-Encoding: chunked', 'Connection: close'))
    for (const byte of Buffer.from(ASYNC)) socket.write(Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]))
    send('0\r\n\r\n')
    expect(read(await end()).status).toBe(202)
  })

  test('is asked for where the caller waits to be asked', async () => {
    const { port } = await listening()
    const { send, until, end } = openRaw(port)
    send(post('Expect: 100-continue', `Content-Length: ${Buffer.byteLength(ASYNC)}`, 'Connection: close'))
    await until((received) => received.includes('100 Continue'))
    send(ASYNC)
    expect(await end()).toContain('HTTP/1.1 202')
  })

  test('is taken at the path with a slash at its end', async () => {
    const { port } = await listening()
    const length = `Content-Length: ${Buffer.byteLength(ASYNC)}`
    const request = post(length, 'Connection: close').replace('/render ', '/render/ ') + ASYNC
    expect(read(await exchange(port, request)).status).toBe(202)
  })

  test.for([
    ['without a key', 'X: y', `Content-Length: 20`, 401],
    ['too large', KEY, `Content-Length: ${4 * BODY_BYTES_MAX}`, 413],
  ] as const)('is not asked for where the headers say that it is refused: %s', async ([, key, length, status]) => {
    const { port } = await listening()
    const { send, until, end } = openRaw(port)
    send('POST /api/v1/render HTTP/1.1', 'Host: test', key, JSON_TYPE, length, 'Expect: 100-continue', '', '')
    expect(await until(isComplete)).toMatch(new RegExp(`^HTTP/1.1 ${status}`))
    await end()
  })

  test('is answered if it is on its way on a kept connection when the API stops', async () => {
    const { app, port } = await listening()
    const { send, until, end } = openRaw(port)
    const request = () => send('GET /api/v1/templates HTTP/1.1', 'Host: test', KEY, '', '')
    request()
    await until(isComplete)
    const closed = app.close()
    request()
    const answers = (await end()).split('HTTP/1.1 ').slice(1)
    expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '200'])
    expect(answers.map((answer) => /^connection: close\r$/im.test(answer))).toEqual([false, true])
    await closed
  })

  test('is taken although the caller expects what nobody knows', async () => {
    const { port } = await listening()
    const length = `Content-Length: ${Buffer.byteLength(ASYNC)}`
    expect(read(await exchange(port, post('Expect: miracles', length, 'Connection: close') + ASYNC)).status).toBe(202)
  })

  test.for([
    ['declared', `Content-Length: ${4 * BODY_BYTES_MAX}`, KEY, 413, 'PAYLOAD_TOO_LARGE'],
    ['declared, without a key', `Content-Length: ${4 * BODY_BYTES_MAX}`, 'X: y', 401, 'UNAUTHORIZED'],
    ['in chunks', 'Transfer-Encoding: chunked', KEY, 413, 'PAYLOAD_TOO_LARGE'],
  ] as const)(
    'that is too large is refused while it is still being sent: %s',
    async ([, length, key, status, code]) => {
      const { port } = await listening()
      const { socket, send, until, end } = openRaw(port)
      const isChunked = length.startsWith('Transfer')
      const piece = isChunked ? `${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n` : ' '.repeat(MIB)
      send('POST /api/v1/render HTTP/1.1', 'Host: test', key, JSON_TYPE, length, '', '')
      const half = BODY_BYTES_MAX / MIB + 1
      for (let sent = 0; sent < half; sent++) socket.write(piece)
      expect(read(await until(isComplete))).toMatchObject({ status, code })
      for (let sent = half; sent < (4 * BODY_BYTES_MAX) / MIB; sent++) socket.write(piece)
      if (isChunked) send('0\r\n\r\n')
      const answer = read(await end())
      expect(answer.status).toBe(status)
      expect(answer.head).toContain('connection: close')
    },
  )

  test('that never ends is cut off', async () => {
    const { port } = await listening()
    const { socket, send, until } = openRaw(port)
    send(post(`Content-Length: ${1024 * MIB}`))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const piece = Buffer.alloc(MIB, ' ')
    const feed = () => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('drain', feed)
    feed()
    expect(read(await until(isComplete)).code).toBe('PAYLOAD_TOO_LARGE')
    await closed
    // What the kernel's buffers took is no measure of what was read; an endless body would have gone through whole.
    expect(socket.bytesWritten).toBeLessThan(BODY_DISCARD_BYTES_MAX + 256 * MIB)
  })

  test('that stops coming is thrown away no longer than two seconds', async () => {
    const { port } = await listening()
    expect(read(await exchange(port, post(`Content-Length: ${4 * BODY_BYTES_MAX}`), '{')).code).toBe(
      'PAYLOAD_TOO_LARGE',
    )
  })

  test('that was received whole and refused leaves the connection open', async () => {
    const { port } = await listening()
    const { send, until } = openRaw(port)
    send(`${post('Content-Length: 1')}{`)
    expect(read(await until(isComplete)).code).toBe('INVALID_PAYLOAD')
    send(get('/livez'))
    expect(await until((received) => received.includes('"alive"'))).toContain('HTTP/1.1 200')
  })
})

describe('what is no request', () => {
  const tooMuch = 'x'.repeat(HEADER_BYTES_MAX)
  test.for([
    ['no HTTP', 'HELO example.com\r\n\r\n', 400, 'INVALID_PAYLOAD'],
    ['an unknown method', 'BREW /api/v1/render HTTP/1.1\r\nHost: test\r\n\r\n', 400, 'INVALID_PAYLOAD'],
    ['a header without a name', 'GET /livez HTTP/1.1\r\nHost: test\r\n: x\r\n\r\n', 400, 'INVALID_PAYLOAD'],
    ['two lengths', post('Content-Length: 1', 'Content-Length: 2'), 400, 'INVALID_PAYLOAD'],
    ['a length and chunks', post('Content-Length: 1', 'Transfer-Encoding: chunked'), 400, 'INVALID_PAYLOAD'],
    ['a chunk of no length', `${post('Transfer-Encoding: chunked')}xyz\r\n`, 400, 'INVALID_PAYLOAD'],
    ['no Host', 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'INVALID_PAYLOAD'],
    ['headers over the limit', get('/livez', `X-Filler: ${tooMuch}`), 431, 'HEADERS_TOO_LARGE'],
    ['a path over the limit', get(`/api/v1/render/${tooMuch}`), 431, 'HEADERS_TOO_LARGE'],
    ['two Hosts', 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400, 'INVALID_PAYLOAD'],
    [
      'a compressed transfer',
      `${post('Transfer-Encoding: gzip, chunked', 'Connection: close')}0\r\n\r\n`,
      400,
      'INVALID_PAYLOAD',
    ],
    ['a call for a proxy', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
  ] as const)('is answered in the error shape, and counted: %s', async ([, bytes, status, code]) => {
    const { port, metrics } = await listening()
    const { send, until } = openRaw(port)
    send(bytes)
    expect(read(await until(isComplete))).toMatchObject({ status, code })
    expect(await metrics.text()).toContain(`platen_requests_refused_total{code="${code}",fault="caller"} 1\n`)
  })

  test('is answered also when it goes on for megabytes', async () => {
    const { port } = await listening()
    const { send, end } = openRaw(port)
    send(get('/livez', `X-Filler: ${'x'.repeat(4 * MIB)}`))
    expect(read(await end()).code).toBe('HEADERS_TOO_LARGE')
  })

  test.for([
    ['its head', 'GET /livez HTTP/1.1\r\nHost: te'],
    ['its body', `${post('Content-Length: 10', 'X-Request-Id: slow')}{`],
  ])('is answered with 408 when %s does not come in time', async ([, bytes = '']) => {
    const { app, port } = await listening()
    app.server.headersTimeout = 200
    app.server.requestTimeout = 200
    const answer = read(await exchange(port, bytes))
    expect(answer).toMatchObject({ status: 408, code: 'REQUEST_TIMEOUT' })
  })

  test('is not answered where an answer would be taken for that of a request before it', async () => {
    const { port, ports } = await listening()
    const { send, end } = openRaw(port)
    const body = '{"template":"invoice","data":{}}'
    send(`${post(`Content-Length: ${body.length}`)}${body}`)
    await using consumer = await ports.queue.consume('react_pdf', NEVER)
    for (let isTaken = false; !isTaken; isTaken = consumer.poll('sync') !== undefined)
      await consumer.waitForRecord(NEVER)
    send('GARBAGE\r\n\r\n')
    expect(await end()).toBe('')
  })
})

describe('HTTP/1.0', () => {
  test('is spoken, without a Host', async () => {
    const { port } = await listening()
    expect(await exchange(port, 'GET /livez HTTP/1.0\r\n\r\n')).toContain('{"alive":true}')
  })
})

describe('a sync render', () => {
  /** A request on its way, and the record a renderer has taken for it. */
  async function begun(api: Api & { port: number }) {
    const caller = openRaw(api.port)
    const body = '{"template":"invoice","data":{}}'
    caller.send(`${post(`Content-Length: ${body.length}`)}${body}`)
    const consumer = await api.ports.queue.consume('react_pdf', NEVER)
    for (;;) {
      await consumer.waitForRecord(NEVER)
      const delivery = consumer.poll('sync')
      if (delivery === undefined) continue
      api.ports.replies.notifyStarted(delivery.record.id)
      return { caller, record: delivery.record }
    }
  }

  test('that no renderer has taken is abandoned when the caller leaves, and costs nothing', async () => {
    const api = await listening()
    const caller = openRaw(api.port)
    const body = '{"template":"invoice","data":{}}'
    caller.send(`${post(`Content-Length: ${body.length}`)}${body}`)
    await using consumer = await api.ports.queue.consume('react_pdf', NEVER)
    let record: RenderRecord | undefined
    while (record === undefined) {
      await consumer.waitForRecord(NEVER)
      record = consumer.poll('sync')?.record
    }
    const { account, period, id } = record
    expect(await api.ports.limiter.usage(account, period, NEVER)).toEqual({ charged: 0, reserved: 1 })
    caller.socket.destroy()
    const usage = () => api.ports.limiter.usage(account, period, NEVER)
    await poll(usage).until(({ reserved }) => reserved === 0)
    expect((await api.ports.ledger.find(id, NEVER))?.state).toMatchObject({ error: { code: 'canceled' } })
  })

  // A caller that has closed its half of the connection cannot be told from one that has gone, until something is sent to it.
  test.for<[string, number, (socket: Socket) => void]>([
    ['closes its half of the connection', 1, (socket) => void socket.end()],
    ['leaves while several of its requests are under way on one connection', 3, (socket) => void socket.destroy()],
    ['resets the connection', 1, (socket) => void socket.resetAndDestroy()],
  ])('is told to its renderer when the caller %s', async ([, count, leave]) => {
    const api = await listening()
    const caller = openRaw(api.port)
    const body = '{"template":"invoice","data":{}}'
    caller.send(`${post(`Content-Length: ${body.length}`)}${body}`.repeat(count))
    await using consumer = await api.ports.queue.consume('react_pdf', NEVER)
    const departures: AbortSignal[] = []
    while (departures.length < count) {
      await consumer.waitForRecord(NEVER)
      for (let next = consumer.poll('sync'); next !== undefined; next = consumer.poll('sync')) {
        api.ports.replies.notifyStarted(next.record.id)
        departures.push(api.ports.replies.callerGone(next.record.id, NEVER))
      }
    }
    const departed = departures.map(
      (departure) => new Promise((resolve) => departure.addEventListener('abort', resolve)),
    )
    expect(departures.map(({ aborted }) => aborted)).not.toContain(true)
    leave(caller.socket)
    await Promise.all(departed)
  })

  test('is answered while the service closes, and its connection is not kept beyond that', async () => {
    const api = await listening()
    const { caller, record } = await begun(api)
    const closed = api.app.close()
    // `closing` is set before the server stops listening, so a refused connection says that it has.
    await refusedConnection(api.port)
    await api.ports.replies.reply(record.id, aReply(Buffer.from('%PDF')), NEVER)
    const answer = await caller.end()
    await closed
    expect(answer).toContain('%PDF')
    expect(answer.toLowerCase()).toMatch(/^http\/1\.1 200[^]*\r\nconnection: close\r\n/)
  })

  test('that comes while the service closes is 503', async () => {
    const api = anApi({ ports: { clock: systemClock() } })
    const answers: string[] = []
    let port = 0
    // The service is closing by now, and does not stop listening before this is through.
    api.app.addHook('preClose', async () => {
      answers.push(await exchange(port, get('/api/v1/templates')))
    })
    port = Number(new URL(await api.app.listen({ host: '127.0.0.1', port: 0 })).port)
    await api.app.close()
    expect(answers.map(read)).toMatchObject([{ status: 503, code: 'RENDER_UNAVAILABLE' }])
    expect(answers[0]?.toLowerCase()).toContain('retry-after: 2')
  })

  test('is not to be sent to a service that closes: it is alive and not ready', async () => {
    const api = anApi({ ports: { clock: systemClock() } })
    const answers: string[] = []
    let port = 0
    api.app.addHook('preClose', async () => {
      for (const path of ['/livez', '/readyz']) answers.push(await exchange(port, get(path)))
    })
    port = Number(new URL(await api.app.listen({ host: '127.0.0.1', port: 0 })).port)
    await api.app.close()
    expect(answers.map((answer) => answer.slice(0, 'HTTP/1.1 200'.length))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503'])
  })

  test('is logged as delivered when it was', async () => {
    const api = await listening()
    const { caller, record } = await begun(api)
    await api.ports.replies.reply(record.id, aReply(Buffer.from('%PDF')), NEVER)
    await caller.until((received) => received.endsWith('%PDF'))
    await api.app.close()
    expect(api.lines.at(-1)?.fields).toMatchObject({ status: 200, render: record.id, isDelivered: true })
  })
})

describe('a status request that waits', () => {
  // By a clock that stands still, so that no wait ends by itself.
  const standing = () => listening({})

  /** Callers who wait, each by a request of its own on one connection. */
  async function waiting(api: Api & { readonly port: number }, count: number) {
    const caller = openRaw(api.port)
    const id = mintRenderId({ account: aTenant().account, environment: 'live' }, api.ports.keys(), {
      now: Date.now(),
      random: Buffer.alloc(5, 9),
    })
    caller.send(get(`/api/v1/render/${id}?wait=30`).repeat(count))
    await holdsPlaces(api, count)
    return caller
  }
  const holdsPlaces = (api: Api, count: number) =>
    poll(() => api.metrics.text()).until((text) => text.includes(`\nplaten_status_requests_waiting ${count}\n`))

  test.for([1, 20])('holds no place when its caller has left, as one of %d on a connection', async (count) => {
    const api = await standing()
    const caller = await waiting(api, count)
    caller.socket.destroy()
    await holdsPlaces(api, 0)
  })

  test('is answered with the present state when the service stops', async () => {
    const api = await standing()
    const caller = await waiting(api, 1)
    const closed = api.app.close()
    const answer = await caller.end()
    expect(answer.toLowerCase()).toMatch(/^http\/1\.1 200[^]*\r\nconnection: close\r\n[^]*"status":"queued"/)
    await api.clock.advance(LINGER_MS_MAX)
    await closed
  })
})

/** Resolves when a port takes no connection any more. */
async function refusedConnection(port: number): Promise<void> {
  for (;;) {
    const isRefused = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port })
      socket.once('connect', () => {
        socket.destroy()
        resolve(false)
      })
      socket.once('error', () => resolve(true))
    })
    if (isRefused) return
  }
}
