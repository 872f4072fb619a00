/**
 * Ties an `Idempotency-Key` to a render. The claim is an object in the service's own bucket, created only if there is none, before the
 * render is queued. It says which render the key stands for; the outcome is in the render's manifest.
 */
import assert from 'node:assert/strict'
import type { Instant } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { decodeStored, encodeStored } from '../domain/format.ts'
import { IDEMPOTENCY_MS } from '../domain/limit.ts'
import type { RenderRecord } from '../domain/render.ts'
import type { IdScope } from '../domain/render-id.ts'

/** Every object below it is a claim. */
export const IDEMPOTENCY_PREFIX = 'idempotency/'

export interface IdempotencyClaim {
  /** Lower-case hex SHA-256 of the canonical JSON of the request's body. */
  readonly fingerprint: string
  readonly claimedAt: Instant
  /** As admitted, without its data, which the caller sends again. */
  readonly record: Omit<RenderRecord, 'data'>
}

/** Claims of one key, named by whole numbers: the highest counts. Unique per tenant and environment. Does not reveal the key. */
export function idempotencyFolder({ account, environment }: IdScope, key: string): string {
  return `${claimsFolder(account)}${environment}/${sha256(key)}/`
}

export function claimsFolder(account: string): string {
  return `${IDEMPOTENCY_PREFIX}${account}/`
}

/** Then the key may stand for another request, and the claim may be removed. */
export function isExpired({ claimedAt }: IdempotencyClaim, now: Instant): boolean {
  return claimedAt + IDEMPOTENCY_MS <= now
}

export function encodeClaim(claim: IdempotencyClaim): Uint8Array {
  return encodeStored(claim)
}

/** Throws `NewerFormat`. Only this service writes there, so other unreadable content is a defect. */
export function decodeClaim(bytes: Uint8Array): IdempotencyClaim {
  const claim = decodeStored(bytes)
  assert('fingerprint' in claim && 'record' in claim, 'not a claim')
  // Written by `encodeClaim`. A stored shape only ever gains fields.
  return claim as IdempotencyClaim
}
