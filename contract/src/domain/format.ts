/**
 * The format: one number for everything that processes of an installation store for each other. A reader ignores fields that it does not
 * know, and refuses a higher number by an error that names it. `docs/upgrades.md` has the rule.
 */
import assert from 'node:assert/strict'

/** The format that this version writes, and the highest it reads. */
export const FORMAT = 1

/** The value is not damaged: a newer version can read it. */
export class NewerFormat extends Error {
  override readonly name = 'NewerFormat'

  constructor(format: number) {
    super(`it is of format ${format}, and this version reads formats up to ${FORMAT}`)
  }
}

/** Undefined if `stated` is not higher than this version reads. Accepts anything, from any source. */
export function newerFormat(stated: unknown): NewerFormat | undefined {
  const format = typeof stated === 'string' && /^\d{1,9}$/.test(stated) ? Number(stated) : stated
  return typeof format === 'number' && format > FORMAT ? new NewerFormat(format) : undefined
}

export function encodeStored(value: object): Uint8Array {
  return Buffer.from(JSON.stringify({ version: FORMAT, ...value }))
}

/** Throws `NewerFormat`, or another error if the bytes are damaged. */
export function decodeStored(bytes: Uint8Array): object {
  const stored: unknown = JSON.parse(Buffer.from(bytes).toString())
  assert(typeof stored === 'object' && stored !== null && 'version' in stored, 'it states no format')
  const { version, ...value } = stored
  const newer = newerFormat(version)
  if (newer !== undefined) throw newer
  return value
}
