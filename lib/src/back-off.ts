import type { Ids } from './ids.ts'

export interface BackOff {
  readonly msMin: number
  readonly msMax: number
}

/**
 * The wait after `failures` failures in a row, counted from 1: `msMin`, doubled by each further failure, up to `msMax`. With `random`, from
 * 0 to 1, it is up to twice as long, and at `msMax` down to half as long, so that clients that failed together do not retry together.
 */
export function backOffMs(failures: number, { msMin, msMax }: BackOff, random?: number): number {
  if (random === undefined) return Math.min(msMax, msMin * 2 ** (failures - 1))
  const longest = Math.min(msMax, msMin * 2 ** failures)
  return Math.max(msMin, longest * (0.5 + random / 2))
}

export function randomFraction(ids: Ids): number {
  return Buffer.from(ids.random(4)).readUInt32BE() / 2 ** 32
}
