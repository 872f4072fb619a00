import { WEBHOOK_RETRY_MS } from '@platen/contract/domain/limit.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { WEBHOOK_JITTER_MAX } from './limit.ts'

export interface FailedAttempt {
  /** Scheduled attempts made, including this one. */
  readonly attempts: number
  readonly retriesMax: number
  /** When the attempt ended. Needed for a `Retry-After` with a date. */
  readonly endedAt: Instant
  readonly retryAfter?: string
  /** Between 0 and 1. */
  readonly random: number
}

/**
 * The milliseconds until the next attempt. Undefined after the last. The waits are the steps of `WEBHOOK_RETRY_MS`, never shorter, and at
 * most a tenth longer. If a receiver asks for more time, the wait is the first step that is long enough, or the longest step.
 */
export function retryDelayMs(failed: FailedAttempt): number | undefined {
  const { attempts, retriesMax, endedAt, retryAfter, random } = failed
  const step = attempts > retriesMax ? undefined : WEBHOOK_RETRY_MS[attempts - 1]
  if (step === undefined) return undefined
  const asked = Math.max(step, waitAskedFor(retryAfter, endedAt))
  const wait = WEBHOOK_RETRY_MS.find((step) => step >= asked) ?? Math.max(...WEBHOOK_RETRY_MS)
  return Math.ceil(wait * (1 + random * WEBHOOK_JITTER_MAX))
}

/** RFC 9110, section 10.2.3: seconds or a date. Returns 0 for anything else. */
function waitAskedFor(retryAfter: string | undefined, now: Instant): number {
  const text = retryAfter?.trim() ?? ''
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000
  // A date starts with the weekday. `Date.parse` alone also accepts many texts that are not dates.
  const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? 0 : date - now
}
