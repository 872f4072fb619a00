/** Tests beyond the suite: to which addresses the HTTP sender connects, and which server identities it accepts. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { connectionOver, openConnectionPool } from '@platen/adapters/http/connection-pool.ts'
import { WEBHOOK_ATTEMPT_MS_MAX } from '@platen/adapters/http/limit.ts'
import { type WebhookSenderOptions, webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { WEBHOOK_CALLS_MAX } from '@platen/contract/domain/limit.ts'
import type { WebhookRequest, WebhookResponse } from '@platen/contract/port/webhook-sender.ts'
import type { Cidr } from '@platen/lib/address.ts'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { NEVER } from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { aCertificate, aCidr, aHost, at, giving, HOST, type TestHost } from '../topology/host.ts'
import { listening } from '../topology/server/port.ts'
import { PATIENCE } from './harness.ts'
import { describeWebhookSender } from './webhook-sender.suite.ts'

describeWebhookSender('http', (host, clock) => webhookSender({ ...optionsFor(host), clock }))

let host: TestHost

beforeAll(async () => {
  host = await aHost()
  host.answer('/', giving('outside'))
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(() => vi.unstubAllEnvs())

function optionsFor({ internet: { allowCidrs, ca, ...internet } }: TestHost) {
  return { ...internet, ca: () => ca, policy: { isHttpAllowed: true, allowCidrs } }
}

/** Makes one call. `options` override the defaults, under which every name leads to the host. */
async function post(
  options: Partial<WebhookSenderOptions> = {},
  request: Partial<WebhookRequest> = {},
): Promise<WebhookResponse> {
  await using sender = webhookSender({ ...optionsFor(host), clock: systemClock(), ...options })
  return await sender.post({ url: `https://${HOST}/`, headers: {}, body: '{}', allowCidrs: [], ...request }, NEVER)
}

const outside = expect.objectContaining({ result: 'ok', excerpt: 'outside' })
const blocked = { result: 'blocked', message: `${HOST}: it does not lead to a public address` }

test.for<[string, readonly string[]]>([
  ['this machine', ['127.0.0.1']],
  ['this machine by IPv6 that carries IPv4', ['::ffff:127.0.0.1']],
  ['this machine as nothing', ['0.0.0.0']],
  ['the metadata of a cloud', ['169.254.169.254']],
  ['something else than an address', ['localhost']],
  ['one inside after one outside', ['1.1.1.1', '10.0.0.1']],
  ['one inside before one outside', ['10.0.0.1', '1.1.1.1']],
])('a name that leads to %s is connected to at none of its addresses', async ([, addresses]) => {
  const connections = host.connections()
  const policy = { isHttpAllowed: true, allowCidrs: [] }
  expect(await post({ policy, resolve: async () => addresses.map(at) })).toEqual(blocked)
  expect(host.connections()).toBe(connections)
})

test('a name is resolved once for a connection, and not at all while that is kept', async () => {
  const resolve = vi.fn(async () => [at('127.0.0.1')])
  await using sender = webhookSender({ ...optionsFor(host), clock: systemClock(), resolve })
  const request = { url: `https://${HOST}/`, headers: {}, body: '{}', allowCidrs: [] }
  expect([await sender.post(request, NEVER), await sender.post(request, NEVER)]).toEqual([outside, outside])
  expect(resolve.mock.calls).toEqual([[HOST]])
})

test('a name is asked for without the dot at its end', async () => {
  const resolve = vi.fn(async () => [at('127.0.0.1')])
  expect(await post({ resolve }, { url: `https://${HOST}./` })).toEqual(outside)
  expect(resolve.mock.calls).toEqual([[HOST]])
})

test('where a connection leads in truth decides, before a byte is sent', async () => {
  // The operating system takes 0.0.0.0 as this machine. Here it is allowed by mistake.
  const policy = { isHttpAllowed: true, allowCidrs: [aCidr('0.0.0.0/8')] }
  const [asked, connections] = [host.asked.length, host.connections()]
  expect(await post({ policy, resolve: async () => [at('0.0.0.0')] }, { url: `http://${HOST}/` })).toEqual(blocked)
  expect(host.asked.length).toBe(asked)
  // The connection was opened, so this tests the second check.
  await expect.poll(() => host.connections(), PATIENCE).toBe(connections + 1)
})

test('the blocks of a call open what those of the installation do not', async () => {
  const policy = { isHttpAllowed: false, allowCidrs: [] }
  expect(await post({ policy })).toEqual(blocked)
  expect(await post({ policy }, { allowCidrs: [aCidr('127.0.0.1/32')] })).toEqual(outside)
})

test('a URL that was called under the blocks of one call is refused without them, however it is written', async () => {
  const policy = { isHttpAllowed: true, allowCidrs: [] }
  await using sender = webhookSender({ ...optionsFor(host), clock: systemClock(), policy })
  const call = (url: string, ...allowCidrs: Cidr[]) => sender.post({ url, headers: {}, body: '{}', allowCidrs }, NEVER)
  const url = 'http://127.0.0.1/'
  expect(await call(url, aCidr('127.0.0.1/32'))).toEqual(outside)
  for (const other of [url, `127.0.0.1/32 ${url}`]) expect((await call(other)).result).toBe('blocked')
  expect(await call(url, aCidr('127.0.0.1/32'))).toEqual(outside)
})

test.for<[string, () => Promise<readonly ReturnType<typeof at>[]>, string]>([
  ['that does not exist', () => Promise.reject(failure('ENOTFOUND')), 'ENOTFOUND'],
  ['whose servers fail', () => Promise.reject(failure('ESERVFAIL')), 'ESERVFAIL'],
  ['without an address', async () => [], 'ENODATA'],
])('a name %s is reported', async ([, resolve, code]) => {
  const message = `${HOST}: its name cannot be resolved (${code})`
  expect(await post({ resolve })).toEqual({ result: 'dns', message })
})

test('a resolver that does not answer is given up', async () => {
  const clock = manualClock()
  const asked = Promise.withResolvers<void>()
  const answer = post({
    clock,
    resolve() {
      asked.resolve()
      return new Promise(() => undefined)
    },
  })
  await asked.promise
  await clock.advance(WEBHOOK_ATTEMPT_MS_MAX)
  expect(await answer).toEqual({ result: 'timeout', message: `${HOST}: it did not answer within 10 seconds` })
  expect(clock.armed()).toBe(0)
})

test('addresses are tried until one answers', async () => {
  const policy = { isHttpAllowed: true, allowCidrs: [aCidr('127.0.0.0/8')] }
  expect(await post({ policy, resolve: async () => [at('127.0.0.3'), at('127.0.0.1')] })).toEqual(outside)
})

test('a connection that is refused is reported', async () => {
  const closed = await listening(createServer())
  await closed[Symbol.asyncDispose]()
  const message = `${HOST}: it could not be reached, or the connection broke (ECONNREFUSED)`
  expect(await post({ ports: { http: closed.port, https: closed.port } })).toEqual({ result: 'connection', message })
})

test('a host that swallows what it is sent is given up', async () => {
  // Its thread never accepts a connection, and the queue has room for two.
  const code = `
    const { createServer } = require('node:net')
    const { parentPort } = require('node:worker_threads')
    const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
    })`
  await using worker = new Worker(code, { eval: true })
  const [port] = await once(worker, 'message')
  const clock = manualClock()
  await using sender = webhookSender({ ...optionsFor(host), clock, ports: { http: port, https: port } })
  const request = { url: `http://${HOST}/`, headers: {}, body: '{}', allowCidrs: [] }
  const answers = Array.from({ length: 5 }, () => sender.post(request, NEVER))
  // In the kernel's table, state 02 is a connection that was requested and not answered.
  const unanswered = new RegExp(`^\\s*\\d+: \\S+ 0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} 02 `, 'm')
  await expect.poll(() => readFile('/proc/net/tcp', 'latin1'), PATIENCE).toMatch(unanswered)
  await clock.advance(WEBHOOK_ATTEMPT_MS_MAX)
  const message = `${HOST}: it did not answer within 10 seconds`
  expect(await Promise.all(answers)).toEqual(answers.map(() => ({ result: 'timeout', message })))
})

test.for([
  ['that vouches for itself', {}, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['whose time is over', { days: -1 }, 'CERT_HAS_EXPIRED'],
  ['for another name', { name: 'elsewhere.test' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
] as const)('a certificate %s is not believed, whatever the environment says', async ([, certificate, code]) => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const made = aCertificate(certificate)
  await using receiver = await aHost('127.0.0.1', made)
  const { ca: _ca, ...options } = optionsFor(receiver)
  const answer = await post({ ...options, ...(code !== 'DEPTH_ZERO_SELF_SIGNED_CERT' && { ca: () => made.cert }) })
  expect(answer).toEqual({ result: 'tls', message: `${HOST}: the TLS handshake with it failed (${code})` })
  expect(receiver.asked).toEqual([])
})

test('a change of the trusted authorities counts from the next call on', async () => {
  const other = aCertificate({ name: 'other.test' })
  let ca = other.cert
  await using sender = webhookSender({ ...optionsFor(host), clock: systemClock(), ca: () => ca })
  const request = { url: `https://${HOST}/`, headers: {}, body: '{}', allowCidrs: [] }
  expect(await sender.post(request, NEVER)).toMatchObject({ result: 'tls' })
  ca = other.cert + host.internet.ca
  expect(await sender.post(request, NEVER)).toEqual(outside)
})

test('the authorities of an installation are trusted beside the usual ones', async () => {
  const usual = getCACertificates()
  const name = 'other.test'
  await using other = await aHost('127.0.0.1', aCertificate({ name }))
  const ca = optionsFor(other).ca
  expect(await post({ ca })).toMatchObject({ result: 'tls' })
  try {
    setDefaultCACertificates([host.internet.ca])
    expect(await post({ ca })).toEqual(outside)
    expect(await post(optionsFor(other), { url: `https://${name}/` })).toMatchObject({ statusCode: 404 })
  } finally {
    setDefaultCACertificates(usual)
  }
})

test.for<[string, string, WebhookResponse['result']]>([
  ['no TLS where there should be', 'http', 'tls'],
  ['TLS where there should be none', 'https', 'connection'],
])('a receiver that speaks %s is reported', async ([, spoken, result]) => {
  const { http, https } = host.internet.ports
  const ports = spoken === 'http' ? { http, https: http } : { http: https, https }
  const url = spoken === 'http' ? `https://${HOST}/` : `http://${HOST}/`
  expect(await post({ ports }, { url })).toMatchObject({ result })
})

test('a receiver that says nothing to the greeting is given up', async () => {
  const server = createServer()
  const { port } = await listening(server)
  const clock = manualClock()
  const greeted = new Promise<void>((resolve) => {
    server.once('connection', (socket) => socket.once('data', () => resolve()))
  })
  const answer = post({ clock, ports: { http: port, https: port } })
  await greeted
  await clock.advance(WEBHOOK_ATTEMPT_MS_MAX)
  expect(await answer).toMatchObject({ result: 'timeout' })
  await new Promise((closed) => server.close(closed))
})

test('a proxy of the environment is not used', async () => {
  const server = createServer()
  await using proxy = await listening(server)
  for (const name of ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    vi.stubEnv(name, proxy.url)
  }
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  server.once('connection', () => expect.unreachable('the proxy was used'))
  expect(await post({}, { url: `http://${HOST}/` })).toEqual(outside)
})

test('a header that is none is a fault of the caller', async () => {
  await expect(post({}, { headers: { 'x-broken': 'a\r\nb: c' } })).rejects.toThrow('invalid x-broken header')
})

test('a connection that ends between its choice and its use is replaced', async () => {
  await using receiver = await aHost()
  await using sender = webhookSender({ ...optionsFor(receiver), clock: systemClock() })
  const call = () => sender.post({ url: `http://${HOST}/`, headers: {}, body: '', allowCidrs: [] }, NEVER)
  const taken: Socket[] = []
  receiver.answer('/', ({ socket }, response) => {
    taken.push(socket)
    response.end()
  })
  await call()
  // From a timer, so that the end is read before undici writes. undici waits for one turn of the loop.
  await new Promise((resolve) => setTimeout(resolve))
  taken[0]?.destroy()
  expect(await call()).toEqual({ result: 'ok', statusCode: 200 })
  expect([taken.length, receiver.connections()]).toEqual([2, 2])
})

test('connections are kept for as many calls as there may be at once, of one host and in all', async () => {
  await using receiver = await aHost()
  await using sender = webhookSender({ ...optionsFor(receiver), clock: systemClock() })
  const callAtOnce = async (calls: number, nameOf: (call: number) => string) => {
    const before = receiver.connections()
    const held: (() => void)[] = []
    const allHeld = Promise.withResolvers<void>()
    receiver.answer('/', (_request, response) => {
      held.push(() => response.end())
      if (held.length === calls) allHeld.resolve()
    })
    const answers = Array.from({ length: calls }, (_, call) =>
      sender.post({ url: `http://${nameOf(call)}/`, headers: {}, body: '', allowCidrs: [] }, NEVER),
    )
    await allHeld.promise
    for (const release of held) release()
    await Promise.all(answers)
    return receiver.connections() - before
  }
  expect(await callAtOnce(12, () => HOST)).toBe(12)
  // Eight connections were kept.
  expect(await callAtOnce(12, () => HOST)).toBe(4)
  // Connections are kept for as many names as there are calls, one for each. The earlier ones and those of the first names are closed.
  const names = WEBHOOK_CALLS_MAX + 4
  expect(await callAtOnce(names, (call) => `h${call}.example`)).toBe(names)
  expect(await callAtOnce(1, () => HOST)).toBe(1)
  expect(await callAtOnce(1, () => 'h0.example')).toBe(1)
  expect(await callAtOnce(1, () => `h${names - 1}.example`)).toBe(0)
})

test('the connection that was used last is taken first, and none that has ended meanwhile', () => {
  const kept = openConnectionPool()
  const [first, second, third, fourth] = Array.from({ length: 4 }, () =>
    connectionOver(new Socket(), { key: 'a', origin: `http://${HOST}` }),
  )
  for (const connection of [first, second, third, fourth]) if (connection !== undefined) kept.release(connection)
  third?.socket.destroy()
  expect([kept.acquire('b'), kept.acquire('a'), kept.acquire('a')]).toEqual([undefined, fourth, second])
  kept.destroy()
  expect([first?.socket.destroyed, kept.acquire('a')]).toEqual([true, undefined])
})

function failure(code: string): Error {
  return Object.assign(new Error(`no address of 10.0.0.1 (${code})`), { code })
}
