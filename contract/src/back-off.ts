/** Computes how long to wait before the next try, when many clients may wait for the same thing. Pure. */
import type { Ids } from './port/ids.ts'

export interface BackOff {
  readonly msMin: number
  readonly msMax: number
}

/**
 * The wait after `failures` failures in a row, counted from 1. It doubles each time. The result is random within the upper half of that, so
 * that clients that failed together do not retry together. Never below `msMin`, never above `msMax`. `random` is from 0 to 1.
 */
export function backOffMs(failures: number, random: number, { msMin, msMax }: BackOff): number {
  const longest = Math.min(msMax, msMin * 2 ** failures)
  return Math.max(msMin, longest * (0.5 + random / 2))
}

/** A random number from 0 to 1. */
export function randomFraction(ids: Ids): number {
  return Buffer.from(ids.random(4)).readUInt32BE() / 2 ** 32
}
