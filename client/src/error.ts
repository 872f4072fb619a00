import type { ErrorCode, ErrorDetail, FailureCode } from './wire.ts'

/** Faults that the service knows nothing of. */
export type LocalCode =
  /** The service could not be reached, or the connection broke. */
  | 'NETWORK_ERROR'
  /** The call took longer than its `timeoutMs`. */
  | 'TIMED_OUT'
  /** Something answered that does not speak as the service does: a proxy in between, or another server. */
  | 'INVALID_ANSWER'

/** Codes in capitals are of a call, those in small letters of a render that failed. A service newer than this client may have more. */
export type PlatenErrorCode = ErrorCode | FailureCode | LocalCode | (string & {})

export interface PlatenErrorFields {
  readonly code: PlatenErrorCode
  readonly message: string
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly renderId?: string | undefined
  readonly details?: readonly ErrorDetail[] | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** Every way a call fails, but for the abort of the caller's own signal, which rejects with the signal's reason. */
export class PlatenError extends Error {
  override readonly name = 'PlatenError'
  readonly code: PlatenErrorCode
  /** HTTP status; undefined where there was no answer, and for a render that failed after it was accepted. */
  readonly status: number | undefined
  /** What to name when asking the operator of the service about it. */
  readonly requestId: string | undefined
  /** The render that failed, where there is one. */
  readonly renderId: string | undefined
  /** Which fields of the request are at fault; empty where the service names none. */
  readonly details: readonly ErrorDetail[]
  /** How long the service asks to wait before the next try. */
  readonly retryAfterSeconds: number | undefined

  constructor({ code, message, status, requestId, renderId, details, retryAfterSeconds, cause }: PlatenErrorFields) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.requestId = requestId
    this.renderId = renderId
    this.details = details ?? []
    this.retryAfterSeconds = retryAfterSeconds
  }
}
