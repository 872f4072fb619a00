/** What happened to a render: the facts that webhooks and quota are made from. Kept 40 days or more. */
import { createHmac } from 'node:crypto'
import type { Manifest } from './render.ts'
import { renderIdBytes, uuidOf } from './render-id.ts'

export type EventType = 'render.succeeded' | 'render.failed'

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
