/** Chooses what a run tries: everything in the long form, else what its seed selects. */
import { randomInt } from 'node:crypto'

/** Is this the long form, as in `make soak`? It repeats random trials that `make test` runs a few times. */
export const IS_LONG = process.env['LONG'] === '1'

/** The seed of all random choices in this run. `make test` prints it, and `SEED=7` repeats the choices of seed 7. */
export const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))

/** Generates numbers from 0 to 1 with the algorithm mulberry32. The same seed gives the same numbers. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}

/**
 * Returns a third of a corpus, chosen by the seed, in its original order. The long form returns all of it. So `make test` runs each item in
 * one of three runs.
 */
export function third<T>(corpus: readonly T[]): readonly T[] {
  if (IS_LONG) return corpus
  const chosen = new Set(shuffled(corpus, seeded(SEED)).slice(0, Math.ceil(corpus.length / 3)))
  return corpus.filter((each) => chosen.has(each))
}
