import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the heap small, for a process that holds much data and allocates little. By default V8 lets the space of new objects grow to 128
 * MiB, and that of old objects to twice its size before a collection. With these flags the first does not grow, and the second grows by
 * three tenths. Each collection also gives back pages with gaps: otherwise long-lived objects between freed ones occupy nearly twice their
 * size. That costs time if a process allocates much, so do not use it for processes that render.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=30')
  setFlagsFromString('--optimize-for-size')
}

/**
 * For a process that is started with `--max-semi-space-size`, which limits the space of new objects in its main thread. Threads that start
 * from now on have their own limits; otherwise V8 would prefer the limit of the process.
 */
export function limitMainThreadOnly(): void {
  setFlagsFromString('--max-semi-space-size=0')
}
