/**
 * One call of the service: its attempts, the waits between them, and the error it ends with. It repeats only requests that are safe to
 * repeat: reads, and renders, which all carry an `Idempotency-Key`.
 */
import type { Clock } from './clock.ts'
import { PlatenError } from './error.ts'
import { checkedHeaders, checkedKey, checkedRetries } from './fault.ts'
import { fieldOf, parseJson } from './json.ts'
import { toWire } from './spelling.ts'
import type { ErrorDetail } from './wire.ts'

export interface TransportOptions {
  readonly apiKey: string
  readonly fetch: typeof fetch
  readonly retries: number
  /** For all attempts together. */
  readonly timeoutMs: number
  readonly brand: string
  readonly clock: Clock
}

export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** In milliseconds, for all attempts together. */
  readonly timeoutMs?: number | undefined
  /** Absent = as often as the client's other calls. */
  readonly retries?: number | undefined
  /** Sent with each request, also to the host of a `pdfUrl`. Headers that the client sets itself, such as `authorization`, are refused. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface Call<T> extends CallOptions {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly idempotencyKey?: string
  /** Sent as JSON, in the spelling of the service. */
  readonly body?: unknown
  /** Whether the request may be sent again when its result is unknown. */
  readonly isRepeatable: boolean
  /** Absent = as long as the call. */
  readonly attemptMs?: number
  /** Whether the URL comes from an answer of the service. It may point to another host, which gets no API key and may redirect. */
  readonly isForeign?: boolean
  /** Reads the result from a 2xx answer. Any error but `PlatenError` and `ConsumerError` counts as a broken connection. */
  readonly read: (response: Response) => Promise<T>
}

/** Carries, as its cause, what the caller's own code threw while it read an answer. The call ends with that cause. */
export class ConsumerError extends Error {}

/** Rejects with `PlatenError`, with the reason of the caller's signal, or with what the caller's own code threw. */
export type Transport = <T>(call: Call<T>) => Promise<T>

export const VERSION = '0.1.0'

/**
 * Browsers and their workers keep their own header: with ours, Firefox would send a preflight request to a service on another host. Only
 * browsers call themselves Mozilla.
 */
function userAgent(): Readonly<Record<string, string>> {
  const isBrowser = String(fieldOf(fieldOf(globalThis, 'navigator'), 'userAgent')).startsWith('Mozilla/')
  return isBrowser ? {} : { 'user-agent': `platen-client-js/${VERSION}` }
}

/** Each wait between attempts is random, from zero to a bound that doubles up to the maximum. */
const BACKOFF_MS_FIRST = 500
const BACKOFF_MS_MAX = 8000

export function makeTransport(options: TransportOptions): Transport {
  const authorization = `Bearer ${options.apiKey}`
  return async (call) => {
    const { clock } = options
    const retries = checkedRetries(call.retries ?? options.retries)
    const timeoutMs = call.timeoutMs ?? options.timeoutMs
    const endsAt = clock.monotonic() + timeoutMs
    const signals = { caller: call.signal, deadline: clock.timeout(timeoutMs) }
    const signal = AbortSignal.any([...(signals.caller ? [signals.caller] : []), signals.deadline])
    // Built before the first attempt: a header or body that cannot be sent is the caller's mistake, not a network error.
    const init = {
      method: call.method,
      headers: new Headers({
        ...(!call.isForeign && { authorization, ...userAgent() }),
        ...checkedHeaders(call.headers),
        ...(call.idempotencyKey !== undefined && { 'idempotency-key': checkedKey(call.idempotencyKey) }),
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
      }),
      ...(call.body !== undefined && { body: JSON.stringify(toWire(call.body)) }),
      // The service itself never redirects, and the API key must not reach another host.
      redirect: call.isForeign ? 'follow' : 'manual',
    } as const

    for (let failures = 0; ; ) {
      signals.caller?.throwIfAborted()
      const ends = call.attemptMs === undefined ? signal : AbortSignal.any([signal, clock.timeout(call.attemptMs)])
      const outcome = await attempt(call, { ...init, signal: ends }, options)
      if ('value' in outcome) return outcome.value
      const error = callerOrDeadlineError(signals, outcome.error, timeoutMs)
      const isWaiting = error.code === 'IDEMPOTENCY_IN_PROGRESS'
      // Another request with the same key is still running. That is no failure, so only the deadline limits this wait.
      if (!isWaiting) failures += 1
      if (!call.isRepeatable || !isTransient(error) || failures > retries) throw error
      const waitMs = waitBefore(failures, error, clock)
      if (clock.monotonic() + waitMs >= endsAt) throw error
      await clock.sleep(waitMs, signal).catch((cause: unknown) => {
        throw callerOrDeadlineError(signals, networkError(cause), timeoutMs)
      })
    }
  }
}

type AttemptOutcome<T> = { readonly value: T } | { readonly error: PlatenError }

async function attempt<T>(
  call: Call<T>,
  init: RequestInit,
  { fetch, brand, clock }: TransportOptions,
): Promise<AttemptOutcome<T>> {
  try {
    const response = await fetch(call.url, init)
    if (!response.ok) return { error: await readError(response, brand, clock) }
    return { value: await call.read(response) }
  } catch (cause) {
    if (cause instanceof ConsumerError) throw cause.cause
    return { error: cause instanceof PlatenError ? cause : networkError(cause) }
  }
}

interface Signals {
  readonly caller: AbortSignal | undefined
  readonly deadline: AbortSignal
}

/** Returns the error that ends an attempt: the deadline, or its own. Throws the reason of the caller's signal. */
function callerOrDeadlineError({ caller, deadline }: Signals, error: PlatenError, timeoutMs: number): PlatenError {
  if (error.code !== 'NETWORK_ERROR') return error
  caller?.throwIfAborted()
  if (!deadline.aborted) return error
  return new PlatenError({ code: 'TIMED_OUT', message: `no answer within ${timeoutMs} ms`, cause: error.cause })
}

export function networkError(cause: unknown): PlatenError {
  // Runtimes put the real reason in the cause. Their own message, "fetch failed", does not help.
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause
  const reason = inner instanceof Error ? inner.message : String(inner)
  return new PlatenError({ code: 'NETWORK_ERROR', message: `the service could not be reached: ${reason}`, cause })
}

/**
 * Whether the same request can succeed later. 502 and 504 come from a proxy that could not reach the service or did not wait for it: the
 * service has no such answers. If a later version has one, its code says what it means.
 */
function isTransient({ code, status }: PlatenError): boolean {
  if (status === 502 || status === 504) return code === 'INVALID_ANSWER'
  const isEarly = code === 'IDEMPOTENCY_IN_PROGRESS' || code === 'RENDER_NOT_FINISHED'
  return code === 'NETWORK_ERROR' || isEarly || status === 429 || status === 503
}

/** Waits as long as the service asks, plus a random time, so that callers who failed together do not return together. */
function waitBefore(attempt: number, { retryAfterSeconds }: PlatenError, { random }: Clock): number {
  const bound = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** Math.max(attempt - 1, 0))
  return (retryAfterSeconds ?? 0) * 1000 + random() * bound
}

/** Throws when the connection breaks before the end of the body. */
async function readError(response: Response, brand: string, clock: Clock): Promise<PlatenError> {
  const { status, headers } = response
  const text = await response.text()
  const { code, reason, message, details }: Refusal = refusalIn(text) ?? {
    code: 'INVALID_ANSWER',
    message: `status ${status} from something that is not the service`,
  }
  return new PlatenError({
    code,
    reason,
    message,
    status,
    details,
    requestId: headers.get('x-request-id') ?? undefined,
    renderId: headers.get(`x-${brand}-render-id`) ?? undefined,
    retryAfterSeconds: retryAfterOf(headers, clock),
  })
}

interface Refusal {
  readonly code: string
  readonly reason?: string | undefined
  readonly message: string
  readonly details?: readonly ErrorDetail[]
}

function refusalIn(text: string): Refusal | undefined {
  const error = fieldOf(parseJson(text), 'error')
  const [code, message] = [fieldOf(error, 'code'), fieldOf(error, 'message')]
  const [reason, details, requestId] = [
    fieldOf(error, 'reason'),
    fieldOf(error, 'details'),
    fieldOf(error, 'request_id'),
  ]
  // Some proxies send errors of the same form. Only those of the service name the request.
  if (typeof code !== 'string' || typeof message !== 'string' || typeof requestId !== 'string') return undefined
  const known = Array.isArray(details) ? details.filter(isDetail) : []
  return { code, message, details: known, reason: typeof reason === 'string' ? reason : undefined }
}

function isDetail(value: unknown): value is ErrorDetail {
  return typeof fieldOf(value, 'path') === 'string' && typeof fieldOf(value, 'message') === 'string'
}

/** Seconds, or a date, which proxies send (RFC 9110, section 10.2.3). */
function retryAfterOf(headers: Headers, clock: Clock): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - clock.now()) / 1000))
}
