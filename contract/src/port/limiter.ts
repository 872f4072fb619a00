import type { Instant } from '@platen/lib/brand.ts'
import type { Lane, Mode, RenderEnd, RenderRecord, Tombstone } from '../domain/render.ts'
import type { RenderId } from '../domain/render-id.ts'
import type { Engine } from '../domain/render-options.ts'
import type { Environment, KeyHash, Limits } from '../domain/tenant.ts'

/**
 * What a tenant may request: rates, monthly quota, and its share of the async lane. A tenant created again under an old name has another
 * account, and starts with nothing used. From `reserve` on, a reservation holds quota and counts as an outstanding render. It expires after
 * `RESERVATION_MS` unless confirmed, and ends with `complete`. Every method is idempotent per render id, and throws `Unavailable` when the
 * limiter cannot be reached.
 */
export interface Limiter {
  /**
   * All or nothing over all buckets of a render: a refusal changes no counter. Rates are true rolling minutes: no span of 60 s admits more
   * than the limit in force at its last admission.
   */
  reserve(request: Reservation, signal: AbortSignal): Promise<Decision>
  /**
   * Makes a reservation last until `complete`, or for `QUEUE_AGE_MS_MAX` from now if that never comes. Restores an expired reservation;
   * never refuses. Does nothing for a completed render, because the queue may confirm it after its end. Called when the queue has the
   * record, and again by the renderer that claims it.
   */
  confirm(record: RenderRecord, signal: AbortSignal): Promise<void>
  /**
   * Ends a reservation by the outcome, once, and durably if the render is durable. A success is charged to the month of its reservation;
   * units of a failure are free again. A render that the API abandoned also gives back its place in the rate buckets.
   */
  complete(end: AccountedEnd, signal: AbortSignal): Promise<void>
  usage(account: string, period: string, signal: AbortSignal): Promise<Usage>
  /** What an account has used in a month, by template and day, and what is left of each rate. Changes no counter. */
  report(query: ReportQuery, signal: AbortSignal): Promise<LimitReport>
}

/** The account must be known, so this is no tombstone. */
export type AccountedEnd = Exclude<RenderEnd, Tombstone>

export type ReportQuery = Pick<Reservation, 'account' | 'environment' | 'key' | 'period' | 'limits' | 'revision'>

export interface LimitReport extends QuotaState {
  /** Each rate in force, in the order of `RATES`. */
  readonly rates: readonly NamedRate[]
  /**
   * Charges of the month by template, in the order of their first charge: at most `CHARGED_TEMPLATES_MAX`. Charges of further templates are
   * only in the total.
   */
  readonly templates: readonly ChargeCount[]
  /** By the day of acceptance, such as `05`. Days without a charge are absent. */
  readonly days: readonly ChargeCount[]
}

export interface NamedRate extends RateState {
  /** The field of the limits. */
  readonly name: RateLimit
}

export type RateLimit = Extract<keyof Limits, `${string}PerMinute`>

export interface ChargeCount {
  readonly name: string
  readonly renders: number
  readonly units: number
}

export interface Reservation {
  readonly id: RenderId
  /**
   * Further renders of a batch, admitted or refused together with this one. Each costs `units`. Together they are one request to the rates.
   */
  readonly others?: readonly RenderId[]
  readonly account: string
  readonly environment: Environment
  readonly key: KeyHash
  readonly mode: Mode
  readonly engine: Engine
  /** Quota units of each render, 0 in the sandbox, and the UTC month (`2026-11`) they count in. */
  readonly units: number
  readonly period: string
  /** In force now. A lowered limit counts from this call on. */
  readonly limits: Limits
  /**
   * The settings revision of `limits`. A shared limiter may know limits of a newer revision from another process. Then those count, so a
   * change applies in all processes as soon as it is published.
   */
  readonly revision: number
}

/** Units of successful renders, and those reserved by unfinished ones. */
export interface Usage {
  readonly charged: number
  readonly reserved: number
}

export interface QuotaState {
  /** Absent = there is no limit. */
  readonly limit?: number
  readonly usage: Usage
}

/** Charges may be lost, as a whole or for one account alone. Every method throws `Unavailable` like those of `Limiter`. */
export interface AuditableLimiter extends Limiter {
  /**
   * Completes these renders in few calls, and resolves to the charges of their accounts right after, more than once for an account that
   * took several calls. After a failure, some of the renders may be completed.
   */
  completeAll(ends: readonly AccountedEnd[], signal: AbortSignal): Promise<readonly MonthTotal[]>
  chargeTotal(account: string, period: string, signal: AbortSignal): Promise<ChargeTotal>
}

export interface ChargeTotal {
  readonly charged: number
  /** Identifies the count: after a loss of charges another one starts. Absent while nothing is charged. */
  readonly count?: string
}

export interface MonthTotal extends ChargeTotal {
  readonly account: string
  readonly period: string
}

/** Of the tightest bucket that a render counts in. */
export interface RateState {
  readonly limit: number
  /** Free places after this decision. */
  readonly remaining: number
  /** When all places are free again if nothing more is requested. */
  readonly resetAt: Instant
}

/**
 * `rate`: the key's bucket, or the tenant's for the mode or for react_pdf. `html_rate`: the tenant's html bucket alone. `retryAfterMs` is
 * the shortest wait until the same call is admitted, if nothing else is requested meanwhile. The usage is that of the month, with this
 * render if it is admitted.
 */
export type Decision = QuotaState & { readonly rate: RateState } & (
    | { readonly kind: 'admitted'; readonly lane: Lane }
    | { readonly kind: 'refused'; readonly reason: 'rate' | 'html_rate'; readonly retryAfterMs: number }
    | { readonly kind: 'refused'; readonly reason: 'quota'; readonly limit: number }
  )
