/**
 * How far a delivery has come, and what a reminder of it is worth. Pure.
 *
 * Each thing that becomes of the schedule is one step on, and the reminder of the next thing is sent after it is written: one that
 * tells of the step before may be all there is, where the process died in between, and so has the next one sent again.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { Attempt, Delivery, DeliveryRecord, DeliveryStatus } from '@platen/contract/delivery.ts'
import type { NextStatus } from '@platen/contract/port/delivery-log.ts'
import { WEBHOOK_ATTEMPTS_KEPT_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/webhook-limit.ts'
import { VERSION } from './reminder.ts'

export interface Progress {
  readonly version: typeof VERSION
  readonly delivery: Delivery
  readonly status: DeliveryStatus
  /** While scheduled. */
  readonly dueAt?: Instant
  /** How many milliseconds that was away when it was written; absent = none. */
  readonly waitMs?: number
  readonly reason?: string
  readonly step: number
  /** Of the schedule, all that were made. */
  readonly attempts: number
  /** The last `WEBHOOK_ATTEMPTS_KEPT_MAX`, the oldest first, those that were asked for among them. */
  readonly made: readonly Attempt[]
  /** The last attempts that were asked for and made: as many as can be asked for at once. */
  readonly answered: readonly string[]
}

/** A delivery of which nothing has become yet, due at once. */
export function initialProgress(delivery: Delivery, now: Instant): Progress {
  const nothing = { step: 0, attempts: 0, made: [], answered: [] }
  return { version: VERSION, delivery, status: 'scheduled', dueAt: now, ...nothing }
}

export interface MadeAttempt {
  readonly attempt: Attempt
  readonly next?: NextStatus | undefined
  /** Which of those that were asked for; else one of the schedule. */
  readonly nonce?: string | undefined
  readonly now: Instant
}

/** After an attempt. */
export function afterAttempt(progress: Progress, { attempt, next, nonce, now }: MadeAttempt): Progress {
  const { version, delivery, step, attempts, made, answered } = progress
  const isAsked = nonce !== undefined
  // What was asked for goes on beside the schedule, unless something follows from it.
  const hasMoved = !isAsked || next?.status === 'scheduled'
  return {
    version,
    delivery,
    ...(next === undefined ? statusOf(progress) : statusAfter(next, now)),
    step: hasMoved ? step + 1 : step,
    attempts: isAsked ? attempts : attempts + 1,
    made: [...made, attempt].slice(-WEBHOOK_ATTEMPTS_KEPT_MAX),
    answered: isAsked ? [...answered, nonce].slice(-WEBHOOK_REDELIVERIES_MAX) : answered,
  }
}

export interface Deferral {
  readonly waitMs: number
  readonly reason?: string | undefined
  readonly now: Instant
}

/** Put off without an attempt. */
export function afterDeferral(progress: Progress, { waitMs, reason, now }: Deferral): Progress {
  const step = progress.step + 1
  return { ...progress, dueAt: now + waitMs, waitMs, step, ...(reason !== undefined && { reason }) }
}

/** Milliseconds that are left of a wait, by a clock that may be another than the one it was written by: no more than it was to be. */
export function remainingMs({ dueAt, waitMs = 0 }: Pick<Progress, 'dueAt' | 'waitMs'>, now: Instant): number {
  return Math.min((dueAt ?? now) - now, waitMs)
}

/** As it is told to others. */
export function recordOf(progress: Progress): DeliveryRecord {
  const { waitMs: _waitMs, ...standing } = statusOf(progress)
  return { delivery: progress.delivery, ...standing, attempts: progress.made }
}

/** What to do about a reminder: give out what it tells of, send the next one again, or forget it. */
export type Verdict = 'give' | 'remind' | 'forget'

/** Of a reminder of that step where things stand at `step`. */
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
