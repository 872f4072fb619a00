import { expect, test } from 'vitest'
import { seededIds } from '../../test/fixture/memory/ids.ts'
import { randomSecret } from './random-secret.ts'

test('a secret uses every letter equally often', () => {
  const counts = new Map<string, number>()
  const ids = seededIds('letters')
  for (let round = 0; round < 100; round++)
    for (const letter of randomSecret(ids).split('')) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  expect(counts.size).toBe(62)
  // 4300 draws: the first eight letters together 555 times, plus or minus 22. A plain modulo would give 672.
  const first = '01234567'.split('').map((letter) => counts.get(letter) ?? 0)
  expect(Math.abs(first.reduce((sum, count) => sum + count) - 555)).toBeLessThan(4 * 22)
})
