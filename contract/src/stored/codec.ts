/**
 * Codecs of our own records in logs and queues that other processes read: JSON, with its format beside it. The writer validates so that no
 * defect of ours gets in, the reader because it cannot know who wrote.
 */
import assert from 'node:assert/strict'
import type { ErrorDetail } from '../domain/error.ts'
import { type NewerFormat, newerFormat } from '../domain/format.ts'
import { compileValidator } from '../schema/validator.ts'

export interface Codec<T> {
  /** Throws if the value does not conform, which is a defect. */
  readonly encode: (value: T) => string
  /** Accepts any format, text and bytes. */
  readonly decode: (format: string | undefined, bytes: Uint8Array | null) => Decoded<T>
}

/** `fault` says in a sentence why it is not a record of ours, and quotes nothing. */
type Decoded<T> = { readonly value: T } | { readonly newer: NewerFormat } | { readonly fault: string }

const VERSION_CHARS_MAX = 32

export function codecOf<T>(schema: object): Codec<T> {
  const faultsOf = compileValidator(schema)
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const textOf = (bytes: Uint8Array) => decoder.decode(bytes)
  return {
    encode(value) {
      const faults = faultsOf(value)
      assert(faults.length === 0, `the written value does not conform to its schema: ${listed(faults)}`)
      return JSON.stringify(value)
    },
    decode(found, bytes) {
      if (found === undefined) return { fault: 'it has no version' }
      const newer = newerFormat(found)
      if (newer !== undefined) return { newer }
      if (!/^[1-9]\d{0,8}$/.test(found))
        return { fault: `version ${JSON.stringify(found.slice(0, VERSION_CHARS_MAX))} is unknown` }
      const value = parse(bytes, textOf)
      if (value === undefined) return { fault: 'it is not JSON' }
      const faults = faultsOf(value)
      // The schema has checked it; a brand only names that.
      return faults.length === 0 ? { value: value as T } : { fault: listed(faults) }
    },
  }
}

function parse(bytes: Uint8Array | null, textOf: (bytes: Uint8Array) => string): unknown {
  if (bytes === null) return undefined
  try {
    return JSON.parse(textOf(bytes))
  } catch {
    return undefined
  }
}

function listed(faults: readonly ErrorDetail[]): string {
  return faults.map(({ path, message }) => `${path || '/'} ${message}`).join(', ')
}
