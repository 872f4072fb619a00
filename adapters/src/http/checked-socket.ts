/**
 * Sockets to hosts that tenants choose, connected only to permitted addresses. Tenants may own the DNS zones of these hosts. So a name is
 * resolved once, the socket connects to the checked addresses only, and the address of the peer is checked again before a byte is sent. An
 * address in a URL is checked in the same way. Proxies are not supported.
 */

import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { type SecureContext, connect as secure } from 'node:tls'
import { hostOf } from '@platen/contract/domain/webhook-url.ts'
import { type Cidr, mayConnect } from '@platen/lib/address.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { codeOf } from '@platen/lib/thrown.ts'

export interface Guard {
  /** Address blocks that may be called although they are not public. */
  readonly allowCidrs: readonly Cidr[]
  readonly resolve: Resolve
  /** The ports of URLs that name none. */
  readonly ports: Ports
  /** The certificates to trust; absent = those of Node. */
  readonly trust?: SecureContext | undefined
}

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

export interface Ports {
  readonly http: number
  readonly https: number
}

export const USUAL_PORTS: Ports = { http: 80, https: 443 }

type ConnectStep = 'dns' | 'blocked' | 'connection' | 'tls'

export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  readonly failedStep: ConnectStep
  /** Node's error code. Unlike Node's messages it holds no address. */
  readonly code: string

  constructor(failedStep: ConnectStep, code: string, options?: ErrorOptions) {
    super(`${failedStep}: ${code}`, options)
    this.failedStep = failedStep
    this.code = code
  }
}

/**
 * Opens a socket to the host of a URL, with a completed TLS handshake for https. The socket has an error listener, so an error only
 * reaches the code that reads from it. Throws `UnreachableError`, or the signal's reason when that aborts first; then no socket stays
 * open.
 */
export async function openCheckedSocket(url: URL, guard: Guard, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const addresses = await addressesOf(host, guard, signal)
  const isSecure = url.protocol === 'https:'
  const socket = connect({
    host,
    port: url.port === '' ? guard.ports[isSecure ? 'https' : 'http'] : Number(url.port),
    // Tries the checked addresses only, and takes the first that answers.
    lookup: (_host, _options, give) => give(null, [...addresses]),
    autoSelectFamily: true,
    noDelay: true,
  })
  socket.on('error', () => undefined)
  try {
    await reached(socket, { event: 'connect', failedStep: 'connection', signal })
    // The system may connect to another address than the resolver returned: 0.0.0.0 is this machine.
    if (!mayConnect(socket.remoteAddress ?? '', guard.allowCidrs)) throw new UnreachableError('blocked', 'EACCES')
    return isSecure ? await secured(socket, { host, trust: guard.trust, signal }) : socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function addressesOf(host: string, guard: Guard, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  const family = isIP(host)
  const found = family === 0 ? await resolved(host, guard, signal) : [{ address: host, family }]
  if (found.length === 0) throw new UnreachableError('dns', 'ENODATA')
  // A non-public address among public ones is no accident, so one such address refuses all.
  if (found.every(({ address }) => mayConnect(address, guard.allowCidrs))) return found
  throw new UnreachableError('blocked', 'EACCES')
}

async function resolved(host: string, { resolve }: Guard, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  try {
    return await raceAbort(resolve(host), signal)
  } catch (cause) {
    signal.throwIfAborted()
    throw new UnreachableError('dns', failureCodeOf(cause), { cause })
  }
}

interface Secured {
  readonly host: string
  readonly trust: SecureContext | undefined
  readonly signal: AbortSignal
}

async function secured(socket: Socket, { host, trust, signal }: Secured): Promise<Socket> {
  const channel = secure({
    socket,
    host,
    // TLS does not allow an address as server name. Node still compares it with the certificate.
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    // Set explicitly, as an environment variable could turn it off.
    rejectUnauthorized: true,
    ...(trust !== undefined && { secureContext: trust }),
  })
  channel.on('error', () => undefined)
  await reached(channel, { event: 'secureConnect', failedStep: 'tls', signal })
  return channel
}

interface Wait {
  readonly event: string
  readonly failedStep: ConnectStep
  readonly signal: AbortSignal
}

async function reached(socket: Socket, { event, failedStep, signal }: Wait): Promise<void> {
  try {
    await once(socket, event, { signal })
  } catch (cause) {
    signal.throwIfAborted()
    throw new UnreachableError(failedStep, failureCodeOf(cause), { cause })
  }
}

/** Returns no message, since Node's messages contain addresses. */
export function failureCodeOf(error: unknown): string {
  return codeOf(error) ?? 'no reason given'
}
