/**
 * The cursor of a list: where a page ended, signed by this service. It is bound to the caller and the filters, so that a page never
 * continues another list.
 */
import { timingSafeEqual } from 'node:crypto'
import {
  type IdScope,
  type KeyRing,
  type RenderId,
  renderIdBytes,
  renderIdOf,
} from '@platen/contract/domain/render-id.ts'
import { hmacSha256 } from '@platen/lib/hmac.ts'

export interface CursorScope {
  readonly scope: IdScope
  /** In an order that is always the same. */
  readonly filters: readonly (string | number | undefined)[]
}

const ID_BYTES = 16
const TAG_BYTES = 16
export const CURSOR_CHARS = Math.ceil(((ID_BYTES + TAG_BYTES) * 4) / 3)

export function cursorAfter(id: RenderId, list: CursorScope, keys: KeyRing): string {
  return Buffer.concat([renderIdBytes(id), tagOf(id, list, keys[0])]).toString('base64url')
}

/** The render after which the page begins. Undefined for text that is no cursor of this list. Accepts any text. */
export function readCursor(text: string, list: CursorScope, keys: KeyRing): RenderId | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.byteLength !== ID_BYTES + TAG_BYTES) return undefined
  const id = renderIdOf(bytes.subarray(0, ID_BYTES))
  const tag = bytes.subarray(ID_BYTES)
  return keys.some((key) => timingSafeEqual(tag, tagOf(id, list, key))) ? id : undefined
}

function tagOf(id: RenderId, { scope, filters }: CursorScope, key: Uint8Array): Uint8Array {
  const { account, environment } = scope
  const list = JSON.stringify([account, environment, ...filters.map((filter) => filter ?? null)])
  return hmacSha256(key).update(`cursor:${list}:`).update(renderIdBytes(id)).digest().subarray(0, TAG_BYTES)
}
