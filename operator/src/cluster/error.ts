/** What the API server refuses, and how it fails. */
import type { IncomingHttpHeaders } from 'node:http'
import { isRecord } from './object.ts'

/**
 * A request that came to nothing. `status` is that of HTTP, or 0 when no whole answer came: whether the request took effect is
 * unknown then. `reason` is the API server's one word for it (`Conflict`, `Expired`, `NotFound`), or ours. Neither it nor the message
 * repeats anything of an object but the names of its fields.
 */
export class ClusterError extends Error {
  override readonly name = 'ClusterError'
  readonly status: number
  readonly reason: string
  /** What the API server asks to wait before the next request. */
  readonly retryAfterMs: number | undefined

  constructor(label: string, failure: Failure, options?: ErrorOptions) {
    super(`${label}: ${failure.status === 0 ? 'no answer' : failure.status}, ${failure.reason}`, options)
    this.status = failure.status
    this.reason = failure.reason
    this.retryAfterMs = failure.retryAfterMs
  }
}

export interface Failure {
  readonly status: number
  readonly reason: string
  readonly retryAfterMs?: number | undefined
}

/** The same of an answer of the API server. */
export function errorFromAnswer(label: string, answer: ErrorAnswer): ClusterError {
  const { status, headers, body } = answer
  const { reason, fields } = statusOf(body)
  const where = fields.length === 0 ? '' : ` (${fields.join(', ')})`
  return new ClusterError(`${label}${where}`, { status, reason, retryAfterMs: retryAfterMsOf(headers) })
}

interface ErrorAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** A `Status`, as a rule. */
  readonly body: unknown
}

/** Fields named in one error: the first are enough to look. */
const FIELDS_NAMED_MAX = 5

/** Its `message` is left out: that of a refused object quotes its values, and they may be secret. */
function statusOf(body: unknown): { readonly reason: string; readonly fields: readonly string[] } {
  if (!isRecord(body) || body['kind'] !== 'Status') return { reason: 'Unspecified', fields: [] }
  const { reason, details } = body
  const causes = isRecord(details) && Array.isArray(details['causes']) ? details['causes'] : []
  const fields = causes.flatMap((cause: unknown) =>
    isRecord(cause) && typeof cause['field'] === 'string' ? [cause['field']] : [],
  )
  return { reason: typeof reason === 'string' ? reason : 'Unspecified', fields: fields.slice(0, FIELDS_NAMED_MAX) }
}

function retryAfterMsOf(headers: IncomingHttpHeaders): number | undefined {
  const { 'retry-after': text } = headers
  // The API server says it in seconds.
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined
}
