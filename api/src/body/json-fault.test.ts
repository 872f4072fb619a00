import { assert, json, property } from 'fast-check'
import { expect, test } from 'vitest'
import { faultIndexOf } from './json-fault.ts'

test.for([
  ['{"a": True}', 6],
  ['{"a": None}', 6],
  ['{"a": +1}', 6],
  ['{"a": .5}', 6],
  ['[1,]', 3],
  ['{"a":1,}', 7],
  ["{'a':1}", 1],
  ['{"a" 1}', 5],
  ['[1 2]', 3],
  ['01', 1],
  ['"a\nb"', 2],
  ['"\\x"', 2],
  ['"\\u12g4"', 2],
  ['{"a":1', 6],
  ['', 0],
  ['template=both', 0],
  ['{} x', 3],
] as const)('%j breaks at %d', ([text, index]) => expect(faultIndexOf(text)).toBe(index))

test('no JSON has a fault', () => {
  assert(property(json(), (text) => faultIndexOf(text) === text.length))
})
