/**
 * Calls webhook receivers. A tenant can put any server behind a URL. So every socket is checked, every part of a response has a limit,
 * and a connection is reused only under the list of address blocks for which it was opened. This module makes the call;
 * `connection-pool.ts` holds the limits of the wire.
 */
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import type { Cidr } from '@platen/contract/address.ts'
import type { AttemptResult } from '@platen/contract/delivery.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { WebhookRequest, WebhookResponse, WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { hostOf, type WebhookPolicy, webhookUrlFault } from '@platen/contract/webhook-url.ts'
import { errors } from 'undici'
import {
  failureCodeOf,
  type Guard,
  openCheckedSocket,
  type Ports,
  type Resolve,
  UnreachableError,
  USUAL_PORTS,
} from './checked-socket.ts'
import { type ConnectionPool, connectionOver, openConnectionPool } from './connection-pool.ts'
import { excerptOf } from './excerpt.ts'
import { beginExchange, type Exchange, type Head } from './exchange.ts'
import { WEBHOOK_ATTEMPT_MS_MAX, WEBHOOK_EXCERPT_MS_MAX } from './limit.ts'
import { resolveName } from './resolve-name.ts'

export interface WebhookSenderOptions {
  readonly clock: Clock
  readonly policy: WebhookPolicy
  /** Returns certificates to trust in addition to those of Node, as PEM. They may change. */
  readonly ca?: () => string | undefined
  /** Resolves all addresses of a name; default: `resolveName`. */
  readonly resolve?: Resolve
  /** The ports of URLs that name none; by default 80 and 443. */
  readonly ports?: Ports
}

/** Makes a sender. Opens nothing before the first call. Time limits use the given clock. Disposal ends the calls under way. */
export function webhookSender({ clock, policy, ca, ...options }: WebhookSenderOptions): WebhookSender {
  const trustOf = lastTrust()
  const guard = { resolve: resolveName, ports: USUAL_PORTS, ...options }
  const pool = openConnectionPool()
  const underWay = new Set<AbortController>()
  return {
    async post(request, signal) {
      signal.throwIfAborted()
      const allowCidrs = [...policy.allowCidrs, ...request.allowCidrs]
      const fault = webhookUrlFault(request.url, { ...policy, allowCidrs })
      if (fault !== undefined) return { result: 'blocked', message: `the webhook URL ${fault}` }
      const url = new URL(request.url)
      const ended = new AbortController()
      const onAbort = () => ended.abort(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      underWay.add(ended)
      try {
        return await call({ url, request, guard: { ...guard, trust: trustOf(ca?.()), allowCidrs }, pool, clock, ended })
      } catch (error) {
        signal.throwIfAborted()
        return failureResponse(error, hostOf(url))
      } finally {
        signal.removeEventListener('abort', onAbort)
        underWay.delete(ended)
        // Ends the timers that still run. Without a reason, a stack trace would be made for each call.
        ended.abort(OVER)
      }
    },
    async [Symbol.asyncDispose]() {
      for (const ended of underWay) ended.abort(new CallError('connection', 'the call was aborted'))
      pool.destroy()
    },
  }
}

/** Makes a context for each change of the certificates: to make one takes longer than a call. */
function lastTrust(): (ca: string | undefined) => SecureContext | undefined {
  let last: { readonly ca: string; readonly trust: SecureContext } | undefined
  return (ca) => {
    if (ca === undefined) return undefined
    if (last?.ca !== ca) last = { ca, trust: createSecureContext({ ca: [...getCACertificates(), ca] }) }
    return last.trust
  }
}

const OVER = 'the call is over'

interface CallContext {
  readonly url: URL
  readonly request: WebhookRequest
  readonly guard: Guard
  readonly pool: ConnectionPool
  readonly clock: Clock
  /** Aborts when the call must end, whatever its state. */
  readonly ended: AbortController
}

async function call(context: CallContext): Promise<WebhookResponse> {
  const { url, clock, ended, pool } = context
  let head: Head | undefined
  const limit = () => {
    const seconds = WEBHOOK_ATTEMPT_MS_MAX / 1000
    if (head === undefined) ended.abort(new CallError('timeout', `it did not answer within ${seconds} seconds`))
  }
  clock.sleep(WEBHOOK_ATTEMPT_MS_MAX, ended.signal).then(limit, () => undefined)
  const exchange = await exchangeOf(context)
  head = await exchange.head
  // From here on there is a response. Nothing changes it any more, not even the caller's signal.
  if (!exchange.hasEnded()) {
    const enough = clock.sleep(WEBHOOK_EXCERPT_MS_MAX, ended.signal).catch(() => undefined)
    await Promise.race([exchange.stopped, enough])
  }
  const { connection } = exchange
  if (exchange.hasEnded() && !ended.signal.aborted) pool.release(connection)
  else connection.socket.destroy()
  return read(head, exchange.body(), hostOf(url))
}

function read({ statusCode, headers }: Head, body: Uint8Array, host: string): WebhookResponse {
  const retryAfter = firstValue(headers['retry-after'])
  const excerpt = excerptOf(body, firstValue(headers['content-encoding']))
  const isOk = statusCode >= 200 && statusCode < 300
  return {
    result: isOk ? 'ok' : 'status',
    statusCode,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(excerpt !== undefined && { excerpt }),
    ...(!isOk && { message: `${host}: it answered with the status ${statusCode}` }),
  }
}

function firstValue(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

/** Sends the request and waits for the response head: on an idle connection of the pool, else on a new one. */
async function exchangeOf(context: CallContext): Promise<Exchange> {
  const { url, request, guard, pool, ended } = context
  const key = keyOf(url, request.allowCidrs)
  const connection = pool.acquire(key)
  if (connection !== undefined) {
    const exchange = beginExchange(connection, { url, request })
    try {
      return await awaitHead(exchange, ended.signal)
    } catch (error) {
      ended.signal.throwIfAborted()
      // The receiver closed the idle connection, and we notice only now. It may have read the request: twice is allowed, never is not.
      if (exchange.hasBegun()) throw error
    }
  }
  const socket = await openCheckedSocket(url, guard, ended.signal)
  const fresh = connectionOver(socket, { key, origin: url.origin })
  return await awaitHead(beginExchange(fresh, { url, request }), ended.signal)
}

/** The key of a connection: its origin and the tenant's allowed blocks. The blocks of the installation never change. */
function keyOf({ origin }: URL, allowCidrs: readonly Cidr[]): string {
  return [origin, ...allowCidrs.map(({ start, prefix }) => `${start}/${prefix}`)].join(' ')
}

async function awaitHead(exchange: Exchange, signal: AbortSignal): Promise<Exchange> {
  try {
    await raceAbort(exchange.head, signal)
    return exchange
  } catch (error) {
    exchange.connection.socket.destroy()
    throw error
  }
}

/** A call without a response, ended by our own limits. */
class CallError extends Error {
  override readonly name = 'CallError'
  readonly result: AttemptResult

  constructor(result: AttemptResult, message: string) {
    super(message)
    this.result = result
  }
}

/** The failed step, for people. It does not name the class of an address: that would tell a tenant about a foreign network. */
const OBSTACLES = {
  dns: 'its name cannot be resolved',
  blocked: 'it does not lead to a public address',
  connection: 'it could not be reached, or the connection broke',
  tls: 'the TLS handshake with it failed',
} as const

/** The result of a call without a response. Rethrows errors that are our own defects. */
function failureResponse(error: unknown, host: string): WebhookResponse {
  const failed = (result: AttemptResult, what: string) => ({ result, message: `${host}: ${what}` })
  const code = failureCodeOf(error)
  if (error instanceof CallError) return failed(error.result, error.message)
  if (error instanceof UnreachableError) {
    const { obstacle } = error
    return failed(obstacle, obstacle === 'blocked' ? OBSTACLES.blocked : `${OBSTACLES[obstacle]} (${code})`)
  }
  if (
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.ResponseContentLengthMismatchError
  ) {
    return failed('protocol', `its answer is not valid HTTP (${error.message})`)
  }
  if (error instanceof errors.SocketError) {
    // Only the message distinguishes these.
    switch (error.message) {
      case 'bad upgrade':
        return { statusCode: 101, ...failed('status', 'it answered with the status 101') }
      case 'bad response':
        return failed('protocol', 'it answered 100 Continue without being asked to')
      default:
        return failed('connection', 'it closed the connection without an answer')
    }
  }
  if (/^ERR_(SSL|TLS)_/.test(code)) return failed('tls', `${OBSTACLES.tls} (${code})`)
  if (/^E[A-Z]+$/.test(code)) return failed('connection', `${OBSTACLES.connection} (${code})`)
  throw error
}
