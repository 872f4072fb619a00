/** A host of the internet on a loopback address, by HTTP and by HTTPS: it answers what a test says, and writes down what it is asked. */
import { execFileSync } from 'node:child_process'
import type { LookupAddress } from 'node:dns'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EgressOptions } from '@platen/adapters/http/egress.ts'
import { type Cidr, parseCidr } from '@platen/contract/address.ts'

/** What its certificate is for, besides every name below it. */
export const HOST = 'cdn.example.test'

export interface Asked {
  /** `http` or `https`, host and path, as the client must have meant it. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

export interface TestHost extends AsyncDisposable {
  /** Everything that came, in order. */
  readonly asked: Asked[]
  /** Connections that were opened to it, whether or not anything was sent. */
  connections(): number
  /** From now on, what a path (with its query) answers; the same for every name and both schemes. Others answer 404. */
  answer(path: string, listener: RequestListener): void
  /** What a guarded client needs to take it for the internet: every name resolves to it, and its address is allowed. */
  readonly internet: Pick<Required<EgressOptions>, 'allowCidrs' | 'resolve' | 'ports' | 'ca'>
}

/** Begins to listen. */
export async function aHost(address = '127.0.0.1', certificate = usualCertificate()): Promise<TestHost> {
  const asked: Asked[] = []
  const answers = new Map<string, RequestListener>()
  let connections = 0
  const listenerFor =
    (scheme: string): RequestListener =>
    (request, response) => {
      asked.push({ url: `${scheme}://${request.headers.host}${request.url}`, headers: request.headers })
      const answer = answers.get(request.url ?? '')
      if (answer === undefined) response.writeHead(404).end('not here')
      else answer(request, response)
    }
  const servers = [createServer(listenerFor('http')), createSecureServer(certificate, listenerFor('https'))] as const
  const [http, https] = await Promise.all(
    servers.map((server) => {
      server.on('connection', () => {
        connections += 1
      })
      return portOf(server, address)
    }),
  )
  const close = (server: Server) =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    asked,
    connections: () => connections,
    answer: (path, listener) => answers.set(path, listener),
    internet: {
      allowCidrs: [aCidr(`${address}/32`)],
      resolve: async () => [at(address)],
      ports: { http: http ?? 0, https: https ?? 0 },
      ca: certificate.cert,
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map(close))
    },
  }
}

/** Answers with these bytes. */
export function giving(bytes: Uint8Array | string, type = 'application/octet-stream'): RequestListener {
  return (_request, response) => response.writeHead(200, { 'content-type': type }).end(bytes)
}

/** An address as a resolver gives it. */
export function at(address: string): LookupAddress {
  return { address, family: address.includes(':') ? 6 : 4 }
}

/** A block that is known to be one. */
export function aCidr(text: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new Error(`${text} is no block of addresses`)
  return cidr
}

function portOf(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, address, () => {
      // A server that listens on a port has the address of one.
      resolve((server.address() as AddressInfo).port)
    })
  })
}

/** A key and a certificate for a name and all below it, which vouches for itself. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

let usual: Certificate | undefined

/** That of all hosts of a process: each takes two runs of openssl. */
function usualCertificate(): Certificate {
  usual ??= aCertificate()
  return usual
}

/** Good for two days, or for as many as are said: with -1 it is over since yesterday; and for addresses too, where some are given. */
export function aCertificate({ name = HOST, days = 2, addresses = [] as readonly string[] } = {}): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'platen-certificate-'))
  const [key, request, cert] = [join(folder, 'key.pem'), join(folder, 'request.pem'), join(folder, 'cert.pem')]
  const names = [`DNS:${name}`, `DNS:*.${name}`, ...addresses.map((address) => `IP:${address}`)]
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  try {
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', request]
    openssl('req', '-new', ...made, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${names.join(',')}`)
    const signed = ['-signkey', key, '-days', `${days}`, '-copy_extensions', 'copyall', '-out', cert]
    openssl('x509', '-req', '-in', request, ...signed)
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
