/** The promises of every egress adapter. The doc comments of the port describe them. */
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { EGRESS_BYTES_MAX, EGRESS_MS_MAX } from '@platen/adapters/http/limit.ts'
import type { Egress } from '@platen/contract/port/egress.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { NEVER } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { aHost, flood, giving, HOST, type TestHost } from '../topology/host.ts'
import { answering } from '../topology/receiver.ts'

const OTHER = `www.${HOST}`
const ALLOWED = [HOST, OTHER]
const URL_OF_IT = `https://${HOST}/a.png`

const redirectTo = (location: string, status = 302) => answering(status, { location })

export function describeEgress(name: string, open: (host: TestHost, clock: Clock) => Egress): void {
  describe(`egress: ${name}`, () => {
    let host: TestHost
    let clock: ManualClock
    let egress: Egress
    const get = (url = URL_OF_IT, signal = NEVER) => egress.get(url, ALLOWED, signal)
    const refused = (reason: RegExp | string) =>
      expect.objectContaining({ code: 'asset_unavailable', message: expect.stringMatching(reason) })

    beforeEach(async () => {
      host = ofTest(await aHost())
      clock = manualClock()
      egress = open(host, clock)
    })

    test.for(['http', 'https'])('gives what a host gives over %s, and says little of itself', async (scheme) => {
      host.answer('/a.png?b=c', giving('the bytes', 'Image/PNG; charset=x'))
      const { bytes, type } = await get(`${scheme}://${HOST}/a.png?b=c#fragment`)
      expect([Buffer.from(bytes).toString(), type]).toEqual(['the bytes', 'image/png'])
      expect(host.asked.map(({ url }) => url)).toEqual([`${scheme}://${HOST}/a.png?b=c`])
      expect(host.asked[0]?.headers).toEqual({
        host: HOST,
        'user-agent': 'Platen',
        accept: '*/*',
        'accept-encoding': 'identity',
        connection: 'close',
      })
    })

    test('sends no cookie back', async () => {
      host.answer('/a.png', (_request, response) => response.writeHead(200, { 'set-cookie': 'a=b' }).end('x'))
      await get()
      await get()
      expect(host.asked.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined])
    })

    test.for([301, 302, 303, 307, 308])('follows a redirect of status %d to an allowed host', async (status) => {
      host.answer('/a.png', redirectTo(`https://${OTHER}/b.png`, status))
      host.answer('/b.png', redirectTo('c.png', status))
      host.answer('/c.png', giving('there'))
      expect(Buffer.from((await get()).bytes).toString()).toBe('there')
      expect(host.asked.map(({ url }) => url)).toEqual([URL_OF_IT, `https://${OTHER}/b.png`, `https://${OTHER}/c.png`])
      expect(host.asked.map(({ headers }) => headers.referer)).toEqual([undefined, undefined, undefined])
    })

    test.for<[string, string, RegExp]>([
      ['another host', 'https://evil.example/a.png', /it redirects to evil\.example, which is not among the allowed/],
      ['a host below an allowed one', `https://a.${HOST}/`, /which is not among the allowed hosts/],
      ['an address', 'https://127.0.0.1/a.png', /it redirects to 127\.0\.0\.1, which/],
      ['an address in hexadecimal', 'https://0x7f.1/a.png', /it redirects to 127\.0\.0\.1, which/],
      ['a file', 'file:///etc/passwd', /which is not among the allowed hosts/],
      ['data', 'data:image/png;base64,AAAA', /which is not among the allowed hosts/],
      ['http', `http://${HOST}/a.png`, /it redirects from https to http/],
      ['another port', `https://${HOST}:8443/a.png`, /only from port 443 for https and port 80 for http/],
      ['a user', `https://user@${HOST}/a.png`, /with a user or a password/],
      ['nothing', 'https://', /redirects to an invalid URL/],
    ])('follows no redirect to %s', async ([, location, reason]) => {
      host.answer('/a.png', redirectTo(location))
      await expect(get()).rejects.toEqual(refused(reason))
      expect(host.asked).toHaveLength(1)
    })

    test('ends a loop of redirects', async () => {
      host.answer('/a.png', redirectTo('/a.png'))
      await expect(get()).rejects.toEqual(refused('it redirects more than 3 times'))
      expect(host.asked).toHaveLength(4)
    })

    test.for<[string, RequestListener, RegExp]>([
      ['no such file', answering(404), /it answered with the status 404/],
      ['a fault of its own', answering(500), /with the status 500/],
      ['a part', answering(206), /with the status 206/],
      ['a redirect to nowhere', answering(302), /with the status 302/],
      ['nothing new', answering(304), /with the status 304/],
      ['no content', answering(204), /with the status 204/],
      ['nothing', (_, response) => response.end(), /it answered with an empty body/],
      [
        'a compressed body',
        encoded('gzip', gzipSync('x')),
        /it answered with a Content-Encoding that was not requested/,
      ],
      [
        'a body compressed twice',
        encoded('gzip, br', gzipSync('x')),
        /it answered with a Content-Encoding that was not requested/,
      ],
      [
        'a bomb',
        encoded('deflate', deflateRawSync(Buffer.alloc(2 * EGRESS_BYTES_MAX))),
        /it answered with a Content-Encoding that was not requested/,
      ],
      ['a length of too much', lengthOf(EGRESS_BYTES_MAX + 1), /it answered with more than 10485760 bytes/],
      [
        'a length of numbers there are not',
        lengthOf('9'.repeat(30)),
        /it answered with more than|could not be reached/,
      ],
      [
        'too much',
        (_, response) => response.end(Buffer.alloc(EGRESS_BYTES_MAX + 1)),
        /it answered with more than 10485760 bytes/,
      ],
      ['something without end', flood, /it answered with more than 10485760 bytes/],
      [
        'headers without end',
        (_, response) => response.setHeader('x', 'y'.repeat(20_000)).end('x'),
        /the connection broke \(HPE_HEADER_OVERFLOW\)/,
      ],
      [
        'a reset',
        (request) => request.socket.destroy(),
        /it could not be reached, or the connection broke \(ECONNRESET\)/,
      ],
      [
        'half a body',
        (request, response) => void halve(response, request.socket),
        /the connection broke \(ECONNRESET\)/,
      ],
      [
        'another protocol',
        (request) => request.socket.end('220 mail.example ESMTP\r\n'),
        /the connection broke \(HPE_INVALID_CONSTANT\)/,
      ],
      [
        'a change of protocol',
        (request) => request.socket.end('HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
        /it answered with the status 101/,
      ],
    ])('refuses %s', async ([, answer, reason]) => {
      host.answer('/a.png', answer)
      await expect(get()).rejects.toEqual(refused(reason))
    })

    test.for([302, 404])(
      'closes the connection of an answer of status %d, whose body it has no use for',
      async (status) => {
        const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>()
        host.answer('/a.png', (_request, response) => {
          response.writeHead(status, { location: `https://${OTHER}/b.png` }).write('and so on')
          begin(response)
        })
        host.answer('/b.png', giving('there'))
        const result = get().catch((error: unknown) => error)
        const response = await begun
        if (!response.closed) await once(response, 'close')
        expect(await result).toEqual(
          status === 302 ? expect.objectContaining({ type: expect.any(String) }) : refused('404'),
        )
      },
    )

    test('gives the largest body there may be', async () => {
      host.answer('/a.png', giving(Buffer.alloc(EGRESS_BYTES_MAX, 7)))
      expect((await get()).bytes.byteLength).toBe(EGRESS_BYTES_MAX)
    })

    test.for<[string, RequestListener]>([
      ['does not answer', () => undefined],
      ['answers drop by drop', (_, response) => response.write('x')],
      ['answers header by header', (request) => request.socket.write('HTTP/1.1 200 OK\r\nx: y\r\n')],
      ['says again and again that it is at work', (_, response) => response.writeProcessing()],
    ])('gives up a host that %s', async ([, listener]) => {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      host.answer('/a.png', (request, response) => {
        listener(request, response)
        begin()
      })
      const result = get().catch((error: unknown) => error)
      await begun
      await clock.advance(EGRESS_MS_MAX)
      expect(await result).toEqual(refused('it took longer than 5 seconds'))
    })

    test('counts the time of all redirects together', async () => {
      const arrived = Promise.withResolvers<void>()
      host.answer('/a.png', (request, response) => {
        void clock.advance(EGRESS_MS_MAX - 1).then(() => redirectTo('/b.png')(request, response))
      })
      host.answer('/b.png', () => arrived.resolve())
      const result = get().catch((error: unknown) => error)
      await arrived.promise
      await clock.advance(1)
      expect(await result).toEqual(refused('it took longer than 5 seconds'))
    })

    test('ends with the reason of its signal, before and while a host answers, and closes the connection', async () => {
      const reason = new Error('enough')
      await expect(get(URL_OF_IT, AbortSignal.abort(reason))).rejects.toBe(reason)
      expect(host.connections()).toBe(0)
      const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>()
      host.answer('/a.png', (_request, response) => {
        response.write('x')
        begin(response)
      })
      const stop = new AbortController()
      const result = get(URL_OF_IT, stop.signal).catch((error: unknown) => error)
      const closed = once(await begun, 'close')
      stop.abort(reason)
      expect(await result).toBe(reason)
      await closed
    })

    test.for([
      ['http://169.254.169.254/', /the host of the URL is not among the allowed hosts/],
      ['https://evil.example/', /the host of the URL is not among the allowed hosts/],
      ['file:///etc/passwd', /the host of the URL is not among the allowed hosts/],
      [`https://${HOST}:444/`, /only from port 443/],
      [`https://user:secret@${HOST}/`, /a user or a password/],
    ] as const)('connects to nothing for %s', async ([url, message]) => {
      await expect(get(url)).rejects.toEqual(refused(message))
      expect(host.connections()).toBe(0)
    })

    test('names the host it asked, and nothing of the path', async () => {
      const answer = get(`https://${HOST}/path?token=secret`)
      await expect(answer).rejects.toThrow(/^cdn\.example\.test: it answered with the status 404$/)
    })
  })
}

function encoded(coding: string, body: Uint8Array): RequestListener {
  return (_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(body)
}

/** Announces a length and sends no body. */
function lengthOf(bytes: number | string): RequestListener {
  return ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`)
}

async function halve(response: ServerResponse, socket: { destroy(): void }): Promise<void> {
  response.writeHead(200, { 'content-length': 100 })
  await new Promise((written) => response.write('half', written))
  socket.destroy()
}
