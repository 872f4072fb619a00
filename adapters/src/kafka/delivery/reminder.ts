/**
 * What stands in the topics: that something is to be looked at, and when. All else stands in the archive, so a reminder is as small
 * after the last attempt as before the first, and one that comes twice, or late, is seen to be out of date.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { compileValidator, type Validator } from '@platen/contract/schema/validator.ts'

/** Of reminders and of objects: raised with every change that an older reader would misunderstand. */
export const VERSION = 1

export interface Reminder {
  readonly version: typeof VERSION
  /** Of the delivery. */
  readonly id: string
  readonly render: RenderId
  readonly dueAt: Instant
  /** When its rung has done what it can: no later than it is due. */
  readonly ripeAt: Instant
  /** Of what it reminds of: out of date where that has gone on. */
  readonly step: number
  /** Present = one attempt that was asked for, else the next of the schedule. */
  readonly ask?: AttemptRequestKey
}

/** Which of the attempts that were asked for: its place among them, and its name, as the place is used again. */
export interface AttemptRequestKey {
  readonly number: number
  readonly nonce: string
}

/** A name that is fit to stand in a key of the artifact store. */
export const NAME = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' } as const
export const COUNT = { type: 'integer', minimum: 0 } as const

const SCHEMA = {
  type: 'object',
  required: ['version', 'id', 'render', 'dueAt', 'ripeAt', 'step'],
  properties: {
    version: { const: VERSION },
    id: NAME,
    render: NAME,
    dueAt: COUNT,
    ripeAt: COUNT,
    step: COUNT,
    ask: { type: 'object', required: ['number', 'nonce'], properties: { number: COUNT, nonce: NAME } },
  },
} as const

export type ReadReminder = (value: Uint8Array | null) => Reminder | { readonly fault: string }

/** What reads reminders. The fault says what is wrong and quotes nothing. */
export function reminderReader(): ReadReminder {
  const faultsOf = compileValidator(SCHEMA)
  return (bytes) => {
    const read = bytes === null ? { fault: 'it is empty' } : readJson(bytes, faultsOf)
    // The schema is that of the type.
    return 'fault' in read ? read : (read.value as Reminder)
  }
}

/** JSON that has to conform. */
export function readJson(
  bytes: Uint8Array,
  faultsOf: Validator,
): { readonly value: unknown } | { readonly fault: string } {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { fault: 'it is no JSON' }
  }
  // Said by itself, as it is no fault of the record's.
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined
  if (typeof version === 'number' && version !== VERSION)
    return { fault: `it is of version ${version}, not ${VERSION}` }
  const [fault] = faultsOf(value)
  return fault === undefined ? { value } : { fault: `${fault.path || '/'} ${fault.message}` }
}
