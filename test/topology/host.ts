/** An internet host on a loopback address, with HTTP and HTTPS. It gives the answers a test defines, and records its requests. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { connect } from 'node:tls'
import type { EgressOptions } from '@platen/adapters/http/egress.ts'
import { type Cidr, parseCidr } from '@platen/lib/address.ts'
import { poll } from '../time/poll.ts'
import { listening } from './server/port.ts'

/** Name on its certificate, which is also valid for every name below it. */
export const HOST = 'cdn.example.test'

export interface Asked {
  /** Scheme, host and path that the client asked for: `http` or `https`. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

export interface TestHost extends AsyncDisposable {
  /** All requests, in order. */
  readonly asked: Asked[]
  /** Connections that were opened, with or without a request. */
  connections(): number
  /** For a path with its query, for every name and both schemes. Other paths answer 404. */
  answer(path: string, listener: RequestListener): void
  /** A guarded client with these options reaches it as the internet: every name resolves to it, and its address is allowed. */
  readonly internet: Pick<Required<EgressOptions>, 'allowCidrs' | 'resolve' | 'ports' | 'ca'>
}

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
  const listeners = await Promise.all(
    servers.map((server) => {
      server.on('connection', () => {
        connections += 1
      })
      return listening(server, { host: address })
    }),
  )
  const [http = 0, https = 0] = listeners.map(({ port }) => port)
  return {
    asked,
    connections: () => connections,
    answer: (path, listener) => answers.set(path, listener),
    internet: {
      allowCidrs: [aCidr(`${address}/32`)],
      resolve: async () => [at(address)],
      ports: { http, https },
      ca: certificate.cert,
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()))
    },
  }
}

export function giving(bytes: Uint8Array | string, type = 'application/octet-stream'): RequestListener {
  return (_request, response) => response.writeHead(200, { 'content-type': type }).end(bytes)
}

/** Answers without end, until the other side closes the connection. */
export const flood: RequestListener = (_request, response) => {
  const chunks = function* () {
    for (;;) yield Buffer.alloc(65_536, 'a')
  }
  pipeline(chunks(), response).catch(() => undefined)
}

export function at(address: string): LookupAddress {
  return { address, family: address.includes(':') ? 6 : 4 }
}

/** `text` must be valid. */
export function aCidr(text: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new Error(`${text} is not a CIDR block`)
  return cidr
}

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** How a server proves who it is, and whose clients it accepts. */
export interface ServerIdentity extends Certificate {
  readonly ca: string
  readonly name: string
  /** The CAs of the client certificates that it accepts. Absent = it asks for none. */
  readonly clientsCa?: string
}

/** Resolves when new connections to a port of this machine meet this certificate. */
export async function presented(port: number, { cert }: Certificate): Promise<void> {
  const wanted = new X509Certificate(cert).fingerprint256
  await poll(() => fingerprintAt(port)).until((fingerprint) => fingerprint === wanted)
}

function fingerprintAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // Not verified: only the certificate is read.
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

let usual: Certificate | undefined

/** The certificate of all hosts in this process. Creating one takes two runs of openssl. */
function usualCertificate(): Certificate {
  usual ??= aCertificate()
  return usual
}

interface CertificateOptions {
  /** It also covers all names below it. */
  readonly name?: string
  /** Days for which it is valid; -1 means it expired yesterday. */
  readonly days?: number
  readonly addresses?: readonly string[]
  /** The CA that signs it. Absent = it signs itself. */
  readonly issuer?: Certificate | undefined
}

export function aCertificate({ name = HOST, days = 2, addresses = [], issuer }: CertificateOptions = {}): Certificate {
  const names = [`DNS:${name}`, `DNS:*.${name}`, ...addresses.map((address) => `IP:${address}`)]
  return signed({ name, days, issuer, extensions: [`subjectAltName=${names.join(',')}`] })
}

/** Self-signed, without client certificates. */
export function anIdentity(options: CertificateOptions & { readonly name: string }): ServerIdentity {
  const own = aCertificate(options)
  return { ...own, ca: own.cert, name: options.name }
}

/** All CAs have the same name, like the next CA of an organization, and are distinguished by their key identifiers. */
export function anAuthority(): Certificate {
  const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign']
  return signed({ name: 'ca.example.test', days: 2, extensions })
}

interface Signing extends Pick<CertificateOptions, 'issuer'> {
  readonly name: string
  readonly days: number
  readonly extensions: readonly string[]
}

function signed({ name, days, extensions, issuer }: Signing): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'platen-certificate-'))
  const at = (file: string) => join(folder, file)
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  try {
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at('key.pem')]
    openssl('req', '-new', ...made, '-out', at('request.pem'), '-subj', `/CN=${name}`)
    // Without the identifiers, OpenSSL tries only one of several trusted CAs of the same name.
    const identified = ['subjectKeyIdentifier=hash', 'authorityKeyIdentifier=keyid', ...extensions]
    writeFileSync(at('extensions'), identified.join('\n'))
    if (issuer) writeFileSync(at('issuer.pem'), `${issuer.key}${issuer.cert}`, { mode: 0o600 })
    const signer = issuer ? ['-CA', at('issuer.pem'), '-CAkey', at('issuer.pem')] : ['-signkey', at('key.pem')]
    const signing = ['-days', `${days}`, '-extfile', at('extensions'), ...signer]
    openssl('x509', '-req', '-in', at('request.pem'), ...signing, '-out', at('cert.pem'))
    return { key: readFileSync(at('key.pem'), 'utf8'), cert: readFileSync(at('cert.pem'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
