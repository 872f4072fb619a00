import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { raceAbort } from './race.ts'

describe('a promise that races an abort', () => {
  test('settles as the promise does', async ({ signal }) => {
    await expect(raceAbort(Promise.resolve(1), signal)).resolves.toBe(1)
    await expect(raceAbort(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  })

  test('rejects with the reason of a signal that aborted first', async () => {
    const reason = new Error('gone')
    await expect(raceAbort(Promise.resolve(1), AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('that nobody looks at any more may reject without ending the process', async () => {
    // Vitest fails a run in which a rejection stays unhandled.
    const late = Promise.withResolvers<never>()
    await expect(raceAbort(late.promise, AbortSignal.abort('gone'))).rejects.toBe('gone')
    late.reject(new Error('unheard'))
    await setImmediate()
  })
})
