/** What happened to a render: the facts that webhooks and quota are made from. Kept for a month of quota, and longer. */
import { createHmac } from 'node:crypto'
import type { Manifest } from './render.ts'
import { renderIdBytes, renderUuid, uuidOf } from './render-id.ts'

export const EVENT_TYPES = ['render.succeeded', 'render.failed'] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Secret of the event ids, so that nobody can tell one from a render id. At least 32 bytes. */
export type EventKey = Uint8Array

export interface RenderEvent {
  /** A UUIDv7 made from the render's end and a keyed hash of render id and type: emitted again after a crash, it is the same. */
  readonly id: string
  readonly type: EventType
  readonly manifest: Manifest
}

/** The event of a finished render. Pure: the same manifest and key give the same event, so readers drop repeats by `id`. */
export function eventOf(manifest: Manifest, key: EventKey): RenderEvent {
  const type: EventType = `render.${manifest.outcome.status}`
  const tag = createHmac('sha256', key).update(`event:${type}:`).update(renderIdBytes(manifest.render.id)).digest()
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(manifest.outcome.finishedAt, 0, 6)
  tag.copy(bytes, 6, 0, 10)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return { id: uuidOf(bytes), type, manifest }
}

/** What a receiver is sent of an event: JSON, in the same bytes whenever it is asked for. */
export function webhookBodyOf({ manifest }: RenderEvent): string {
  const { render, outcome } = manifest
  const id = renderUuid(render.id)
  if (outcome.status === 'failed') {
    const { code, message } = outcome.error
    return JSON.stringify({ id, status: outcome.status, error_code: code, error_message: message })
  }
  const { durationMs, pdf } = outcome
  const { bytes, sha256 } = pdf
  return JSON.stringify({ id, status: outcome.status, duration_ms: durationMs, bytes, artifact_id: sha256 })
}
