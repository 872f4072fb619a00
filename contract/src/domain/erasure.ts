/**
 * Erasure orders: orders to remove renders of one tenant before their retention is over. An order is an object in the service's own
 * bucket, so that it survives whoever gave it. Whoever removes expired data works it off, and again until `ERASED_KEPT_DAYS` are over:
 * renders that run or wait when the order is given are erased when they have ended.
 */
import assert from 'node:assert/strict'
import type { Instant } from '@platen/lib/brand.ts'
import { decodeStored, encodeStored } from './format.ts'
import { ERASED_KEPT_DAYS } from './limit.ts'
import type { RenderRecord } from './render.ts'
import { issuedAt, type RenderId } from './render-id.ts'

/** Prefix of orders to erase all renders of a tenant. Every object below it is one. */
export const ERASURE_PREFIX = 'erasure/'

/**
 * Prefix of orders to erase listed renders. It is not `ERASURE_PREFIX`: a version that does not know `renders` would erase all renders of
 * the tenant.
 */
export const LISTED_ERASURE_PREFIX = 'erasure-request/'

/** Renders that one order lists: an object of 30 KB, and seconds of work. */
export const ERASURE_RENDERS_MAX = 1000

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * How long nobody else begins a round that somebody is at. Whoever is at a large one says so again after every few hundred renders, which
 * takes a minute. So another process completes the round of one that died.
 */
export const ERASURE_HELD_MS = 10 * MINUTE_MS

/** Wait before the second round of listed renders. Most renders that run at the first have ended by then. */
export const LISTED_ERASURE_AGAIN_MS = MINUTE_MS

export interface ErasureOrder {
  readonly tenant: string
  /** Renders of another one are left alone, also if its tenant has the same name. */
  readonly account: string
  /** Where its PDFs are, if that is known: finds renders that the expiry index does not list yet. */
  readonly storage?: RenderRecord['storage']
  /** Renders that were accepted before this are erased; absent = all, because the tenant was removed. */
  readonly before?: Instant
  readonly orderedAt: Instant
  /** For people: who gave the order. */
  readonly by: string
  /** Somebody is at a round, or failed at it, and nobody else begins one before this; absent = nobody is. */
  readonly heldUntil?: Instant
  /** When the last complete round began; absent = there was none. */
  readonly workedOffAt?: Instant
  /** Renders that were erased in all rounds; a process that is killed may have erased some more. Absent = none. */
  readonly erased?: number
}

/** An order to erase some renders of a tenant. Its rounds erase nothing else of the tenant. */
export interface ListedErasureOrder extends ErasureOrder {
  /** At most `ERASURE_RENDERS_MAX`. */
  readonly renders: readonly RenderId[]
  /** Renders that are not this tenant's, or of which nothing is kept; absent = there was no round. */
  readonly notFound?: number
  /** Renders that the next round looks at: they may wait or run, or could not be erased. Absent = all, because there was no round. */
  readonly unfinished?: readonly RenderId[]
}

/** The order's key. There is one order for a tenant and a time, so that an order which is given again does not start again. */
export function erasureKey({ account, before }: Pick<ErasureOrder, 'account' | 'before'>): string {
  return `${ERASURE_PREFIX}${account}/${before ?? 'all'}.json`
}

/** The key of an order that lists renders. `name` is unique among all of them. */
export function listedErasureKey(name: string): string {
  return `${LISTED_ERASURE_PREFIX}${name}.json`
}

/** Whether an order lists its renders. */
export function isListed(order: ErasureOrder): order is ListedErasureOrder {
  return 'renders' in order
}

/** Encodes an order for the store. */
export function encodeErasure(order: ErasureOrder): Uint8Array {
  return encodeStored(order)
}

/** Decodes a stored order. Only this service writes there, so unreadable content is a defect. */
export function decodeErasure(bytes: Uint8Array): ErasureOrder {
  const order = decodeStored(bytes)
  assert('account' in order && 'orderedAt' in order, 'not an erasure order')
  // Written by encodeErasure. A stored shape only ever gains fields.
  return order as ErasureOrder
}

/** The order as it is stored while somebody is at a round. */
export function held<Order extends ErasureOrder>(order: Order, now: Instant): Order {
  return { ...order, heldUntil: now + ERASURE_HELD_MS }
}

/** The order as it is stored after a complete round, which began at `workedOffAt`. */
export function workedOff<Order extends ErasureOrder>(order: Order, workedOffAt: Instant): Omit<Order, 'heldUntil'> {
  const { heldUntil: _heldUntil, ...free } = order
  return { ...free, workedOffAt }
}

/** When the last round may begin. No render that was accepted before the order is unfinished then. */
export function lastRoundAt({ orderedAt }: Pick<ErasureOrder, 'orderedAt'>): Instant {
  return orderedAt + ERASED_KEPT_DAYS * DAY_MS
}

/**
 * Whether a round is due: the first at once, the next ones after an hour, two, four and so on, then daily. Most renders end within minutes,
 * and a round reads a large part of the expiry index. Listed renders cost little, so their rounds start with a minute and end with hours.
 */
export function isRoundDue(order: ErasureOrder, now: Instant): boolean {
  const { orderedAt, heldUntil = 0, workedOffAt } = order
  if (isListed(order) && isDone(order)) return now >= removedAt(order)
  if (now < heldUntil) return false
  if (workedOffAt === undefined) return true
  const [waitMsMin, waitMsMax] = isListed(order) ? [LISTED_ERASURE_AGAIN_MS, HOUR_MS] : [HOUR_MS, DAY_MS]
  return now >= workedOffAt + Math.min(Math.max(workedOffAt - orderedAt, waitMsMin), waitMsMax)
}

/** Until when a topic of Kafka may have what was written before `at`: Kafka deletes whole segments, of a seventh of the retention each. */
export function keptInKafkaUntil(at: Instant, keptMs: number): Instant {
  return at + keptMs + keptMs / 7
}

/** Whether every listed render is erased or not found. */
export function isDone({ unfinished }: ListedErasureOrder): boolean {
  return unfinished?.length === 0
}

/** When a done order that lists renders is removed: a day after its last round, so that whoever gave it can read what was found. */
function removedAt(order: ListedErasureOrder): Instant {
  return Math.max(lastRoundAt(order), order.workedOffAt ?? 0) + DAY_MS
}

/** Whether a round looks at this render. Later rounds look only at renders that may have been unfinished at the first one. */
export function isOfRound({ before, orderedAt, workedOffAt }: ErasureOrder, id: RenderId): boolean {
  const at = issuedAt(id)
  const since = workedOffAt === undefined ? 0 : orderedAt - ERASED_KEPT_DAYS * DAY_MS
  return at >= since && at < (before ?? Number.POSITIVE_INFINITY)
}
