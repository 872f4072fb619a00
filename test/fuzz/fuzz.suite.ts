/** Tries what was found before, and then a few inputs by chance; `make fuzz` goes on for as long as it is told. */
import { describe, expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { SEED } from '../run/form.ts'
import { corpusOf } from './corpus.ts'
import type { Target } from './target.ts'

export function describeFuzzing(target: Target, runs: number): void {
  describe(target.name, () => {
    const opened = shared(() => target.open())

    test.for(corpusOf(target.name))('takes or refuses what was found before: %s', async ([, input]) => {
      await opened().replay(input)
    })

    test(`takes or refuses ${runs} inputs by chance, SEED=${SEED}`, async () => {
      expect(await opened().fuzz({ seed: SEED, runs })).toEqual({ runs })
    })
  })
}
