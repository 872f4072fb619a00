/**
 * Orders to remove renders of one tenant before their retention is over. An order is an object in the service's own bucket, so it survives
 * whoever gave it. Whoever removes expired data executes it, in rounds until `ERASED_KEPT_DAYS` are over: renders that wait or run when the
 * order is given are erased after they end.
 */
import assert from 'node:assert/strict'
import type { Instant } from '@platen/lib/brand.ts'
import { decodeStored, encodeStored } from './format.ts'
import { ERASED_KEPT_DAYS } from './limit.ts'
import type { RenderRecord } from './render.ts'
import { issuedAt, type RenderId } from './render-id.ts'

/** Every object below it orders the erasure of all renders of a tenant. */
export const ERASURE_PREFIX = 'erasure/'

/** Not `ERASURE_PREFIX`: a version that does not know `renders` would erase all renders of the tenant. */
export const LISTED_ERASURE_PREFIX = 'erasure-request/'

/** Of one order: an object of 30 KB, and seconds of work. */
export const ERASURE_RENDERS_MAX = 1000

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * How long a process has a round to itself. In a large round it renews this after every few hundred renders, which take a minute. After
 * this time, another process completes the round of one that died.
 */
export const ERASURE_HELD_MS = 10 * MINUTE_MS

/** Wait before the second round of listed renders. Most renders that run at the first have ended by then. */
export const LISTED_ERASURE_AGAIN_MS = MINUTE_MS

export interface ErasureOrder {
  readonly tenant: string
  /** Renders of another account are left alone, even if its tenant has the same name. */
  readonly account: string
  /** Where the tenant's PDFs are, if known: finds renders that the expiry index does not list yet. */
  readonly storage?: RenderRecord['storage']
  /** Only renders accepted before this are erased; absent = all, because the tenant was removed. */
  readonly before?: Instant
  readonly orderedAt: Instant
  /** Who gave the order, for people. */
  readonly by: string
  /** A process runs a round or failed at it, and no other begins one before this; absent = none does. */
  readonly heldUntil?: Instant
  /** When the last complete round began; absent = none was complete. */
  readonly workedOffAt?: Instant
  /** In all rounds; a process that was killed may have erased some more. Absent = none. */
  readonly erased?: number
}

/** Erases only the listed renders. */
export interface ListedErasureOrder extends ErasureOrder {
  /** At most `ERASURE_RENDERS_MAX`. */
  readonly renders: readonly RenderId[]
  /** Renders that are not this tenant's, or of which nothing is kept. Absent = no round yet. */
  readonly notFound?: number
  /** Renders for the next round: they may wait or run, or could not be erased. Absent = all, because there was no round yet. */
  readonly unfinished?: readonly RenderId[]
}

/** One order per tenant and time, so that repeating an order does not start it again. */
export function erasureKey({ account, before }: Pick<ErasureOrder, 'account' | 'before'>): string {
  return `${ERASURE_PREFIX}${account}/${before ?? 'all'}.json`
}

/** `name` is unique among all orders. */
export function listedErasureKey(name: string): string {
  return `${LISTED_ERASURE_PREFIX}${name}.json`
}

export function isListed(order: ErasureOrder): order is ListedErasureOrder {
  return 'renders' in order
}

export function encodeErasure(order: ErasureOrder): Uint8Array {
  return encodeStored(order)
}

/** Only this service writes there, so unreadable content is a defect. */
export function decodeErasure(bytes: Uint8Array): ErasureOrder {
  const order = decodeStored(bytes)
  assert('account' in order && 'orderedAt' in order, 'not an erasure order')
  // Written by `encodeErasure`. A stored shape only ever gains fields.
  return order as ErasureOrder
}

/** To be stored while a round runs. */
export function held<Order extends ErasureOrder>(order: Order, now: Instant): Order {
  return { ...order, heldUntil: now + ERASURE_HELD_MS }
}

/** To be stored after a complete round, which began at `workedOffAt`. */
export function workedOff<Order extends ErasureOrder>(order: Order, workedOffAt: Instant): Omit<Order, 'heldUntil'> {
  const { heldUntil: _heldUntil, ...free } = order
  return { ...free, workedOffAt }
}

/** By then, all renders that were accepted before the order have ended. */
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

/**
 * The time until which a Kafka topic may keep what was written before `at`: Kafka deletes whole segments, each a seventh of the retention.
 */
export function keptInKafkaUntil(at: Instant, keptMs: number): Instant {
  return at + keptMs + keptMs / 7
}

export function isDone({ unfinished }: ListedErasureOrder): boolean {
  return unfinished?.length === 0
}

/** A done order is kept for a day after its last round, so that whoever gave it can read the result. */
function removedAt(order: ListedErasureOrder): Instant {
  return Math.max(lastRoundAt(order), order.workedOffAt ?? 0) + DAY_MS
}

/** Whether a round looks at this render. Later rounds look only at renders that may have been unfinished at the first one. */
export function isOfRound({ before, orderedAt, workedOffAt }: ErasureOrder, id: RenderId): boolean {
  const at = issuedAt(id)
  const since = workedOffAt === undefined ? 0 : orderedAt - ERASED_KEPT_DAYS * DAY_MS
  return at >= since && at < (before ?? Number.POSITIVE_INFINITY)
}
