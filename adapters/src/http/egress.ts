/**
 * The guarded HTTP client for assets of templates. Tenants choose the servers, so every part of a response has a limit, and each request
 * has its own checked socket.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { assetUnavailable, egressUrl } from '@platen/contract/domain/egress-url.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { hostOf, isInternalName } from '@platen/contract/domain/webhook-url.ts'
import type { Egress, FetchedFile } from '@platen/contract/port/egress.ts'
import type { Cidr } from '@platen/lib/address.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { readBounded } from '@platen/lib/read-bounded.ts'
import {
  failureCodeOf,
  type Guard,
  openCheckedSocket,
  type Ports,
  type Resolve,
  UnreachableError,
  USUAL_PORTS,
} from './checked-socket.ts'
import { EGRESS_BYTES_MAX, EGRESS_MS_MAX, EGRESS_REDIRECTS_MAX } from './limit.ts'
import { resolveName } from './resolve-name.ts'

const KIB = 1024
/** Headers of one answer, in bytes. */
const EGRESS_HEADER_BYTES_MAX = 16 * KIB

// An `import` would load all of undici, too.
const { request } = process.getBuiltinModule('node:http')

export interface EgressOptions {
  readonly clock: Clock
  /** Address blocks that may be called although they are not public. */
  readonly allowCidrs?: readonly Cidr[]
  /** Default: `resolveName`. */
  readonly resolve?: Resolve
  /** The ports of URLs that name none; default: 80 and 443. */
  readonly ports?: Ports
  /** Certificates to trust, as PEM; default: those of Node. */
  readonly ca?: string
}

/** Opens no connection. Time limits use the given clock. */
export function httpEgress({ clock, ca, ...options }: EgressOptions): Egress {
  const guard: Guard = {
    allowCidrs: [],
    resolve: resolveName,
    ports: USUAL_PORTS,
    trust: ca === undefined ? undefined : createSecureContext({ ca }),
    ...options,
  }
  return {
    async get(text, allowedHosts, signal) {
      const url = egressUrl(text, allowedHosts)
      if (url === undefined)
        throw new ServiceError('asset_unavailable', 'the host of the URL is not among the allowed hosts')
      const limit = clock.timeout(EGRESS_MS_MAX)
      try {
        return await followRedirects(url, { guard, allowedHosts, ended: AbortSignal.any([signal, limit]) })
      } catch (error) {
        signal.throwIfAborted()
        if (limit.aborted) throw assetUnavailable(url, `it took longer than ${EGRESS_MS_MAX / 1000} seconds`, error)
        throw error
      }
    },
  }
}

interface FetchContext {
  readonly guard: Guard
  readonly allowedHosts: readonly string[]
  readonly ended: AbortSignal
}

async function followRedirects(url: URL, context: FetchContext): Promise<FetchedFile> {
  let at = url
  for (let redirects = 0; redirects <= EGRESS_REDIRECTS_MAX; redirects += 1) {
    const result = await fetchOnce(at, context)
    if (!('location' in result)) return result
    at = redirectTarget(at, result.location, context.allowedHosts)
  }
  throw assetUnavailable(url, `it redirects more than ${EGRESS_REDIRECTS_MAX} times`)
}

function redirectTarget(at: URL, location: string, allowedHosts: readonly string[]): URL {
  const target = URL.parse(location, at.href)
  if (target === null) throw assetUnavailable(at, 'it redirects to an invalid URL')
  if (at.protocol === 'https:' && target.protocol === 'http:')
    throw assetUnavailable(at, 'it redirects from https to http')
  const next = egressUrl(target.href, allowedHosts)
  if (next !== undefined) return next
  throw assetUnavailable(at, `it redirects to ${target.hostname.slice(0, 100)}, which is not among the allowed hosts`)
}

async function fetchOnce(
  url: URL,
  { guard, ended }: FetchContext,
): Promise<FetchedFile | { readonly location: string }> {
  let channel: Socket | undefined
  try {
    channel = await openCheckedSocket(url, guard, ended)
    return await raceAbort(sendRequest(url, channel, ended), ended)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw assetUnavailable(url, reasonOf(url, error), error)
  } finally {
    channel?.destroy()
  }
}

/** The same text for internal names that exist and for names that do not. Else a tenant could find out internal names one by one. */
const NOWHERE = 'it does not lead to a public address'

function reasonOf(url: URL, error: unknown): string {
  const failedStep = error instanceof UnreachableError ? error.failedStep : 'connection'
  const code = failureCodeOf(error)
  switch (failedStep) {
    case 'blocked':
      return NOWHERE
    case 'dns':
      // If the servers of a public name do not answer, its owner must fix that.
      return isInternalName(hostOf(url)) || NO_SUCH_NAME.includes(code)
        ? NOWHERE
        : `its name cannot be resolved (${code})`
    case 'connection':
    case 'tls':
      return `it could not be reached, or the connection broke (${code})`
  }
}

const NO_SUCH_NAME = ['ENOTFOUND', 'ENODATA']

async function sendRequest(
  url: URL,
  channel: Socket,
  signal: AbortSignal,
): Promise<FetchedFile | { readonly location: string }> {
  const response = await responseOf(url, channel, signal)
  const location = REDIRECTS.includes(response.statusCode ?? 0) ? response.headers.location : undefined
  return location === undefined ? await readFile(url, response) : { location }
}

const REDIRECTS = [301, 302, 303, 307, 308]

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
  // A switch to another protocol arrives as a response; its status is then refused.
  asked.on('upgrade', resolve)
  asked.on('error', reject)
  asked.end()
  return promise
}

async function readFile(url: URL, response: IncomingMessage): Promise<FetchedFile> {
  const { statusCode, headers } = response
  if (statusCode !== 200) throw assetUnavailable(url, `it answered with the status ${statusCode}`)
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity')
    throw assetUnavailable(url, 'it answered with a Content-Encoding that was not requested')
  const tooLarge = () => assetUnavailable(url, `it answered with more than ${EGRESS_BYTES_MAX} bytes`)
  if (Number(headers['content-length']) > EGRESS_BYTES_MAX) throw tooLarge()
  const bytes = await readBounded(response, EGRESS_BYTES_MAX)
  if (bytes === undefined) throw tooLarge()
  if (bytes.length === 0) throw assetUnavailable(url, 'it answered with an empty body')
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  return { bytes, type: type.trim().toLowerCase() }
}
