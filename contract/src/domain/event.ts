/** The end of a render or batch. Webhooks and quota are computed from events, so they are kept longer than a month of quota. */
import type { Instant } from '@platen/lib/brand.ts'
import { hmacSha256 } from '@platen/lib/hmac.ts'
import { type Ended, type EndedManifest, labelsOf, type RemovedManifest } from './render.ts'
import { type BatchId, issuedAt, renderIdBytes, renderUuid, uuidOf } from './render-id.ts'
import { manifestOfEvent } from './stored-request.ts'
import { warningFieldsOf } from './warning.ts'

export const EVENT_TYPES = ['render.succeeded', 'render.failed'] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** In no event log: manifests say whether all renders of a batch have ended. */
export const BATCH_ENDED = 'batch.ended'

export const WEBHOOK_TYPES = [...EVENT_TYPES, BATCH_ENDED] as const
type WebhookType = (typeof WEBHOOK_TYPES)[number]

/** Keeps event ids from being derived from render ids. At least 32 bytes. */
export type EventKey = Uint8Array

export interface RenderEvent {
  /**
   * A UUIDv7: the time of the render's id, and a keyed hash of that id and the type. An event that is emitted again, after a crash or for a
   * render made again after a restore, has the same id; after a crash even from a process with another key.
   */
  readonly id: string
  readonly type: EventType
  /** Incomplete for a stored request (see `manifestOfEvent`): the artifact store has the complete one, until it is erased. */
  readonly manifest: Ended
}

/**
 * The event of a finished render, even if it is removed. Pure: the same manifest gives the same event, so readers drop duplicates by `id`.
 */
export function eventOf({ eventId, render, attempt, outcome }: EndedManifest | RemovedManifest): RenderEvent {
  const manifest = manifestOfEvent({ kind: 'ended', render, attempt, outcome })
  return { id: eventId, type: typeOf(manifest), manifest }
}

/** Whoever writes the manifest stores the id in it. */
export function eventIdOf(manifest: Ended, key: EventKey): string {
  const { id } = manifest.render
  return uuidWith(issuedAt(id), { type: typeOf(manifest), of: renderIdBytes(id), key })
}

export function batchEventIdOf(id: BatchId, key: EventKey): string {
  return uuidWith(issuedAt(id), { type: BATCH_ENDED, of: renderIdBytes(id), key })
}

function uuidWith(
  at: Instant,
  { type, of, key }: { readonly type: WebhookType; readonly of: Uint8Array; readonly key: EventKey },
): string {
  const tag = hmacSha256(key).update(`event:${type}:`).update(of).digest()
  return uuidV7Of(at, tag)
}

/** Random or hashed bytes in an event id. */
export const EVENT_ID_RANDOM_BYTES = 10

/** `rest` fills all but the six bits of version and variant. */
function uuidV7Of(at: Instant, rest: Uint8Array): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.set(rest.subarray(0, EVENT_ID_RANDOM_BYTES), 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return uuidOf(bytes)
}

function typeOf({ outcome }: Ended): EventType {
  return `render.${outcome.status}`
}

/** The body that receivers get. The bytes are the same on every call. */
export function webhookBodyOf({ manifest }: RenderEvent): string {
  const { render, outcome } = manifest
  const { id: render_id, template } = render
  const event = {
    id: renderUuid(render_id),
    render_id,
    template: template.code,
    ...labelsOf(render),
    status: outcome.status,
  }
  const warned = warningFieldsOf(outcome)
  if (outcome.status === 'failed') {
    const { code, message } = outcome.error
    return JSON.stringify({ ...event, error_code: code, error_reason: code, error_message: message, ...warned })
  }
  const { durationMs, pdf, pages } = outcome
  const { bytes, sha256 } = pdf
  return JSON.stringify({ ...event, duration_ms: durationMs, bytes, artifact_id: sha256, pages, ...warned })
}

/** Sent by a caller to try its receiver. In no event log: only its delivery exists. */
export const TEST_EVENT = 'webhook.test'

/** `random` has `EVENT_ID_RANDOM_BYTES` bytes. */
export function testEventOf(at: Instant, random: Uint8Array): { readonly id: string; readonly body: string } {
  const id = uuidV7Of(at, random)
  return { id, body: JSON.stringify({ id, status: 'test', created_at: new Date(at).toISOString() }) }
}
