/** Decides what the end of an attempt means: failed for good, try again, or no longer ours. Pure. */
import { FAILURES, isFailureCode, ServiceError } from '@platen/contract/domain/error.ts'
import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import { CANCELED, type Failure } from '@platen/contract/domain/render.ts'

export type Verdict =
  | { readonly kind: 'failed'; readonly error: Failure }
  | { readonly kind: 'retry' }
  | { readonly kind: 'lost' }

export interface Interruptions {
  readonly deadline: AbortSignal
  readonly callerGone: AbortSignal
  readonly claimLost: AbortSignal
  readonly canceled: AbortSignal
}

/** Interruptions come first: errors that an engine throws while it is being stopped mean nothing. */
export function classifyError(error: unknown, interruptions: Interruptions, deadlineMs: number): Verdict {
  if (interruptions.claimLost.aborted) return { kind: 'lost' }
  if (interruptions.canceled.aborted) return { kind: 'failed', error: CANCELED }
  if (interruptions.callerGone.aborted)
    return failed('canceled', 'the caller closed the connection before the render ended')
  if (interruptions.deadline.aborted) {
    return failed('render_timeout', `the render did not finish within its deadline of ${deadlineMs / 1000} seconds`)
  }
  if (error instanceof ServiceError && isFailureCode(error.code)) {
    return FAILURES[error.code].retryable ? { kind: 'retry' } : failed(error.code, error.message)
  }
  return { kind: 'failed', error: DEFECT }
}

/** For a render that used all its attempts and never ended. */
export function crashed(attempts: number): Failure {
  return {
    code: 'render_crashed',
    message: `the render crashed its renderer ${attempts} times and is not tried again`,
  }
}

/** What callers see of a defect in our code. */
export const DEFECT: Failure = {
  code: 'internal',
  message: 'the service failed to render this document; the log of the service has the cause under the render id',
}

/** For a render that waited until its deadline for its inputs, or for the storage of its PDF. */
export const STORE_UNAVAILABLE: Failure = {
  code: 'internal',
  message: 'the storage of the service could not be reached within the deadline of the render; it can be tried again',
}

export const EXPIRED: Failure = { code: 'expired', message: 'no renderer took the render within 24 hours' }

export const SUSPENDED: Failure = {
  code: 'tenant_suspended',
  message: 'the subscription was suspended before the render began',
}

function failed(code: Failure['code'], message: string): Verdict {
  return { kind: 'failed', error: { code, message: message.slice(0, FAILURE_MESSAGE_CHARS_MAX) } }
}
