/**
 * Every refusal in one shape: `{error: {code, message, request_id, details?}}`. What is thrown on purpose carries a catalogued
 * code; a port that cannot be reached is `RENDER_UNAVAILABLE`; anything else is a defect of ours, whose message stays inside.
 */
import {
  type ErrorDetail,
  type Fault,
  HTTP_ERRORS,
  type HttpErrorCode,
  isHttpErrorCode,
  ServiceError,
} from '@platen/contract/error.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from '@platen/contract/limit.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { ErrorBody } from '@platen/contract/schema/response.ts'

export interface Problem {
  readonly status: number
  readonly code: HttpErrorCode
  readonly fault: Fault
  readonly message: string
  readonly details: readonly ErrorDetail[]
  readonly headers: Readonly<Record<string, string>>
  /** What an operator must see of it: the error itself of a defect, the cause where a port failed us. */
  readonly incident?: unknown
}

/** The refusal that an error thrown by a route or a hook stands for. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ServiceError && isHttpErrorCode(error.code)) {
    const { code, fault, message, details, headers, cause } = error
    return { status: HTTP_ERRORS[code].status, code, fault, message, details, headers, incident: cause }
  }
  if (isUnavailable(error)) return problemOf(unavailable(error))
  return problemOf(
    new ServiceError('INTERNAL_ERROR', 'The service hit a defect; it has been logged.', { cause: error }),
  )
}

/** Is it for the caller to mend? */
export function isRefusal(error: unknown): boolean {
  return problemOf(error).status < HTTP_ERRORS.INTERNAL_ERROR.status
}

/** The body of an answer that refuses. */
export function problemBody({ code, message, details }: Problem, requestId: string): ErrorBody {
  const error = { code, message, request_id: requestId }
  return { error: details.length === 0 ? error : { ...error, details: [...details] } }
}

/** The refusal of whoever could not reach a port. */
export function unavailable(cause?: unknown): ServiceError {
  return new ServiceError('RENDER_UNAVAILABLE', 'The service cannot take this request just now; try again shortly.', {
    headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` },
    ...(cause !== undefined && { cause }),
  })
}

/** The refusal of a request that is not as its schema says: its message names the first fault, and its details name all. */
export function malformed(details: readonly ErrorDetail[]): ServiceError {
  const [{ path, message } = { path: '', message: 'is not acceptable' }] = details
  return new ServiceError('INVALID_PAYLOAD', `The request is malformed: ${path || 'the body'} ${message}.`, { details })
}

/** Did a port not answer, or not in the time it was given? */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Unavailable || (error instanceof DOMException && error.name === 'TimeoutError')
}

/** Logs that something was missed which nobody has to have. A store that is away is told of once, by who watches it, and not with each request. */
export function logTolerated(
  log: Log,
  fields: { readonly err: unknown; readonly [name: string]: unknown },
  message: string,
): void {
  if (isUnavailable(fields.err)) log.debug(fields, message)
  else log.warn(fields, message)
}
