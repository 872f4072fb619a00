/**
 * What ties an `Idempotency-Key` to a render: an object in the service's own bucket, created only where none is, before the
 * render is queued. It says which render the key stands for and nothing of what became of it: that is in the render's manifest.
 */
import assert from 'node:assert/strict'
import type { Instant } from './brand.ts'
import { sha256 } from './canonical-json.ts'
import { IDEMPOTENCY_MS } from './limit.ts'
import type { RenderRecord } from './render.ts'
import type { IdScope } from './render-id.ts'

/** Where claims stand; every object below it is one. */
export const IDEMPOTENCY_PREFIX = 'idempotency/'

export interface IdempotencyClaim {
  /** Lower-case hex SHA-256 of the canonical JSON of the request's body. */
  readonly fingerprint: string
  readonly claimedAt: Instant
  /** The render as it was admitted. Its data is the one part the caller brings again. */
  readonly record: Omit<RenderRecord, 'data'>
}

/** The folder of a key's claims, which are named by whole numbers: the highest counts. Keys of two tenants or environments never meet, and no key can be read off. */
export function idempotencyFolder({ incarnation, environment }: IdScope, key: string): string {
  return `${IDEMPOTENCY_PREFIX}${incarnation}/${environment}/${sha256(key)}/`
}

/** Has the key done its duty, so that it may stand for another request and its claim be removed? */
export function isExpired({ claimedAt }: IdempotencyClaim, now: Instant): boolean {
  return claimedAt + IDEMPOTENCY_MS <= now
}

/** A claim as it is stored. */
export function encodeClaim(claim: IdempotencyClaim): Uint8Array {
  return Buffer.from(JSON.stringify(claim))
}

/** A claim as it was stored: only this service writes there, so what cannot be read is a defect. */
export function decodeClaim(bytes: Uint8Array): IdempotencyClaim {
  const claim: unknown = JSON.parse(Buffer.from(bytes).toString())
  assert(typeof claim === 'object' && claim !== null && 'fingerprint' in claim && 'record' in claim, 'not a claim')
  // Written by encodeClaim; a stored shape only ever gains fields.
  return claim as IdempotencyClaim
}
