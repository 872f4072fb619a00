import { expect, test } from 'vitest'
import { isDeeperThan } from './json-depth.ts'

function nestedArray(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
}

test.for([
  ['a text', 'text', 0],
  ['nothing', undefined, 0],
  ['null in a list', [null], 1],
  ['an object in a list in an object', { a: [{ b: 1 }] }, 3],
  ['the deepest of several', [[], [[[]]], {}], 4],
] as const)('%s is as deep as it is', ([, value, depth]) => {
  expect([isDeeperThan(value, depth - 1), isDeeperThan(value, depth)]).toEqual([depth > 0, false])
})

test('what no recursion survives is deeper than any limit', () => {
  expect(isDeeperThan(nestedArray(100_000), 1000)).toBe(true)
})
