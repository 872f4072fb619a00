/** The promises of every clock. The doc comments of the port describe them. */
import type { Clock } from '@platen/lib/clock.ts'
import { beforeEach, describe, expect, test } from 'vitest'

interface ClockHarness {
  readonly clock: Clock
  /** Advances time on clocks that do not run by themselves. */
  readonly advance: (ms: number) => Promise<void>
}

export function describeClock(name: string, makeHarness: () => ClockHarness): void {
  describe(`clock: ${name}`, () => {
    let clock: Clock
    let advance: ClockHarness['advance']
    beforeEach(() => {
      ;({ clock, advance } = makeHarness())
    })

    test('tells a plausible time in milliseconds', () => {
      expect(new Date(clock.now()).getUTCFullYear()).toBeGreaterThanOrEqual(2026)
    })

    test.for([0, 5, 20.5])('sleeps for no less than %d ms', async (ms, { signal }) => {
      const before = clock.monotonic()
      const sleeping = clock.sleep(ms, signal)
      await advance(ms)
      await sleeping
      // Timers count whole milliseconds, and read their clock at a different moment than this test.
      expect(clock.monotonic() - before).toBeGreaterThanOrEqual(ms - 1)
    })

    test('wakes sleepers in the order of their time', async ({ signal }) => {
      const woken: number[] = []
      const sleeping = [30, 10, 20].map((ms) => clock.sleep(ms, signal).then(() => woken.push(ms)))
      await advance(30)
      await Promise.all(sleeping)
      expect(woken).toStrictEqual([10, 20, 30])
    })

    test('ends a sleep with the reason of its signal, before or while it sleeps', async () => {
      const reason = new Error('enough')
      await expect(clock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason)
      const stop = new AbortController()
      const sleeping = clock.sleep(60_000, stop.signal)
      stop.abort(reason)
      await expect(sleeping).rejects.toBe(reason)
    })

    test.for([0, 5, 5.5])('aborts a time-out of %d ms with a TimeoutError', async (ms, { signal }) => {
      const timeout = clock.timeout(ms)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      timeout.addEventListener('abort', () => resolve())
      signal.addEventListener('abort', () => reject(signal.reason))
      await advance(Math.ceil(ms))
      await promise
      expect(timeout.reason).toMatchObject({ name: 'TimeoutError' })
    })

    test('takes waits of a hundred years', () => {
      const century = 100 * 365.25 * 24 * 3600 * 1000
      expect(clock.timeout(century).aborted).toBe(false)
      const stop = new AbortController()
      const sleeping = clock.sleep(century, stop.signal)
      stop.abort(new Error('long enough'))
      return expect(sleeping).rejects.toThrow('long enough')
    })
  })
}
