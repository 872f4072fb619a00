/**
 * Statuses as they are kept, of every resource there is: most of a status stands in all others as well, so what they have in common
 * is kept as one character of it. To deflate them would take less memory in the end, and far more on the way there.
 */
import type { Brand } from '@platen/contract/brand.ts'
import { CONDITION_TYPES } from '@platen/contract/resource.ts'
import { DEFAULT_LIMITS } from '@platen/contract/tenant.ts'
import type { Status } from './status.ts'

/** Equal where the statuses are, in the order of their fields. */
export type PackedStatus = Brand<'PackedStatus'>

/** Most that statuses consist of, as the API server writes it; no more than there are characters for. */
const FRAGMENTS: readonly string[] = [
  '{"lastTransitionTime":"',
  '","message":"","observedGeneration":',
  ...CONDITION_TYPES.map((type) => `,"reason":"${type}","status":"True","type":"${type}"}`),
  ',"reason":"Active","status":"False","type":"Suspended"}',
  '"conditions":[',
  ',"observedGeneration":',
  ...[...Object.keys(DEFAULT_LIMITS), 'rateLimitPerMinute', 'renderLimitMonthly'].map((limit) => `"${limit}":`),
  ',"effective":{',
  '"apiKeys":',
  '"templates":',
  '"published":{"at":"',
  '","digest":"',
  '","revision":',
  '"webhookSecret":{"name":"',
  '","namespace":"platen"}',
  '"keyId":"',
  '"sha256":"',
]
/** The first of the characters that stand for them: those after it are in no JSON of Latin letters without accents. */
const FIRST = 0x80
const PACKED = '\u0001'

const FRAGMENT = new RegExp(FRAGMENTS.map((fragment) => RegExp.escape(fragment)).join('|'), 'g')
const CHARACTERS = new Map(FRAGMENTS.map((fragment, at) => [fragment, String.fromCharCode(FIRST + at)]))

export function packStatus(status: object): PackedStatus {
  const text = JSON.stringify(status)
  // What has characters of its own from there on is kept as it is.
  const isPlain = !/[\u0080-\uffff]/.test(text)
  const packed = isPlain ? `${PACKED}${text.replace(FRAGMENT, (found) => CHARACTERS.get(found) ?? found)}` : text
  return packed as PackedStatus
}

export function unpackStatus(packed: PackedStatus): Status {
  const text = packed.startsWith(PACKED)
    ? packed.slice(PACKED.length).replace(/[\u0080-\uffff]/g, (mark) => FRAGMENTS[mark.charCodeAt(0) - FIRST] ?? mark)
    : packed
  // We wrote it, or the API server has held it against its schema.
  return JSON.parse(text) as Status
}
