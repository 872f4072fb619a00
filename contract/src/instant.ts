import type { Instant } from './brand.ts'

/** What a time is asked for as. */
export const INSTANT_FORMAT = 'a time of RFC 3339, as 2027-01-31T23:59:59Z'

/**
 * The time of RFC 3339 that a text says, to the millisecond; undefined where it says none. Without what the RFC allows and
 * JavaScript cannot read: lower case, spaces, leap seconds; and without parts of a nanosecond, so that no text is long.
 * `new Date(…).toISOString()` of the answer reads as the same time.
 */
export function parseInstant(text: string): Instant | undefined {
  const [, day] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? []
  const at = Date.parse(text)
  if (day === undefined || Number.isNaN(at)) return undefined
  // JavaScript takes February 30 for March 2.
  if (!new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)) return undefined
  // An offset may lead out of the years that have four digits.
  return /^\d{4}-/.test(new Date(at).toISOString()) ? at : undefined
}
