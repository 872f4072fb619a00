/** The promises of every source of randomness. */
import type { Ids } from '@platen/lib/ids.ts'
import { describe, expect, test } from 'vitest'

export function describeIds(name: string, makeIds: () => Ids): void {
  describe(`ids: ${name}`, () => {
    test.for([0, 1, 5, 31, 32, 33, 100])('gives %d bytes when asked for so many', (bytes) => {
      expect(makeIds().random(bytes)).toHaveLength(bytes)
    })

    test('never gives the same bytes again', () => {
      const ids = makeIds()
      const drawn = Array.from({ length: 1000 }, () => Buffer.from(ids.random(8)).toString('hex'))
      expect(new Set(drawn).size).toBe(1000)
    })
  })
}
