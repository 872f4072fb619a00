/**
 * Every refusal has one format: `{error: {code, reason, message, request_id, details?}}`. An expected error has a catalogued code. An
 * unavailable port is `RENDER_UNAVAILABLE`. Anything else is a defect of ours, and its message is not shown.
 */
import {
  type ErrorDetail,
  type Fault,
  HTTP_ERRORS,
  type HttpErrorCode,
  isHttpErrorCode,
  type Reason,
  ServiceError,
} from '@platen/contract/domain/error.ts'
import { NewerFormat } from '@platen/contract/domain/format.ts'
import type { ErrorBody } from '@platen/contract/schema/response.ts'
import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from './limit.ts'

export interface Problem {
  readonly status: number
  readonly code: HttpErrorCode
  readonly reason: Reason
  readonly fault: Fault
  readonly message: string
  readonly details: readonly ErrorDetail[]
  readonly headers: Readonly<Record<string, string>>
  /** For the operator: the error itself for a defect, the cause for a failed port. */
  readonly incident?: unknown
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ServiceError && isHttpErrorCode(error.code)) {
    const { code, reason, fault, message, details, headers, cause } = error
    return { status: HTTP_ERRORS[code].status, code, reason, fault, message, details, headers, incident: cause }
  }
  if (isUnavailable(error)) return problemOf(unavailable(error))
  return problemOf(
    new ServiceError('INTERNAL_ERROR', 'The service hit a defect; it has been logged.', { cause: error }),
  )
}

export function isRefusal(error: unknown): boolean {
  return problemOf(error).status < HTTP_ERRORS.INTERNAL_ERROR.status
}

export function problemBody({ code, reason, message, details }: Problem, requestId: string): ErrorBody {
  const error = { code, reason, message, request_id: requestId }
  if (details.length === 0) return { error }
  return { error: { ...error, details: details.map((detail) => ({ in: 'body', ...detail })) } }
}

export function unavailable(cause?: unknown): ServiceError {
  return new ServiceError('RENDER_UNAVAILABLE', 'The service cannot take this request just now; try again shortly.', {
    headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` },
    ...(cause !== undefined && { cause }),
  })
}

/** For a request that does not match its schema. The message names the first fault, and the details name all. */
export function malformed(details: readonly ErrorDetail[]): ServiceError {
  const [{ in: part = 'body', path, message } = { path: '', message: 'is not acceptable' }] = details
  const places = {
    body: path || 'the body',
    query: `the query parameter ${path}`,
    header: `the header ${path}`,
    path: `the path parameter ${path}`,
  }
  return new ServiceError('INVALID_PAYLOAD', `The request is malformed: ${places[part]} ${message}.`, { details })
}

/** Whether a port failed to answer, or not in time, or with something that only a newer version can read. */
export function isUnavailable(error: unknown): boolean {
  return (
    error instanceof Unavailable ||
    error instanceof NewerFormat ||
    (error instanceof DOMException && error.name === 'TimeoutError')
  )
}

/**
 * Logs a failure that does not affect the answer. The watcher of an unavailable store logs it once, so each request logs only at debug
 * level.
 */
export function logTolerated(
  log: Log,
  fields: { readonly err: unknown; readonly [name: string]: unknown },
  message: string,
): void {
  if (isUnavailable(fields.err)) log.debug(fields, message)
  else log.warn(fields, message)
}
