/**
 * The records of the topics: which delivery to process, and when. The delivery store keeps everything else. So a reminder stays small, and
 * a duplicate or late one is recognized as out of date.
 */

import { FORMAT, type NewerFormat, newerFormat } from '@platen/contract/domain/format.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { compileValidator, type Validator } from '@platen/contract/schema/validator.ts'
import type { Instant } from '@platen/lib/brand.ts'

export interface Reminder {
  readonly id: string
  readonly render: RenderId
  readonly dueAt: Instant
  /** When the wait in its delay topic ends; no later than `dueAt`. */
  readonly ripeAt: Instant
  /** Step of the progress when the reminder was sent. The reminder is out of date if the progress has moved on. */
  readonly step: number
  /** Present = a requested attempt; absent = the next one of the schedule. */
  readonly ask?: AttemptRequestKey
}

/** The number alone is not unique, since numbers are used again. */
export interface AttemptRequestKey {
  readonly number: number
  readonly nonce: string
}

/** A name that may be part of a key in the artifact store. */
export const NAME = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' } as const
export const COUNT = { type: 'integer', minimum: 0 } as const
export const VERSION = { type: 'integer', minimum: 1, maximum: FORMAT } as const

const SCHEMA = {
  type: 'object',
  required: ['version', 'id', 'render', 'dueAt', 'ripeAt', 'step'],
  properties: {
    version: VERSION,
    id: NAME,
    render: NAME,
    dueAt: COUNT,
    ripeAt: COUNT,
    step: COUNT,
    ask: { type: 'object', required: ['number', 'nonce'], properties: { number: COUNT, nonce: NAME } },
  },
} as const

/** Why something stored is not read. `fault` quotes nothing of it. */
export type Unread = { readonly newer: NewerFormat } | { readonly fault: string }

type ReadReminder = (value: Uint8Array | null) => { readonly value: Reminder } | Unread

export function reminderReader(): ReadReminder {
  const faultsOf = compileValidator(SCHEMA)
  return (bytes) => {
    const read = bytes === null ? { fault: 'it is empty' } : readJson(bytes, faultsOf)
    // The schema matches the type.
    return 'value' in read ? { value: read.value as Reminder } : read
  }
}

/** Parses JSON, validates it, and returns it without its format. */
export function readJson(bytes: Uint8Array, faultsOf: Validator): { readonly value: unknown } | Unread {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { fault: 'it is not JSON' }
  }
  if (typeof value !== 'object' || value === null) return { fault: 'it is no object' }
  const { version, ...content } = { version: undefined, ...value }
  const newer = newerFormat(version)
  if (newer !== undefined) return { newer }
  const [fault] = faultsOf(value)
  return fault === undefined ? { value: content } : { fault: `${fault.path || '/'} ${fault.message}` }
}
