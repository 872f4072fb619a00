/**
 * Erasure orders: the renders of one tenant are to be removed before their retention is over. An order is an object in the service's own
 * bucket, so that it survives whoever gave it. Whoever removes expired data works it off, and again until `ERASED_KEPT_DAYS` are over:
 * renders that run or wait when the order is given are erased when they have ended.
 */
import assert from 'node:assert/strict'
import type { Instant } from './brand.ts'
import { ERASED_KEPT_DAYS } from './limit.ts'
import type { RenderRecord } from './render.ts'
import { issuedAt, type RenderId } from './render-id.ts'

/** Prefix of orders. Every object below it is one. */
export const ERASURE_PREFIX = 'erasure/'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

export interface ErasureOrder {
  readonly tenant: string
  /** The tenant's incarnation. Renders of another one are left alone, also if it has the same name. */
  readonly account: string
  /** Where its PDFs are, if that is known: finds renders that the expiry index does not list yet. */
  readonly storage?: RenderRecord['storage']
  /** Renders that were accepted before this are erased; absent = all, because the tenant was removed. */
  readonly before?: Instant
  readonly orderedAt: Instant
  /** For people: who gave the order. */
  readonly by: string
  /** When the last complete round began; absent = there was none. */
  readonly workedOffAt?: Instant
}

/** The order's key. There is one order for a tenant and a time, so that an order which is given again does not begin anew. */
export function erasureKey({ account, before }: Pick<ErasureOrder, 'account' | 'before'>): string {
  return `${ERASURE_PREFIX}${account}/${before ?? 'all'}.json`
}

/** Encodes an order for the store. */
export function encodeErasure(order: ErasureOrder): Uint8Array {
  return Buffer.from(JSON.stringify(order))
}

/** Decodes a stored order. Only this service writes there, so unreadable content is a defect. */
export function decodeErasure(bytes: Uint8Array): ErasureOrder {
  const order: unknown = JSON.parse(Buffer.from(bytes).toString())
  assert(
    typeof order === 'object' && order !== null && 'account' in order && 'orderedAt' in order,
    'not an erasure order',
  )
  // Written by encodeErasure. A stored shape only ever gains fields.
  return order as ErasureOrder
}

/** When the last round may begin. No render that was accepted before the order is unfinished then. */
export function lastRoundAt({ orderedAt }: ErasureOrder): Instant {
  return orderedAt + ERASED_KEPT_DAYS * DAY_MS
}

/**
 * Whether a round is due: the first at once, the next ones after an hour, two, four and so on, then daily. Most renders end within minutes,
 * and a round reads a large part of the expiry index.
 */
export function isRoundDue(order: ErasureOrder, now: Instant): boolean {
  const { orderedAt, workedOffAt } = order
  if (workedOffAt === undefined) return true
  const waitMs = Math.min(Math.max(workedOffAt - orderedAt, HOUR_MS), DAY_MS)
  return now >= workedOffAt + waitMs
}

/** Whether a round looks at this render. Later rounds look only at renders that may have been unfinished at the first one. */
export function isOfRound({ before, orderedAt, workedOffAt }: ErasureOrder, id: RenderId): boolean {
  const at = issuedAt(id)
  const since = workedOffAt === undefined ? 0 : orderedAt - ERASED_KEPT_DAYS * DAY_MS
  return at >= since && at < (before ?? Number.POSITIVE_INFINITY)
}
