/**
 * Sockets to wherever a tenant says, and no further than they may lead. Names come from tenants, who own the zones they are in: so
 * the addresses of a name are looked at once, the connection is made to those and no others, and what it has come to is looked at
 * again before a byte is sent. A URL that holds an address is judged like a name that leads there. No proxy is known.
 */
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { type SecureContext, connect as secure } from 'node:tls'
import { type Cidr, mayConnect } from '@platen/contract/address.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { hostOf } from '@platen/contract/webhook-url.ts'

export interface Guard {
  /** Blocks of addresses that are connected to though they are not public. */
  readonly allowCidrs: readonly Cidr[]
  /** All addresses of a name. */
  readonly resolve: Resolve
  /** What stands for the ports 80 and 443, where a URL names none. */
  readonly ports: Ports
  /** The certificates to trust; absent = those Node brings along. */
  readonly trust?: SecureContext | undefined
}

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

export interface Ports {
  readonly http: number
  readonly https: number
}

export const USUAL_PORTS: Ports = { http: 80, https: 443 }

/** How far it came: no address, one that may not be connected to, no connection, no secure one. */
type Obstacle = 'dns' | 'blocked' | 'connection' | 'tls'

/** There is no such socket. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  readonly obstacle: Obstacle
  /** Node's word for it, which names no address as its messages do. */
  readonly code: string

  constructor(obstacle: Obstacle, code: string, options?: ErrorOptions) {
    super(`${obstacle}: ${code}`, options)
    this.obstacle = obstacle
    this.code = code
  }
}

/**
 * A socket connected to the host of a URL, with a handshake behind it where the scheme is https. Its errors are listened for: whoever
 * reads from it learns of them then. Throws `UnreachableError`, or the signal's reason when that aborts first; nothing stays open then.
 */
export async function openCheckedSocket(url: URL, guard: Guard, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const addresses = await addressesOf(host, guard, signal)
  const isSecure = url.protocol === 'https:'
  const socket = connect({
    host,
    port: url.port === '' ? guard.ports[isSecure ? 'https' : 'http'] : Number(url.port),
    // The first that answers, and none but those that were looked at.
    lookup: (_host, _options, give) => give(null, [...addresses]),
    autoSelectFamily: true,
    noDelay: true,
  })
  socket.on('error', () => undefined)
  try {
    await reached(socket, { event: 'connect', obstacle: 'connection', signal })
    // What a resolver calls an address and what the system makes of it may be two things: 0.0.0.0 is this machine.
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
  // One that is not public beside others that are is no accident.
  if (found.every(({ address }) => mayConnect(address, guard.allowCidrs))) return found
  throw new UnreachableError('blocked', 'EACCES')
}

async function resolved(host: string, { resolve }: Guard, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  try {
    return await raceAbort(resolve(host), signal)
  } catch (cause) {
    signal.throwIfAborted()
    throw new UnreachableError('dns', codeOf(cause), { cause })
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
    // An address has no place in the greeting, and is looked for in the certificate all the same.
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    // Said here, as the environment could say otherwise.
    rejectUnauthorized: true,
    ...(trust !== undefined && { secureContext: trust }),
  })
  channel.on('error', () => undefined)
  await reached(channel, { event: 'secureConnect', obstacle: 'tls', signal })
  return channel
}

interface Wait {
  readonly event: string
  readonly obstacle: Obstacle
  readonly signal: AbortSignal
}

async function reached(socket: Socket, { event, obstacle, signal }: Wait): Promise<void> {
  try {
    await once(socket, event, { signal })
  } catch (cause) {
    signal.throwIfAborted()
    throw new UnreachableError(obstacle, codeOf(cause), { cause })
  }
}

/** Node's word for what went wrong; its messages name addresses. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no reason given'
}
