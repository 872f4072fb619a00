/** The promises of every webhook sender. The doc comments of the port describe them. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import {
  WEBHOOK_ATTEMPT_MS_MAX,
  WEBHOOK_EXCERPT_BYTES_MAX,
  WEBHOOK_EXCERPT_MS_MAX,
} from '@platen/adapters/http/limit.ts'
import type { WebhookRequest, WebhookResponse, WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NEVER } from '../fixture/build.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { aCidr, aHost, flood, giving, HOST, type TestHost } from '../topology/host.ts'
import { answering } from '../topology/receiver.ts'
import { PATIENCE } from './harness.ts'

const HEADERS = {
  'Content-Type': 'application/json',
  'X-Service-Event': 'render.succeeded',
  'X-Service-Delivery': '019a9b3c-7a6c-7000-8000-000000000001',
  'webhook-id': '019a9b3c-7a6c-7000-8000-000000000001',
}

export function describeWebhookSender(name: string, open: (host: TestHost, clock: Clock) => WebhookSender): void {
  describe(`webhook sender: ${name}`, () => {
    let host: TestHost
    let clock: ManualClock
    let sender: WebhookSender
    const post = (request: Partial<WebhookRequest> = {}, signal = NEVER) =>
      sender.post({ url: `http://${HOST}/hook`, headers: HEADERS, body: '{}', allowCidrs: [], ...request }, signal)
    /** Calls a receiver with this listener. Resolves with the result. */
    const postTo = (listener: RequestListener) => {
      host.answer('/hook', listener)
      return post()
    }
    /** Starts a call. Resolves with the request and response objects of its receiver. */
    const begin = async (listener: RequestListener = () => undefined, signal = NEVER) => {
      const begun = Promise.withResolvers<readonly [IncomingMessage, ServerResponse]>()
      host.answer('/hook', (request, response) => {
        listener(request, response)
        begun.resolve([request, response])
      })
      const answer = post({}, signal).catch((error: unknown) => error)
      const [request, response] = await begun.promise
      return { answer, request, response }
    }
    /** Waits until the head of an answer has arrived: from then on two time limits are armed. */
    const headHasCome = () => expect.poll(() => clock.armed(), { ...PATIENCE, interval: 1 }).toBe(2)

    beforeEach(async () => {
      host = await aHost()
      clock = manualClock()
      sender = open(host, clock)
    })
    afterEach(async () => {
      await sender[Symbol.asyncDispose]()
      await host[Symbol.asyncDispose]()
      expect(clock.armed()).toBe(0)
    })

    test.for(['http', 'https'])('sends over %s what it is given, byte by byte, and little else', async (scheme) => {
      const body = JSON.stringify({ id: 'ü', error_message: 'größer als 25 s 🦊 \u2028 \u0000 "' })
      const got: unknown[] = []
      const take = async (request: IncomingMessage, response: ServerResponse) => {
        got.push(request.method, request.rawHeaders, await text(request))
        response.writeHead(204).end()
      }
      host.answer('/hook?a=b%20c', (request, response) => void take(request, response))
      const answer = await post({ url: `${scheme}://${HOST}/hook?a=b c#fragment`, body })
      expect(answer).toEqual({ result: 'ok', statusCode: 204 })
      const given = Object.entries(HEADERS).flat()
      const length = `${Buffer.byteLength(body)}`
      expect(got).toEqual([
        'POST',
        ['host', HOST, 'connection', 'keep-alive', ...given, 'Accept-Encoding', 'identity', 'content-length', length],
        body,
      ])
    })

    test.for<[string, RequestListener, Omit<WebhookResponse, 'message'>]>([
      ['200', giving('fine\n'), { result: 'ok', statusCode: 200, excerpt: 'fine\n' }],
      ['201 without a body', answering(201), { result: 'ok', statusCode: 201 }],
      ['204', answering(204), { result: 'ok', statusCode: 204 }],
      ['299', answering(299), { result: 'ok', statusCode: 299 }],
      ['300', answering(300), { result: 'status', statusCode: 300 }],
      ['301', answering(301, { location: '/elsewhere' }), { result: 'status', statusCode: 301 }],
      ['307', answering(307, { location: '/elsewhere' }), { result: 'status', statusCode: 307 }],
      ['400', answering(400), { result: 'status', statusCode: 400 }],
      ['404', answering(404), { result: 'status', statusCode: 404 }],
      ['410', answering(410), { result: 'status', statusCode: 410 }],
      [
        '429 with seconds to wait',
        answering(429, { 'retry-after': '120' }),
        { result: 'status', statusCode: 429, retryAfter: '120' },
      ],
      [
        '503 with a date to wait for',
        answering(503, { 'retry-after': 'Sat, 21 Nov 2026 10:00:00 GMT' }),
        { result: 'status', statusCode: 503, retryAfter: 'Sat, 21 Nov 2026 10:00:00 GMT' },
      ],
      ['500', answering(500), { result: 'status', statusCode: 500 }],
      ['999', answering(999), { result: 'status', statusCode: 999 }],
      [
        'a change of protocol',
        saying('101 x', 'connection: upgrade', 'upgrade: x'),
        { result: 'status', statusCode: 101 },
      ],
    ])('reports an answer of %s', async ([, listener, wanted]) => {
      const { message, ...answer } = await postTo(listener)
      expect(answer).toEqual(wanted)
      const expected = wanted.result === 'ok' ? undefined : `${HOST}: it answered with the status ${wanted.statusCode}`
      expect(message).toBe(expected)
      expect(host.asked.map(({ url }) => url)).toEqual([`http://${HOST}/hook`])
    })

    test.for<[string, RequestListener, WebhookResponse['result'], RegExp]>([
      ['resets', ({ socket }) => socket.resetAndDestroy(), 'connection', /could not be reached|without an answer/],
      ['hangs up', ({ socket }) => socket.end(), 'connection', /closed the connection without an answer$/],
      ['hangs up in its status line', raw('HTTP/1.1 20'), 'connection', /closed the connection without an answer$/],
      ['hangs up in its headers', raw('HTTP/1.1 200 OK\r\nx:'), 'connection', /closed the connection without/],
      ['speaks another protocol', raw('220 mail.example ESMTP\r\n'), 'protocol', /not valid HTTP \(.*Expected HTTP\//],
      ['has no end of headers', hugeHead(), 'protocol', /not valid HTTP \(Headers Overflow/],
      [
        'gives two lengths',
        saying('200 OK', 'content-length: 1', 'content-length: 2'),
        'protocol',
        /not valid HTTP \(.*length/,
      ],
      ['gives no length', saying('200 OK', 'content-length: x'), 'protocol', /not valid HTTP \(.*Content-Length/],
      ['breaks a header in two', saying('200 OK', 'x: a\rb'), 'protocol', /not valid HTTP \(.*expected LF/],
      ['wants the body it was given', saying('100 Continue'), 'protocol', /100 Continue without being asked to/],
    ])('reports a receiver that %s', async ([, listener, result, message]) => {
      const answer = await postTo(listener)
      expect(answer).toEqual({ result, message: expect.stringMatching(message) })
      expect(answer.message?.startsWith(`${HOST}: `)).toBe(true)
      expect(answer.message).not.toMatch(/127\.0\.0\.1/)
    })

    test.for<[string, RequestListener, WebhookResponse]>([
      ['in the midst of its body', halve, { result: 'ok', statusCode: 200, excerpt: 'half' }],
      ['at once', resetAfterHead, { result: 'ok', statusCode: 200 }],
      [
        'in the midst of a chunk',
        raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nx'),
        { result: 'ok', statusCode: 200, excerpt: 'x' },
      ],
      [
        'with a chunk that is none',
        saying('202 x', 'transfer-encoding: chunked', '', 'zz'),
        { result: 'ok', statusCode: 202 },
      ],
    ])('takes an answer by its status that breaks off afterwards, %s', async ([, listener, wanted]) => {
      expect(await postTo(listener)).toEqual(wanted)
    })

    test.for<[string, RequestListener, string | undefined]>([
      ['an error message', giving('no such order: ü 🦊', 'text/plain'), 'no such order: ü 🦊'],
      ['nothing', giving(''), undefined],
      ['what is compressed', compressed(gzipSync('x')), undefined],
      ['a bomb', compressed(gzipSync(Buffer.alloc(50_000_000))), undefined],
      ['an image', giving(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 13])), undefined],
      ['broken text', giving(Buffer.from([0x61, 0xff, 0x62])), 'a\ufffdb'],
      ['signs for a terminal', giving('\u001b[31mred\u001b[0m\u0007\r\n\tend\u009b1m'), '[31mred[0m\n\tend1m'],
    ])('shows of an answer with %s what people can read', async ([, listener, excerpt]) => {
      expect((await postTo(listener)).excerpt).toBe(excerpt)
    })

    test.for<[string, RequestListener]>([
      ['10 MB', giving('a'.repeat(10_000_000))],
      ['something without end', flood],
    ])('reads of %s what an excerpt has room for, and hangs up', async ([, listener]) => {
      const { answer, response } = await begin(listener)
      expect(await answer).toEqual({ result: 'ok', statusCode: 200, excerpt: 'a'.repeat(WEBHOOK_EXCERPT_BYTES_MAX) })
      await isClosed(response)
    })

    test('waits for a body for a second, and hangs up', async () => {
      const { answer, response } = await begin((_request, response) => response.write('b'))
      await headHasCome()
      await clock.advance(WEBHOOK_EXCERPT_MS_MAX - 1)
      response.write('it')
      await expectNotYet(answer)
      await clock.advance(1)
      expect(await answer).toMatchObject({ result: 'ok', statusCode: 200, excerpt: expect.stringMatching(/^b/) })
      await isClosed(response)
    })

    test.for<[string, RequestListener]>([
      ['does not answer', () => undefined],
      ['answers header by header', ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nx: y\r\n')],
      ['says again and again that it is at work', (_request, response) => response.writeProcessing()],
      ['announces another protocol and says no more', ({ socket }) => socket.write('HTTP/1.1 103 x\r\nx: y\r\n\r\n')],
    ])('gives up a receiver that %s, and hangs up', async ([, listener]) => {
      const { answer, response } = await begin(listener)
      await clock.advance(WEBHOOK_ATTEMPT_MS_MAX - 1)
      await expectNotYet(answer)
      await clock.advance(1)
      expect(await answer).toEqual({ result: 'timeout', message: `${HOST}: it did not answer within 10 seconds` })
      await isClosed(response)
    })

    test('ends with the reason of its signal before it calls and while it waits, and hangs up', async () => {
      const reason = new Error('enough')
      await expect(post({}, AbortSignal.abort(reason))).rejects.toBe(reason)
      expect(host.connections()).toBe(0)
      const stop = new AbortController()
      const { answer, response } = await begin(undefined, stop.signal)
      stop.abort(reason)
      expect(await answer).toBe(reason)
      await isClosed(response)
    })

    test('keeps an answer that came before its signal', async () => {
      const stop = new AbortController()
      const { answer, response } = await begin((_request, response) => response.writeHead(200).write('x'), stop.signal)
      await headHasCome()
      stop.abort(new Error('enough'))
      expect(await answer).toMatchObject({ result: 'ok', statusCode: 200 })
      await isClosed(response)
    })

    test('ends the calls under way when it is closed', async () => {
      const { answer, response } = await begin()
      await sender[Symbol.asyncDispose]()
      expect(await answer).toMatchObject({ result: 'connection' })
      await isClosed(response)
    })

    test('sends no cookie back', async () => {
      host.answer('/hook', answering(200, { 'set-cookie': 'a=b' }))
      await post()
      await post()
      expect(host.asked.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined])
    })

    describe('a connection', () => {
      test.for<[string, RequestListener, number]>([
        ['is used again', giving('fine'), 1],
        ['is used again after an error', answering(500), 1],
        ['is not used again when the receiver says so', answering(200, { connection: 'close' }), 3],
        ['is not used again when it would be too late', answering(200, { 'keep-alive': 'timeout=1' }), 3],
        ['of HTTP/1.0 is not used again', raw('HTTP/1.0 200 OK\r\n\r\nx'), 3],
        ['with more to read is not used again', giving('a'.repeat(100_000)), 3],
        [
          'with more than there should be to read is not used again',
          saying('204 x', 'content-length: 5', '', 'HTTP/'),
          3,
        ],
      ])('%s', async ([, listener, connections]) => {
        host.answer('/hook', listener)
        for (let calls = 0; calls < 3; calls += 1) expect((await post()).statusCode).toBeDefined()
        expect(host.connections()).toBe(connections)
      })

      test('is used by one call at a time', async () => {
        const first = await begin()
        const second = await begin()
        expect(host.connections()).toBe(2)
        for (const { response } of [first, second]) response.end()
        expect(await Promise.all([first.answer, second.answer])).toMatchObject([{ result: 'ok' }, { result: 'ok' }])
      })

      test('that the receiver closed meanwhile costs no attempt', async () => {
        const { answer, request, response } = await begin()
        response.end()
        await answer
        request.socket.destroy()
        expect(await postTo(answering(200))).toEqual({ result: 'ok', statusCode: 200 })
        expect(host.connections()).toBe(2)
      })

      test('that the receiver closes when it is used again costs no attempt, and the same is sent anew', async () => {
        expect(await postTo(answering(200))).toMatchObject({ result: 'ok' })
        const sent: string[] = []
        const take = async (request: IncomingMessage, response: ServerResponse) => {
          if (sent.push(await text(request)) === 1) request.socket.resetAndDestroy()
          else response.end()
        }
        const answer = await postTo((request, response) => void take(request, response))
        expect([answer.result, sent, host.connections()]).toEqual(['ok', ['{}', '{}'], 2])
      })

      test('that is new and is closed costs an attempt, and so does a used one that has begun to answer', async () => {
        expect(await postTo(({ socket }) => socket.destroy())).toMatchObject({ result: 'connection' })
        expect(host.asked).toHaveLength(1)
        expect(await postTo(answering(200))).toMatchObject({ result: 'ok' })
        expect(await postTo(raw('HTTP/1.1 200 OK\r\n'))).toMatchObject({ result: 'connection' })
        expect(host.asked).toHaveLength(3)
      })

      test('that was opened under one list of blocks is used under no other', async () => {
        host.answer('/hook', answering(200))
        const lists = [[], [aCidr('10.0.0.0/8')], [aCidr('10.0.0.0/8'), aCidr('fd00::/8')]]
        for (const allowCidrs of [...lists, ...lists]) await post({ allowCidrs })
        expect([host.asked.length, host.connections()]).toEqual([6, 3])
      })

      test('to one origin is used for no other', async () => {
        for (const url of [`https://${HOST}/`, `http://${HOST}/`, `https://a.${HOST}/`]) await post({ url })
        expect(host.connections()).toBe(3)
      })
    })

    test.for<[string, string]>([
      ['http://169.254.169.254/', 'must lead to a public address'],
      [`https://user:secret@${HOST}/`, 'must not contain a user name or password'],
      [`https://${HOST}:22/`, 'must use port 80, 443, or 1024 to 65535'],
      ['ftp://example.com/', 'must be an http or https URL'],
      [`https://${HOST}/${'a'.repeat(3000)}`, 'must have at most 2048 characters'],
    ])('does not call %s', async ([url, fault]) => {
      expect(await post({ url })).toEqual({ result: 'blocked', message: `the webhook URL ${fault}` })
      expect(host.connections()).toBe(0)
    })
  })
}

function raw(answer: string): RequestListener {
  return ({ socket }) => socket.end(answer)
}

/** Sends the head of an answer, then an empty line and the rest. The connection stays open. */
function saying(status: string, ...lines: readonly string[]): RequestListener {
  return ({ socket }) => socket.write(`HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n`)
}

function hugeHead(): RequestListener {
  return (_request, response) => response.setHeader('x', 'y'.repeat(20_000)).end('x')
}

function compressed(body: Uint8Array): RequestListener {
  return (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body)
}

/** Sends half of a body, then resets the connection. */
function halve({ socket }: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 8 })
  response.write('half', () => socket.resetAndDestroy())
}

function resetAfterHead({ socket }: IncomingMessage): void {
  socket.write('HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n', () => socket.resetAndDestroy())
}

async function isClosed(response: ServerResponse): Promise<void> {
  if (!response.closed) await once(response, 'close')
}

async function expectNotYet(answer: Promise<unknown>): Promise<void> {
  expect(await Promise.race([answer, Promise.resolve(NOT_YET)])).toBe(NOT_YET)
}

const NOT_YET = Symbol('not yet')
