import { codeOf, isBrokenConnection } from '@platen/lib/thrown.ts'
import { isRecord } from './object.ts'

/**
 * A failed request to the API server. `status` is the HTTP status, or 0 when no complete answer came; then it is unknown whether the
 * request took effect. `reason` is the reason of the API server (`Conflict`, `Expired`, `NotFound`), or ours. Neither `reason` nor the
 * message quotes an object, except for field names.
 */
export class ClusterError extends Error {
  override readonly name = 'ClusterError'
  readonly status: number
  readonly reason: string
  /** The wait that the API server asks for before the next request. */
  readonly retryAfterMs: number | undefined

  constructor(label: string, failure: Failure, options?: ErrorOptions) {
    super(`${label}: ${failure.status === 0 ? 'no answer' : failure.status}, ${failure.reason}`, options)
    this.status = failure.status
    this.reason = failure.reason
    this.retryAfterMs = failure.retryAfterMs
  }
}

/** Somebody else created or changed the object meanwhile. */
export function isConflict(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 409
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 404
}

interface Failure {
  readonly status: number
  readonly reason: string
  readonly retryAfterMs?: number | undefined
}

export function errorFromAnswer(label: string, answer: ErrorAnswer): ClusterError {
  const { status, headers, body } = answer
  const { reason, fields } = statusOf(body)
  const where = fields.length === 0 ? '' : ` (${fields.join(', ')})`
  return new ClusterError(`${label}${where}`, { status, reason, retryAfterMs: retryAfterMsOf(headers) })
}

/** For a request that was not answered, or not completely. */
export function errorFromFailure(label: string, thrown: unknown, onBroken: () => void = () => undefined): ClusterError {
  // The error of `fetch` says only that it failed.
  const cause = thrown instanceof TypeError && thrown.cause !== undefined ? thrown.cause : thrown
  const reason = codeOf(cause) ?? 'ConnectionFailed'
  // undici's own codes for a connection that ended too soon, or was not there in time.
  if (isBrokenConnection(cause) || /^UND_ERR_(SOCKET|CONNECT_TIMEOUT)$/.test(reason)) onBroken()
  return new ClusterError(label, { status: 0, reason }, { cause })
}

type Headers = Readonly<Record<string, string>>

interface ErrorAnswer {
  readonly status: number
  readonly headers: Headers
  /** Usually a `Status`. */
  readonly body: unknown
}

/** Fields named in one error. The first few are enough to find the fault. */
const FIELDS_NAMED_MAX = 5

/** Leaves out the `message` of the `Status`: for a refused object it quotes the values, which may be secret. */
function statusOf(body: unknown): { readonly reason: string; readonly fields: readonly string[] } {
  if (!isRecord(body) || body['kind'] !== 'Status') return { reason: 'Unspecified', fields: [] }
  const { reason, details } = body
  const causes = isRecord(details) && Array.isArray(details['causes']) ? details['causes'] : []
  const fields = causes.flatMap((cause: unknown) =>
    isRecord(cause) && typeof cause['field'] === 'string' ? [cause['field']] : [],
  )
  return { reason: typeof reason === 'string' ? reason : 'Unspecified', fields: fields.slice(0, FIELDS_NAMED_MAX) }
}

function retryAfterMsOf(headers: Headers): number | undefined {
  const { 'retry-after': text } = headers
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined
}
