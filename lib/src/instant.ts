import type { Instant } from './brand.ts'

/** For error messages. */
export const INSTANT_FORMAT = 'an RFC 3339 time such as 2027-01-31T23:59:59Z'

/**
 * RFC 3339, to the millisecond. Undefined for anything else, for what JavaScript cannot read (lower case, spaces, leap seconds), and for
 * fractions beyond nanoseconds, so that no text is long. `new Date(…).toISOString()` of the result parses to the same time.
 */
export function parseInstant(text: string): Instant | undefined {
  const [, day] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? []
  const at = Date.parse(text)
  if (day === undefined || Number.isNaN(at)) return undefined
  // JavaScript reads February 30 as March 2.
  if (!new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)) return undefined
  // An offset may lead to a year without four digits.
  return /^\d{4}-/.test(new Date(at).toISOString()) ? at : undefined
}
