/** Tests beyond the suite: to which addresses the HTTP client connects. This check is what makes the client safe. */
import { createServer } from 'node:net'
import { type EgressOptions, httpEgress } from '@platen/adapters/http/egress.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { NEVER } from '../fixture/build.ts'
import { aCidr, aHost, at, giving, HOST, type TestHost } from '../topology/host.ts'
import { describeEgress } from './egress.suite.ts'

describeEgress('http', (host, clock) => httpEgress({ ...host.internet, clock }))

let host: TestHost
/** A second host on the same ports, which must not be reached. */
const [INSIDE, OUTSIDE] = ['127.0.0.2', '127.0.0.1']
let canary: Awaited<ReturnType<typeof aCanary>>

beforeAll(async () => {
  host = await aHost(OUTSIDE)
  host.answer('/', giving('outside'))
  canary = await aCanary(INSIDE, host.internet.ports)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await canary[Symbol.asyncDispose]()
})
afterEach(() => vi.unstubAllEnvs())

/** Makes a request. `options` override the defaults, under which every name leads to the host. */
async function get(options: Partial<EgressOptions> = {}, url = `https://${HOST}/`): Promise<string> {
  const egress = httpEgress({ ...host.internet, clock: systemClock(), ...options })
  const { bytes } = await egress.get(
    url,
    [HOST, '127.0.0.1', '127.0.0.2', '0x7f.1', '169.254.169.254', '2130706433'],
    NEVER,
  )
  return Buffer.from(bytes).toString()
}

const NOT_PUBLIC = expect.objectContaining({
  code: 'asset_unavailable',
  message: expect.stringMatching(/: it does not lead to a public address$/),
})

test.for<[string, readonly string[]]>([
  ['this machine', ['127.0.0.1']],
  ['this machine by IPv6', ['::1']],
  ['this machine by IPv6 that carries IPv4', ['::ffff:127.0.0.1']],
  ['this machine as nothing', ['0.0.0.0']],
  ['a private network', ['10.0.0.1']],
  ['the metadata of a cloud', ['169.254.169.254']],
  ['a network of IPv6', ['fd00::1']],
  ['a translator', ['64:ff9b::7f00:1']],
  ['something else than an address', ['localhost']],
  ['one inside after one outside', ['1.1.1.1', INSIDE]],
  ['one inside before one outside', [INSIDE, '1.1.1.1']],
  ['the metadata of a cloud among others', ['1.1.1.1', '2606:4700::1111', '169.254.169.254']],
])('a name that leads to %s is connected to at none of its addresses', async ([, addresses]) => {
  const resolve = async () => addresses.map(at)
  await expect(get({ resolve, allowCidrs: [] })).rejects.toEqual(NOT_PUBLIC)
  expect([host.connections(), canary.connections()]).toEqual([0, 0])
})

const failingWith = (code: string) => () => Promise.reject(Object.assign(new Error(`queryA ${code}`), { code }))

test.for<[string, NonNullable<EgressOptions['resolve']>]>([
  ['without an address', async () => []],
  ['that is not there', failingWith('ENOTFOUND')],
  ['that has addresses of another kind', failingWith('ENODATA')],
])('a name %s is told as one that leads inside is', async ([, resolve]) => {
  await expect(get({ resolve })).rejects.toEqual(NOT_PUBLIC)
})

test.for(['localhost', 'nosuch.internal', 'db.svc', '10.0.0.1', '[::1]'])(
  'nothing tells whether %s is there',
  async (host) => {
    for (const scheme of ['http', 'https']) {
      const fetched = httpEgress({ clock: systemClock() }).get(`${scheme}://${host}/`, [host], NEVER)
      const message = `${host}: it does not lead to a public address`
      await expect(fetched).rejects.toMatchObject({ code: 'asset_unavailable', message })
    }
  },
)

test('the servers of a public name that give no answer are said to, and those of an inner one are not', async () => {
  const resolve = failingWith('ETIMEOUT')
  await expect(get({ resolve })).rejects.toThrow(`${HOST}: its name cannot be resolved (ETIMEOUT)`)
  const inner = httpEgress({ ...host.internet, clock: systemClock(), resolve })
  await expect(inner.get('https://db.internal/', ['db.internal'], NEVER)).rejects.toEqual(NOT_PUBLIC)
})

test('a name is resolved once, and what it leads to a moment later is of no account', async () => {
  const answers = [[at(OUTSIDE)], [at(INSIDE)], [at(INSIDE)]]
  const resolve = vi.fn(async () => answers.shift() ?? [])
  expect(await get({ resolve })).toBe('outside')
  expect([resolve.mock.calls, canary.connections()]).toEqual([[[HOST]], 0])
})

test('where a connection leads in truth decides, before a byte is sent', async () => {
  // The operating system takes 0.0.0.0 as this machine. Here it is allowed by mistake.
  const options = { resolve: async () => [at('0.0.0.0')], allowCidrs: [aCidr('0.0.0.0/8')] }
  const asked = host.asked.length
  await expect(get(options, `http://${HOST}/`)).rejects.toEqual(NOT_PUBLIC)
  expect(host.asked.length).toBe(asked)
})

test('addresses are tried until one answers', async () => {
  const nowhere = '127.0.0.3'
  const allowCidrs = [aCidr('127.0.0.0/8')]
  expect(await get({ resolve: async () => [at(nowhere), at(OUTSIDE)], allowCidrs })).toBe('outside')
})

test.for([
  ['http://127.0.0.2/', 'itself'],
  ['http://2130706434/', 'a number'],
  ['http://0x7f.2/', 'hexadecimal'],
  ['http://0177.0.0.2/', 'octal'],
  ['http://１２７.0.0.2/', 'wide digits'],
  ['http://127。0。0。2/', 'another stop'],
  ['http://169.254.169.254/', 'metadata, which is allowed by mistake'],
] as const)('an address that is listed is connected to only if it is public: %s, %s', async ([url]) => {
  await expect(get({ allowCidrs: [aCidr('127.0.0.1/32'), aCidr('169.254.0.0/16')] }, url)).rejects.toEqual(NOT_PUBLIC)
  expect(canary.connections()).toBe(0)
})

test('an address that is listed and allowed is connected to', async () => {
  expect(await get({}, 'http://127.0.0.1/')).toBe('outside')
})

test('a redirect of an allowed name is judged by its address, too', async () => {
  const resolve = async (name: string) => [at(name === HOST ? OUTSIDE : INSIDE)]
  host.answer('/away', (_request, response) => response.writeHead(302, { location: `https://www.${HOST}/` }).end())
  const egress = httpEgress({ ...host.internet, clock: systemClock(), resolve })
  await expect(egress.get(`https://${HOST}/away`, [HOST, `www.${HOST}`], NEVER)).rejects.toEqual(NOT_PUBLIC)
  expect(canary.connections()).toBe(0)
})

test.for<[string, Partial<EgressOptions>, string, string]>([
  ['from nobody known', { ca: '' }, `https://${HOST}/`, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['for another name', {}, 'https://127.0.0.1/', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])('a certificate %s is refused, whatever the environment says', async ([, options, url, code]) => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const asked = host.asked.length
  await expect(get(options, url)).rejects.toThrow(`it could not be reached, or the connection broke (${code})`)
  expect(host.asked.length).toBe(asked)
})

test('a proxy of the environment is not used', async () => {
  const proxy = `http://${INSIDE}:${host.internet.ports.http}`
  for (const name of ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) vi.stubEnv(name, proxy)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  expect(await get({}, `http://${HOST}/`)).toBe('outside')
  expect(canary.connections()).toBe(0)
})

/** Counts the connections to an address on these ports. */
async function aCanary(address: string, ports: { readonly http: number; readonly https: number }) {
  let connections = 0
  const servers = await Promise.all(
    Object.values(ports).map(async (port) => {
      const server = createServer((socket) => {
        connections += 1
        socket.destroy()
      })
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, address, resolve))
      return server
    }),
  )
  return {
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}
