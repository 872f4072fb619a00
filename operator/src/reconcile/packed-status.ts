/**
 * The compact form in which the statuses of all resources stay in memory. Most of a status is the same in all others, so each common
 * fragment is stored as one character. Most of its conditions changed in the same second, so that time is stored once. Deflate would need
 * less memory in the end, but far more while it runs.
 */

import { CONDITION_TYPES } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import type { Brand } from '@platen/lib/brand.ts'
import type { Status } from './status.ts'

/** Two packed statuses are equal if the statuses are equal, with their fields in the same order. */
export type PackedStatus = Brand<'PackedStatus'>

/** The common fragments of statuses, as the API server writes them. There must not be more than there are characters for them. */
const FRAGMENTS: readonly string[] = [
  '{"lastTransitionTime":"',
  '","message":"","observedGeneration":',
  ...CONDITION_TYPES.map((type) => `,"reason":"${type}","status":"True","type":"${type}"}`),
  ',"reason":"Active","status":"False","type":"Suspended"}',
  ',"reason":"InForce","status":"True","type":"Ready"}',
  '"conditions":[',
  ',"observedGeneration":',
  ...[...Object.keys(DEFAULT_LIMITS), 'rateLimitPerMinute', 'renderLimitMonthly'].map((limit) => `"${limit}":`),
  ',"effective":{',
  '"apiKeys":',
  '"templates":',
  '"usage":{"limit":',
  ',"month":"',
  '","readAt":"',
  '","reserved":0,"used":',
  '"published":{"at":"',
  '","digest":"',
  '","revision":',
  '"webhookSecret":{"name":"',
  '","namespace":"platen"}',
  '"keyId":"',
  '"engine":"Html"',
  '"engine":"ReactPdf"',
  '"code":"',
  '"sha256":"',
]
/** The first character that stands for a fragment. JSON of unaccented Latin letters has no characters from here on. */
const FIRST = 0x80
const PACKED = '\u0001'
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/
/** Stands for the time at the beginning of a packed status. */
const SAME_TIME = String.fromCharCode(FIRST + FRAGMENTS.length)

const FRAGMENT = new RegExp(FRAGMENTS.map((fragment) => RegExp.escape(fragment)).join('|'), 'g')
const CHARACTERS = new Map(FRAGMENTS.map((fragment, at) => [fragment, String.fromCharCode(FIRST + at)]))

export function packStatus(status: object): PackedStatus {
  const text = JSON.stringify(status)
  // A status that contains such characters is stored unpacked.
  const isPlain = !/[\u0080-\uffff]/.test(text)
  if (!isPlain) return text as PackedStatus
  const short = text.replace(FRAGMENT, (found) => CHARACTERS.get(found) ?? found)
  const time = TIME.exec(short)?.[0]
  return [PACKED, time, PACKED, time === undefined ? short : short.replaceAll(time, SAME_TIME)].join('') as PackedStatus
}

export function unpackStatus(packed: PackedStatus): Status {
  // JSON escapes this character, so no text contains it.
  const [, time = '', short] = packed.split(PACKED)
  const text =
    short?.replace(/[\u0080-\uffff]/g, (mark) =>
      mark === SAME_TIME ? time : (FRAGMENTS[mark.charCodeAt(0) - FIRST] ?? mark),
    ) ?? packed
  // We wrote it, or the API server validated it.
  return JSON.parse(text) as Status
}
