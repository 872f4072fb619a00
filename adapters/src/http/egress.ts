/**
 * The guarded client. Names come from tenants, who own the zones they are in, and answers from whoever they please: so the
 * addresses of a name are looked at once, the connection is made to those and no others, what it has come to is looked at again,
 * and everything of an answer has a limit. Each request has a socket of its own and knows no proxy.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { isIP, connect as openSocket, type Socket } from 'node:net'
import { connect as openTls, type TLSSocket } from 'node:tls'
import { type Cidr, mayConnect } from '@platen/contract/address.ts'
import { abortable } from '@platen/contract/bell.ts'
import { egressUrl, refusal } from '@platen/contract/egress-url.ts'
import { ServiceError } from '@platen/contract/error.ts'
import {
  EGRESS_BYTES_MAX,
  EGRESS_HEADER_BYTES_MAX,
  EGRESS_MS_MAX,
  EGRESS_REDIRECTS_MAX,
} from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Egress, Fetched } from '@platen/contract/port/egress.ts'

export interface EgressOptions {
  readonly clock: Clock
  /** Blocks of addresses that are connected to though they are not public. */
  readonly allowCidrs?: readonly Cidr[]
  /** All addresses of a name; the system's resolver where not said. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>
  /** What stands for the ports 80 and 443. */
  readonly ports?: { readonly http: number; readonly https: number }
  /** Certificates to trust, as PEM; those Node brings along where not said. */
  readonly ca?: string
}

type Guard = Required<Omit<EgressOptions, 'ca' | 'clock'>> & Pick<EgressOptions, 'ca'>

/** Opens nothing. A limit of time is the clock's. */
export function httpEgress({ clock, ...options }: EgressOptions): Egress {
  const guard: Guard = {
    allowCidrs: [],
    resolve: (host) => lookup(host, { all: true }),
    ports: { http: 80, https: 443 },
    ...options,
  }
  return {
    async get(text, allowedHosts, signal) {
      const url = egressUrl(text, allowedHosts)
      if (url === undefined) throw new ServiceError('asset_unavailable', 'the URL is none of an allowed host')
      const limit = clock.timeout(EGRESS_MS_MAX)
      try {
        return await follow(url, { guard, allowedHosts, ended: AbortSignal.any([signal, limit]) })
      } catch (error) {
        signal.throwIfAborted()
        if (limit.aborted) throw refusal(url, `it took longer than ${EGRESS_MS_MAX / 1000} seconds`, error)
        throw error
      }
    },
  }
}

interface Errand {
  readonly guard: Guard
  readonly allowedHosts: readonly string[]
  readonly ended: AbortSignal
}

/** Asks at `url` and wherever that leads. */
async function follow(url: URL, errand: Errand): Promise<Fetched> {
  let at = url
  for (let redirects = 0; redirects <= EGRESS_REDIRECTS_MAX; redirects += 1) {
    const answer = await ask(at, errand)
    if (!('location' in answer)) return answer
    at = nextOf(at, answer.location, errand.allowedHosts)
  }
  throw refusal(url, `it redirects more than ${EGRESS_REDIRECTS_MAX} times`)
}

function nextOf(at: URL, location: string, allowedHosts: readonly string[]): URL {
  const target = URL.parse(location, at.href)
  if (target === null) throw refusal(at, 'it redirects to what is no URL')
  if (at.protocol === 'https:' && target.protocol === 'http:') throw refusal(at, 'it redirects from https to http')
  const next = egressUrl(target.href, allowedHosts)
  if (next !== undefined) return next
  throw refusal(at, `it redirects to ${target.hostname.slice(0, 100)}, which is not among the allowed hosts`)
}

/** One request. */
async function ask(url: URL, errand: Errand): Promise<Fetched | { readonly location: string }> {
  const { guard, ended } = errand
  const addresses = await addressesOf(url, errand)
  ended.throwIfAborted()
  const closing = new AbortController()
  const signal = AbortSignal.any([ended, closing.signal])
  const socket = openSocket({
    host: bare(url),
    port: url.protocol === 'https:' ? guard.ports.https : guard.ports.http,
    // The first that answers, and none but those that were looked at.
    lookup: (_host, _options, give) => give(null, [...addresses]),
    autoSelectFamily: true,
    signal,
  })
  try {
    return await abortable(converse(url, socket, { guard, ended: signal }), ended)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw refusal(url, `it could not be reached or broke off (${codeOf(error)})`, error)
  } finally {
    closing.abort()
  }
}

async function addressesOf(url: URL, { guard, ended }: Errand): Promise<readonly LookupAddress[]> {
  const host = bare(url)
  const family = isIP(host)
  const found = family === 0 ? await abortable(resolve(url, guard), ended) : [{ address: host, family }]
  if (found.length === 0) throw refusal(url, 'its name has no address')
  // One that is not public beside others that are is no accident.
  if (found.every(({ address }) => mayConnect(address, guard.allowCidrs))) return found
  throw refusal(url, NOT_PUBLIC)
}

/** The host without the brackets that a URL has around an address. */
function bare({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

async function resolve(url: URL, guard: Guard): Promise<readonly LookupAddress[]> {
  try {
    return await guard.resolve(url.hostname)
  } catch (cause) {
    throw refusal(url, `its name cannot be resolved (${codeOf(cause)})`, cause)
  }
}

/** Which class the address is of would tell a tenant about a network that is none of theirs. */
const NOT_PUBLIC = 'its address is not public'

async function converse(
  url: URL,
  socket: Socket,
  { guard, ended: signal }: Pick<Errand, 'guard' | 'ended'>,
): Promise<Fetched | { readonly location: string }> {
  // What goes wrong later is told by whoever reads from it then.
  socket.on('error', () => undefined)
  await once(socket, 'connect', { signal })
  // What a resolver calls an address and what the system makes of it may be two things: 0.0.0.0 is this machine.
  if (!mayConnect(socket.remoteAddress ?? '', guard.allowCidrs)) throw refusal(url, NOT_PUBLIC)
  const channel = url.protocol === 'https:' ? await secured(url, socket, { ca: guard.ca, signal }) : socket
  const response = await responseOf(url, channel, signal)
  const location = REDIRECTS.includes(response.statusCode ?? 0) ? response.headers.location : undefined
  return location === undefined ? await read(url, response) : { location }
}

const REDIRECTS = [301, 302, 303, 307, 308]

async function secured(
  url: URL,
  socket: Socket,
  { ca, signal }: { ca: string | undefined; signal: AbortSignal },
): Promise<TLSSocket> {
  const host = bare(url)
  const channel = openTls({
    socket,
    host,
    // An address has no place in the greeting, and is looked for in the certificate all the same.
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    // Said here, as the environment could say otherwise.
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
  })
  channel.on('error', () => undefined)
  await once(channel, 'secureConnect', { signal })
  return channel
}

function responseOf(url: URL, channel: Socket, signal: AbortSignal): Promise<IncomingMessage> {
  const asked = request({
    createConnection: () => channel,
    path: `${url.pathname}${url.search}`,
    headers: { host: url.host, 'user-agent': 'Platen', accept: '*/*', 'accept-encoding': 'identity' },
    maxHeaderSize: EGRESS_HEADER_BYTES_MAX,
    signal,
  })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  asked.on('response', resolve)
  // Another protocol is an answer like others, of a status that is refused.
  asked.on('upgrade', resolve)
  asked.on('error', reject)
  asked.end()
  return promise
}

async function read(url: URL, response: IncomingMessage): Promise<Fetched> {
  const { statusCode, headers } = response
  if (statusCode !== 200) throw refusal(url, `it answered with the status ${statusCode}`)
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity') throw refusal(url, 'it answered compressed, which it was not asked for')
  const tooLarge = () => refusal(url, `it gave more than ${EGRESS_BYTES_MAX} bytes`)
  if (Number(headers['content-length']) > EGRESS_BYTES_MAX) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > EGRESS_BYTES_MAX) throw tooLarge()
    chunks.push(chunk)
  }
  if (bytes === 0) throw refusal(url, 'it answered with nothing')
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  return { bytes: Buffer.concat(chunks), type: type.trim().toLowerCase() }
}

/** Node's word for what went wrong; its messages name addresses. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'no reason given'
}
