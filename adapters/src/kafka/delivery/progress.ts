/**
 * The progress of a delivery, and what to do about a reminder of it. Pure.
 *
 * Each change of the schedule raises `step` by one. The object is written before the next reminder is sent. If the process dies in between,
 * only the reminder of the step before exists; it makes its consumer send the next one again.
 */

import type { Attempt, Delivery, DeliveryRecord, DeliveryStatus } from '@platen/contract/domain/delivery.ts'
import { WEBHOOK_ATTEMPTS_KEPT_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/domain/limit.ts'
import type { NextStatus } from '@platen/contract/port/delivery-log.ts'
import type { Instant } from '@platen/lib/brand.ts'

export interface Progress {
  readonly delivery: Delivery
  readonly status: DeliveryStatus
  /** Present while scheduled. */
  readonly dueAt?: Instant
  /** Milliseconds from the write until `dueAt`; absent = 0. */
  readonly waitMs?: number
  readonly reason?: string
  readonly step: number
  /** Attempts of the schedule; requested ones do not count. */
  readonly attempts: number
  /** The last `WEBHOOK_ATTEMPTS_KEPT_MAX` attempts, oldest first, requested ones included. */
  readonly made: readonly Attempt[]
  /** Nonces of the last requested attempts that were made. Keeps as many as can be requested at once. */
  readonly answered: readonly string[]
}

export function initialProgress(delivery: Delivery, now: Instant): Progress {
  const nothing = { step: 0, attempts: 0, made: [], answered: [] }
  return { delivery, status: 'scheduled', dueAt: now, ...nothing }
}

export interface MadeAttempt {
  readonly attempt: Attempt
  readonly next?: NextStatus | undefined
  /** The nonce of a requested attempt; absent = an attempt of the schedule. */
  readonly nonce?: string | undefined
  readonly now: Instant
}

export function afterAttempt(progress: Progress, { attempt, next, nonce, now }: MadeAttempt): Progress {
  const { delivery, step, attempts, made, answered } = progress
  const isAsked = nonce !== undefined
  // A requested attempt leaves the schedule alone, unless its result schedules another one.
  const hasMoved = !isAsked || next?.status === 'scheduled'
  return {
    delivery,
    ...(next === undefined ? statusOf(progress) : statusAfter(next, now)),
    step: hasMoved ? step + 1 : step,
    attempts: isAsked ? attempts : attempts + 1,
    made: [...made, attempt].slice(-WEBHOOK_ATTEMPTS_KEPT_MAX),
    answered: isAsked ? [...answered, nonce].slice(-WEBHOOK_REDELIVERIES_MAX) : answered,
  }
}

interface Deferral {
  readonly waitMs: number
  readonly reason?: string | undefined
  readonly now: Instant
}

export function afterDeferral(progress: Progress, { waitMs, reason, now }: Deferral): Progress {
  const step = progress.step + 1
  return { ...progress, dueAt: now + waitMs, waitMs, step, ...(reason !== undefined && { reason }) }
}

/** Milliseconds left of a stored wait. The clock may differ from the one that wrote it, so the result never exceeds the stored wait. */
export function remainingMs({ dueAt, waitMs = 0 }: Pick<Progress, 'dueAt' | 'waitMs'>, now: Instant): number {
  return Math.min((dueAt ?? now) - now, waitMs)
}

export function recordOf(progress: Progress): DeliveryRecord {
  const { waitMs: _waitMs, ...standing } = statusOf(progress)
  return { delivery: progress.delivery, ...standing, attempts: progress.made }
}

type Verdict = 'give' | 'remind' | 'forget'

/**
 * Decides on a reminder of step `reminded` while the progress is at `step`: give out the delivery, send the next reminder again, or ignore
 * it.
 */
export function verdictOn(reminded: number, step: number): Verdict {
  if (reminded === step) return 'give'
  return reminded === step - 1 ? 'remind' : 'forget'
}

type StatusFields = Pick<Progress, 'status' | 'dueAt' | 'waitMs' | 'reason'>

function statusOf({ status, dueAt, waitMs, reason }: Progress): StatusFields {
  return {
    status,
    ...(dueAt !== undefined && { dueAt }),
    ...(waitMs !== undefined && { waitMs }),
    ...(reason !== undefined && { reason }),
  }
}

function statusAfter(next: NextStatus, now: Instant): StatusFields {
  if (next.status === 'scheduled') return { ...next, dueAt: now + next.waitMs }
  return { status: next.status, ...(next.reason !== undefined && { reason: next.reason }) }
}
