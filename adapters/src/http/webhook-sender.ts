/**
 * Calls webhook receivers. A tenant can put any server behind a URL. So every socket is checked, every part of a response has a limit, and
 * a connection is reused only under the list of address blocks for which it was opened.
 */
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import type { AttemptResult } from '@platen/contract/domain/delivery.ts'
import { hostOf, type WebhookPolicy, webhookUrlFault } from '@platen/contract/domain/webhook-url.ts'
import type { WebhookRequest, WebhookResponse, WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type Deadlines, openDeadlines } from '@platen/lib/deadlines.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
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
import { type Connection, type ConnectionPool, connectionOver, openConnectionPool } from './connection-pool.ts'
import { excerptOf } from './excerpt.ts'
import { beginExchange, type Exchange, type Head } from './exchange.ts'
import { WEBHOOK_ATTEMPT_MS_MAX, WEBHOOK_EXCERPT_MS_MAX } from './limit.ts'
import { resolveName } from './resolve-name.ts'

/** Receivers whose URLs stay parsed and checked. A URL has at most 2,048 characters, so all of them take a few megabytes at most. */
const WEBHOOK_TARGETS_KEPT_MAX = 500

export interface WebhookSenderOptions {
  readonly clock: Clock
  readonly policy: WebhookPolicy
  /** Returns certificates to trust in addition to those of Node, as PEM. They may change. */
  readonly ca?: () => string | undefined
  /** Default: `resolveName`. */
  readonly resolve?: Resolve
  /** The ports of URLs that name none; default: 80 and 443. */
  readonly ports?: Ports
}

/** Opens nothing before the first call. Time limits use the given clock. Disposal ends the calls under way. */
export function webhookSender({ clock, policy, ca, ...options }: WebhookSenderOptions): WebhookSender {
  const trustOf = lastTrust()
  const targetOf = knownTargets(policy)
  const ports = { resolve: resolveName, ports: USUAL_PORTS, ...options }
  const pool = openConnectionPool()
  const attempts = openDeadlines(clock, WEBHOOK_ATTEMPT_MS_MAX)
  const excerpts = openDeadlines(clock, WEBHOOK_EXCERPT_MS_MAX)
  const callsUnderWay = new Set<CallUnderWay>()
  return {
    async post(request, signal) {
      signal.throwIfAborted()
      const target = targetOf(request)
      if ('fault' in target) return { result: 'blocked', message: `the webhook URL ${target.fault}` }
      const guardOf = (): Guard => {
        return { ...ports, trust: trustOf(ca?.()), allowCidrs: [...policy.allowCidrs, ...request.allowCidrs] }
      }
      const underWay = new CallUnderWay()
      const onAbort = () => underWay.end(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      callsUnderWay.add(underWay)
      const limit = attempts.start(() => underWay.end(tooLate()))
      try {
        const exchange = await exchangeOf({ target, request, guardOf, pool, underWay })
        limit[Symbol.dispose]()
        return await answerOf(exchange, { pool, excerpts, host: target.host })
      } catch (error) {
        signal.throwIfAborted()
        return failureResponse(error, target.host)
      } finally {
        limit[Symbol.dispose]()
        signal.removeEventListener('abort', onAbort)
        callsUnderWay.delete(underWay)
      }
    },
    async [Symbol.asyncDispose]() {
      for (const underWay of callsUnderWay) underWay.end(new CallError('connection', 'the call was aborted'))
      for (const limits of [attempts, excerpts]) limits[Symbol.dispose]()
      pool.destroy()
    },
  }
}

interface Target {
  readonly url: URL
  readonly host: string
  /** Connections are reused for equal keys: the origin and the tenant's allowed blocks. The blocks of the installation never change. */
  readonly key: string
}

/**
 * Parses and checks URLs, and remembers the last valid ones: a tenant calls few receivers, many times. Addresses are checked when a socket
 * is opened.
 */
function knownTargets(policy: WebhookPolicy): (request: WebhookRequest) => Target | { readonly fault: string } {
  const known = openLruCache<Target>(WEBHOOK_TARGETS_KEPT_MAX)
  return ({ url: text, allowCidrs }) => {
    const blocks = allowCidrs.map(({ start, prefix }) => `${start}/${prefix}`).join(' ')
    // The number of blocks says where the URL begins. Else a URL that begins like blocks could be mistaken for another URL with these
    // blocks.
    const name = `${allowCidrs.length} ${blocks} ${text}`
    const target = known.get(name)
    if (target !== undefined) return target
    const fault = webhookUrlFault(text, { ...policy, allowCidrs: [...policy.allowCidrs, ...allowCidrs] })
    if (fault !== undefined) return { fault }
    const url = new URL(text)
    return known.set(name, { url, host: hostOf(url), key: `${url.origin} ${blocks}` })
  }
}

class CallUnderWay {
  #ended: { readonly reason: unknown } | undefined
  #onEnd: (reason: unknown) => void = () => undefined

  hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Only the first reason counts. */
  end(reason: unknown): void {
    this.#ended ??= { reason }
    this.#onEnd(this.#ended.reason)
  }

  /** Sets how to end the step that begins now. Ends it at once if the call has ended. */
  step(onEnd: (reason: unknown) => void): void {
    this.#onEnd = onEnd
    if (this.#ended !== undefined) onEnd(this.#ended.reason)
  }
}

/** Makes a new context only when the certificates change: making one takes longer than a call. */
function lastTrust(): (ca: string | undefined) => SecureContext | undefined {
  let last: { readonly ca: string; readonly trust: SecureContext } | undefined
  return (ca) => {
    if (ca === undefined) return undefined
    if (last?.ca !== ca) last = { ca, trust: createSecureContext({ ca: [...getCACertificates(), ca] }) }
    return last.trust
  }
}

interface CallContext {
  readonly target: Target
  readonly request: WebhookRequest
  readonly guardOf: () => Guard
  readonly pool: ConnectionPool
  readonly underWay: CallUnderWay
}

/** Sends the request and waits for the response head. Uses an idle connection of the pool if there is one. */
async function exchangeOf({ target, request, guardOf, pool, underWay }: CallContext): Promise<Exchange> {
  const { url, key } = target
  const begin = (connection: Connection) => {
    const exchange = beginExchange(connection, { url, request })
    underWay.step((reason) => exchange.end(reason))
    return exchange
  }
  const idle = pool.acquire(key)
  if (idle !== undefined) {
    const exchange = begin(idle)
    try {
      return await withHead(exchange)
    } catch (error) {
      // The receiver closed the idle connection, and we notice only now. It may have read the request: twice is allowed, never is not.
      if (underWay.hasEnded() || exchange.hasBegun()) throw error
    }
  }
  const opening = new AbortController()
  underWay.step((reason) => opening.abort(reason))
  const socket = await openCheckedSocket(url, guardOf(), opening.signal)
  return await withHead(begin(connectionOver(socket, { key, origin: url.origin })))
}

async function withHead(exchange: Exchange): Promise<Exchange> {
  try {
    await exchange.head
    return exchange
  } catch (error) {
    exchange.connection.socket.destroy()
    throw error
  }
}

interface AnswerContext {
  readonly pool: ConnectionPool
  readonly excerpts: Deadlines
  readonly host: string
}

/** Once the head has arrived, nothing changes the result, not even the caller's signal. */
async function answerOf(exchange: Exchange, { pool, excerpts, host }: AnswerContext): Promise<WebhookResponse> {
  const { connection } = exchange
  if (!exchange.hasEnded()) {
    using _limit = excerpts.start(() => exchange.end(undefined))
    await exchange.stopped
  }
  if (exchange.hasEnded()) pool.release(connection)
  else connection.socket.destroy()
  return read(await exchange.head, exchange.body(), host)
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

class CallError extends Error {
  override readonly name = 'CallError'
  readonly result: AttemptResult

  constructor(result: AttemptResult, message: string) {
    super(message)
    this.result = result
  }
}

function tooLate(): CallError {
  return new CallError('timeout', `it did not answer within ${WEBHOOK_ATTEMPT_MS_MAX / 1000} seconds`)
}

/** For people. It does not name the class of an address: that would tell a tenant about a foreign network. */
const FAILED_STEPS = {
  dns: 'its name cannot be resolved',
  blocked: 'it does not lead to a public address',
  connection: 'it could not be reached, or the connection broke',
  tls: 'the TLS handshake with it failed',
} as const

/** Rethrows errors that are our own defects. */
function failureResponse(error: unknown, host: string): WebhookResponse {
  const failed = (result: AttemptResult, what: string) => ({ result, message: `${host}: ${what}` })
  const code = failureCodeOf(error)
  if (error instanceof CallError) return failed(error.result, error.message)
  if (error instanceof UnreachableError) {
    const { failedStep } = error
    return failed(failedStep, failedStep === 'blocked' ? FAILED_STEPS.blocked : `${FAILED_STEPS[failedStep]} (${code})`)
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
  if (/^ERR_(SSL|TLS)_/.test(code)) return failed('tls', `${FAILED_STEPS.tls} (${code})`)
  if (/^E[A-Z]+$/.test(code)) return failed('connection', `${FAILED_STEPS.connection} (${code})`)
  throw error
}
