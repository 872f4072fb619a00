/**
 * The expiry index: which renders are to be removed when, where no database knows. Its objects stand in the service's own bucket,
 * each for many renders whose time ends on one day (UTC), under the name of that day. An object is due when its day is over: so no
 * render goes before its time, and each at most a day after it.
 *
 * Objects are named by their content, so that whoever writes one again, or another list of the same renders, takes nothing from the
 * index. A render may stand in several; it is removed once and then nothing is there.
 */
import assert from 'node:assert/strict'
import type { Instant } from './brand.ts'
import { sha256 } from './canonical-json.ts'
import type { RenderRecord } from './render.ts'
import type { RenderId } from './render-id.ts'

/** Where the index stands; every object below it is a part of it. */
export const EXPIRY_PREFIX = 'expiry/'

/** A render as whoever removes it must know it: what is stored of it stands under `renderPrefix`, and its manifest by its id. */
export interface StoredRender {
  readonly id: RenderId
  readonly storage: RenderRecord['storage']
}

/** A UTC day: `2026-11-21`. */
export type Day = `${number}-${number}-${number}`

/** The day an instant lies in. */
export function dayOf(instant: Instant): Day {
  // What `toISOString` gives begins so for every year before 10000, and nothing is kept until then.
  return new Date(instant).toISOString().slice(0, 'yyyy-mm-dd'.length) as Day
}

/** The object that says these renders expire on that day. */
export function expiryObjectOf(day: Day, renders: readonly StoredRender[]): { key: string; bytes: Uint8Array } {
  const bytes = Buffer.from(JSON.stringify(renders))
  return { key: `${EXPIRY_PREFIX}${day}/${sha256(bytes)}.json`, bytes }
}

/** Is the day of this object of the index over? */
export function isDayOver(key: string, now: Instant): boolean {
  return key.slice(EXPIRY_PREFIX.length, key.lastIndexOf('/')) < dayOf(now)
}

/** The renders of an object as it was stored: only this service writes there, so what cannot be read is a defect. */
export function decodeExpiry(bytes: Uint8Array): readonly StoredRender[] {
  const renders: unknown = JSON.parse(Buffer.from(bytes).toString())
  assert(Array.isArray(renders), 'not a part of the expiry index')
  return renders.map(storedRenderIn)
}

function storedRenderIn(render: unknown): StoredRender {
  assert(
    typeof render === 'object' && render !== null && 'id' in render && 'storage' in render,
    'not a render of the expiry index',
  )
  // Written by `expiryObjectOf`; a stored shape only ever gains fields.
  return render as StoredRender
}
