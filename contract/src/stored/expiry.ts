/**
 * The expiry index: which renders to remove on which day, in deployments without a database that knows. Its objects are in the service's
 * own bucket. Each lists many renders that expire on one UTC day, and has that day in its name. An object is due when its day is over, so
 * no render goes too early, and each goes at most a day late.
 *
 * Objects are named by their content: writing one again, or another list of the same renders, loses nothing. A render may be in several
 * objects. The first one removes it; the others then find nothing.
 */
import assert from 'node:assert/strict'
import type { Instant } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { decodeStored, encodeStored } from '../domain/format.ts'
import type { RenderRecord } from '../domain/render.ts'
import type { RenderId } from '../domain/render-id.ts'

/** Every object below it is part of the index. */
export const EXPIRY_PREFIX = 'expiry/'

/** The data of the render is under `renderPrefix`, its manifest under its id. */
export interface StoredRender {
  readonly id: RenderId
  readonly storage: RenderRecord['storage']
  /** Absent = unknown: the render was erased before it had a manifest. */
  readonly account?: string
}

/** In UTC: `2026-11-21`. */
export type Day = `${number}-${number}-${number}`

export function dayOf(instant: Instant): Day {
  // `toISOString` starts with these characters for every year before 10000, and nothing is kept that long.
  return new Date(instant).toISOString().slice(0, 'yyyy-mm-dd'.length) as Day
}

/** Says that these renders expire on that day. */
export function expiryObjectOf(day: Day, renders: readonly StoredRender[]): { key: string; bytes: Uint8Array } {
  const bytes = encodeStored({ renders })
  return { key: `${expiryFolder(day)}${sha256(bytes)}.json`, bytes }
}

export function expiryFolder(day: string): string {
  return `${EXPIRY_PREFIX}${day}/`
}

export function isDayOver(day: string, now: Instant): boolean {
  return day < dayOf(now)
}

/** Only this service writes there, so unreadable content is a defect. */
export function decodeExpiry(bytes: Uint8Array): readonly StoredRender[] {
  const found = decodeStored(bytes)
  assert('renders' in found && Array.isArray(found.renders), 'not a part of the expiry index')
  // Written by `expiryObjectOf`. A stored shape only ever gains fields.
  return found.renders as readonly StoredRender[]
}
