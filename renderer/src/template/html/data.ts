/** Reads the data of a render for Liquid, which prints numbers as they are given. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { Decimal } from 'decimal.js'

/** A number that may have more digits than a double. The pattern does not match digits in a string. */
const LONG_NUMBER = /[:[,]\s*-?\d[\d.]{15}/

/** A number that a double would change, such as 9007199254740993, becomes a string of its digits. Filters read such strings as numbers. */
export function dataOf(json: string): JsonObject {
  // The API has checked that it is an object.
  if (!LONG_NUMBER.test(json)) return JSON.parse(json) as JsonObject
  const kept = (_key: string, value: unknown, { source }: { readonly source?: string }) =>
    typeof value !== 'number' || source === undefined || isKept(source, value) ? value : source
  // TypeScript does not know the third parameter yet.
  return JSON.parse(json, kept as (key: string, value: unknown) => unknown) as JsonObject
}

/** Longer numbers become doubles: nobody means them. */
const SOURCE_CHARS_MAX = 100

function isKept(source: string, value: number): boolean {
  return source.length > SOURCE_CHARS_MAX || new Decimal(source).eq(value)
}
