/** How long to wait before the next try, when many may be waiting for the same thing. Pure. */
import type { Ids } from './port/ids.ts'

export interface BackOff {
  readonly msMin: number
  readonly msMax: number
}

/**
 * The wait after so many failures in a row, from 1 on: twice as long each time, and anywhere in the upper half of that, so that those
 * that failed together do not come back together. Never shorter than `msMin`, never longer than `msMax`. `chance` is from 0 to 1.
 */
export function backOffMs(failures: number, random: number, { msMin, msMax }: BackOff): number {
  const longest = Math.min(msMax, msMin * 2 ** failures)
  return Math.max(msMin, longest * (0.5 + random / 2))
}

/** Anywhere from 0 to 1. */
export function randomFraction(ids: Ids): number {
  return Buffer.from(ids.random(4)).readUInt32BE() / 2 ** 32
}
