/**
 * Encodes our own records for logs and queues that other processes read: JSON, beside the major version of its form. Both sides validate.
 * The writer so that no defect of ours gets in, the reader because it cannot know who wrote.
 */
import assert from 'node:assert/strict'
import type { ErrorDetail } from '../error.ts'
import { compileValidator } from './validator.ts'

export interface Codec<T> {
  /** Increases when readers of the previous version would misread the new form. Stored beside the record. */
  readonly version: string
  /** Throws if the value does not conform, which is a defect. */
  readonly encode: (value: T) => string
  /** The value, or why it is not a record of ours: a sentence that quotes nothing of it. Accepts any bytes. */
  readonly decode: (version: string | undefined, bytes: Uint8Array | null) => Decoded<T>
}

/** The value, or why it is not a record of ours. */
export type Decoded<T> = { readonly value: T } | { readonly fault: string }

const VERSION_CHARS_MAX = 32

/** Makes the codec of a type that the schema describes. */
export function codecOf<T>(version: string, schema: object): Codec<T> {
  const faultsOf = compileValidator(schema)
  return {
    version,
    encode(value) {
      const faults = faultsOf(value)
      assert(faults.length === 0, `the written value does not conform to its schema: ${listed(faults)}`)
      return JSON.stringify(value)
    },
    decode(found, bytes) {
      if (found === undefined) return { fault: 'it has no version' }
      if (found !== version) return { fault: `version ${JSON.stringify(found.slice(0, VERSION_CHARS_MAX))} is unknown` }
      const value = parse(bytes)
      if (value === undefined) return { fault: 'it is not JSON' }
      const faults = faultsOf(value)
      // The schema has checked it; a brand names what the schema checks of a string.
      return faults.length === 0 ? { value: value as T } : { fault: listed(faults) }
    },
  }
}

function parse(bytes: Uint8Array | null): unknown {
  if (bytes === null) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function listed(faults: readonly ErrorDetail[]): string {
  return faults.map(({ path, message }) => `${path || '/'} ${message}`).join(', ')
}
