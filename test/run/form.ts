/** What a run tries of what there is: in the long form all of it, else what its seed chooses. */
import { randomInt } from 'node:crypto'

/** Is this the long form, as of `make soak`? It repeats by chance what `make test` tries a few times. */
export const IS_LONG = process.env['LONG'] === '1'

/** What all chance of this run is made from; `make test` prints it, and `SEED=7` makes the same choices again. */
export const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))

/** Numbers from 0 to 1, by the generator known as mulberry32: the same seed gives the same ones. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** In an order by chance. */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}

/** A third of a corpus, by the seed, in its order; in the long form all of it. `make test` runs each of them once in three times. */
export function third<T>(corpus: readonly T[]): readonly T[] {
  if (IS_LONG) return corpus
  const chosen = new Set(shuffled(corpus, seeded(SEED)).slice(0, Math.ceil(corpus.length / 3)))
  return corpus.filter((each) => chosen.has(each))
}
