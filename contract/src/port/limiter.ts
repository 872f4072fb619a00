import type { Instant } from '../brand.ts'
import type { Lane, Manifest, Mode, RenderRecord } from '../render.ts'
import type { RenderId } from '../render-id.ts'
import type { Engine } from '../render-options.ts'
import type { Environment, KeyHash, Limits } from '../tenant.ts'

/**
 * What a tenant may ask for: rates, monthly quota, and its share of the async lane. Accounts are tenant incarnations, so a
 * tenant made anew under an old name begins with nothing used. A reservation holds quota and a place among the outstanding
 * renders from `reserve` on; it lapses by itself after `RESERVATION_MS` unless confirmed, and ends with `settle`.
 * Every method is idempotent per render id and throws `Unavailable` when the limiter cannot be reached.
 */
export interface Limiter {
  /**
   * Decides on one render by one look at all of its buckets, all or nothing: a refusal changes no counter. Rates are true
   * rolling minutes: in no span of 60 s are more admitted than the limit that stood at the last of them.
   */
  reserve(request: Reservation, signal: AbortSignal): Promise<Decision>
  /**
   * Makes a reservation last until it is settled, or should nobody ever tell, for `QUEUE_AGE_MS_MAX` from now; one that has lapsed
   * is made anew, and this never refuses. Does nothing for a render that was settled: the word of the queue may come after its
   * end. Called when the queue has the record, and again by whoever claims it.
   */
  confirm(record: RenderRecord, signal: AbortSignal): Promise<void>
  /**
   * Ends a reservation by the outcome: the units of a render that succeeded are charged to the month of its reservation, once,
   * durably where the render is durable; those of one that failed are free again. A render that the API abandoned gives back
   * its place in the rate buckets too.
   */
  complete(manifest: Manifest, signal: AbortSignal): Promise<void>
  /** What an account has used of a month. */
  usage(account: string, period: string, signal: AbortSignal): Promise<Usage>
}

export interface Reservation {
  readonly id: RenderId
  /** The tenant's incarnation. */
  readonly account: string
  readonly environment: Environment
  readonly key: KeyHash
  readonly mode: Mode
  readonly engine: Engine
  /** Quota units, 0 in the sandbox, and the UTC month (`2026-11`) they count in. */
  readonly units: number
  readonly period: string
  /** The limits in force now: a lowered one counts from this call on. */
  readonly limits: Limits
  /**
   * Of the settings these limits are from. Where several processes share a limiter and it knows limits of a newer revision, those
   * count: a change counts in all processes from the moment it is published.
   */
  readonly revision: number
}

/** Units of renders that succeeded, and of those still under way. */
export interface Usage {
  readonly charged: number
  readonly reserved: number
}

/** A limiter whose charges may be lost, in whole and for one account alone. Every method throws `Unavailable` as those of all do. */
export interface AuditableLimiter extends Limiter {
  /** What an account is charged in a month. */
  chargeTotal(account: string, period: string, signal: AbortSignal): Promise<ChargeTotal>
}

export interface ChargeTotal {
  readonly charged: number
  /** Which count it is: where the charges were lost another one begins. Absent as long as nothing is charged. */
  readonly count?: string
}

/** The tightest of the rate buckets a render goes through. */
export interface RateState {
  readonly limit: number
  /** Left after this decision. */
  readonly remaining: number
  /** When all of it is free again if nothing more is asked. */
  readonly resetAt: Instant
}

/** `rate`: the key's bucket, or the tenant's of the mode or of react_pdf. `html_rate`: the tenant's html bucket alone. `retryAfterMs` is the shortest wait after which the same call is admitted if nothing else is asked meanwhile. */
export type Decision =
  | {
      readonly kind: 'admitted'
      readonly lane: Lane
      readonly rate: RateState
      /** Of the month, this render included. */
      readonly usage: Usage
    }
  | {
      readonly kind: 'refused'
      readonly reason: 'rate' | 'html_rate'
      readonly retryAfterMs: number
      readonly rate: RateState
    }
  | {
      readonly kind: 'refused'
      readonly reason: 'quota'
      readonly limit: number
      readonly usage: Usage
      readonly rate: RateState
    }
