import { expect, test } from 'vitest'
import { holdsMoreValues } from './json.ts'

test.for<[string, number]>([
  ['', 0],
  ['"a, [b]: {c}"', 0],
  ['[]', 1],
  ['[[],[],[]]', 6],
  ['{"a":1,"b":[true,null]}', 6],
  ['["\\"[[[","\\\\",[]]', 4],
  ['["never closed,,,', 1],
])('counts the values and keys of %s', ([json, count]) => {
  expect(holdsMoreValues(json, count)).toBe(false)
  // One value more than allowed.
  expect(holdsMoreValues(`[${json}`, count)).toBe(true)
})
