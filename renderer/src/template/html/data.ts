/** Reads the data of a render for Liquid, which prints numbers as they are given. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { Decimal } from 'decimal.js'

/** A number that may have more digits than a double. A text of digits has a quote before it. */
const LONG_NUMBER = /[:[,]\s*-?\d[\d.]{15}/

/** A number that a double would change, such as 9007199254740993, stays the text that it is. Filters read such texts as numbers. */
export function dataOf(json: string): JsonObject {
  // The API has parsed it: it is an object.
  if (!LONG_NUMBER.test(json)) return JSON.parse(json) as JsonObject
  const kept = (_key: string, value: unknown, { source }: { readonly source?: string }) =>
    typeof value !== 'number' || source === undefined || isKept(source, value) ? value : source
  // The compiler does not know the third parameter yet.
  return JSON.parse(json, kept as (key: string, value: unknown) => unknown) as JsonObject
}

/** Characters of a number that are kept. More are no number of anybody. */
const SOURCE_CHARS_MAX = 100

function isKept(source: string, value: number): boolean {
  return source.length > SOURCE_CHARS_MAX || new Decimal(source).eq(value)
}
