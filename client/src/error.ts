import type { ErrorCode, ErrorDetail, ErrorReason, FailureCode } from './wire.ts'

/** Codes of the client itself, which the service never sends. */
export type LocalCode =
  /** The service could not be reached, or the connection broke. */
  | 'NETWORK_ERROR'
  /** The call took longer than its `timeoutMs`. */
  | 'TIMED_OUT'
  /** The answer is not in the form of the service. It came from a proxy or from another server. */
  | 'INVALID_ANSWER'

/** Upper-case codes belong to a call, lower-case codes to a failed render. A newer service may send codes that are not listed here. */
export type PlatenErrorCode = ErrorCode | FailureCode | LocalCode

/** Finer than the code. A newer service may send reasons that are not listed here. */
export type PlatenErrorReason = ErrorReason | FailureCode

/** The same symbol in every copy of this package. */
const KIND = Symbol.for('@platen/client/error')

/**
 * All copies of this package in a program share the classes for `instanceof`: its ESM and CommonJS builds are two copies, and a dependency
 * may bring another. A caller's subclass is a class of its own.
 */
export abstract class SharedError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this.prototype, KIND)) return super[Symbol.hasInstance](value)
    return typeof value === 'object' && value !== null && Reflect.get(value, KIND) === Reflect.get(this.prototype, KIND)
  }

  /** `kind` names this class in every copy. */
  protected static share(kind: string): void {
    Object.defineProperty(this.prototype, KIND, { value: kind })
  }
}

export interface PlatenErrorFields {
  readonly code: PlatenErrorCode
  readonly reason?: PlatenErrorReason | undefined
  readonly message: string
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly renderId?: string | undefined
  readonly details?: readonly ErrorDetail[] | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** The error of every failed call. One exception: when the caller's own signal aborts, the call rejects with the signal's reason. */
export class PlatenError extends SharedError {
  static {
    this.share('PlatenError')
  }

  override readonly name = 'PlatenError'
  readonly code: PlatenErrorCode
  /** Finer than the code. Undefined when the service did not answer, or is of a version without reasons. */
  readonly reason: PlatenErrorReason | undefined
  /** HTTP status. Undefined when there was no answer, or when the render failed after it was accepted. */
  readonly status: number | undefined
  /** The id to give to the operator of the service when asking about this error. */
  readonly requestId: string | undefined
  /** The render that failed or that the call was about. */
  readonly renderId: string | undefined
  /** The invalid fields of the request, in the spelling of the service. Empty if the service named none. */
  readonly details: readonly ErrorDetail[]
  /** How long the service asks callers to wait before the next attempt. */
  readonly retryAfterSeconds: number | undefined

  constructor(fields: PlatenErrorFields) {
    const { code, reason, message, status, requestId, renderId, details, retryAfterSeconds, cause } = fields
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.reason = reason
    this.status = status
    this.requestId = requestId
    this.renderId = renderId
    this.details = details ?? []
    this.retryAfterSeconds = retryAfterSeconds
  }
}
