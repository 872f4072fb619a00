/** Settings of V8's memory. */
import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the heap small, for a process that holds much data and allocates little. By default V8 lets the space of new objects grow to
 * 128 MiB, and that of old objects to twice its size before a collection. With these flags the first does not grow, and the second grows
 * by three tenths. Each collection also gives back pages with gaps: otherwise what lives long, between objects that have gone, keeps nearly
 * twice its size. That costs time if a process allocates much, so it is not for processes that render.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=30')
  setFlagsFromString('--optimize-for-size')
}

/**
 * For a process that is started with `--max-semi-space-size`, which limits the space of new objects in its main thread: threads that start
 * from now on have the limits that they are given. Otherwise V8 would prefer that of the process.
 */
export function limitMainThreadOnly(): void {
  setFlagsFromString('--max-semi-space-size=0')
}
