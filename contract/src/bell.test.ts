import { describe, expect, test } from 'vitest'
import { abortable, bell } from './bell.ts'

describe('a bell', () => {
  test('has rung once when it is new, so that the first to wait looks first', async ({ signal }) => {
    await expect(bell().rung(signal)).resolves.toBeUndefined()
  })

  test('keeps a ring for the next to wait, however many there were', async ({ signal }) => {
    const one = await quiet(signal)
    one.ring()
    one.ring()
    await one.rung(signal)
    await expect(isWaiting(one)).resolves.toBe(true)
  })

  test('wakes the one who waits', async ({ signal }) => {
    const one = await quiet(signal)
    const waiting = one.rung(signal)
    one.ring()
    await expect(waiting).resolves.toBeUndefined()
  })

  test('does not waste a ring on a wait that was walked away from', async ({ signal }) => {
    const one = await quiet(signal)
    const abandoned = one.rung(signal)
    one.ring()
    await expect(one.rung(signal)).resolves.toBeUndefined()
    await abandoned
  })

  test('stops waiting with the reason of the signal, and keeps later rings', async ({ signal }) => {
    const one = await quiet(signal)
    const stop = new AbortController()
    const waiting = one.rung(stop.signal)
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    one.ring()
    await expect(one.rung(signal)).resolves.toBeUndefined()
  })
})

describe('an abortable promise', () => {
  test('settles as the promise does', async ({ signal }) => {
    await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1)
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  })

  test('rejects with the reason of a signal that aborted first', async () => {
    const reason = new Error('gone')
    await expect(abortable(Promise.resolve(1), AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('that nobody looks at any more may reject without ending the process', async () => {
    // Vitest fails a run in which a rejection stays unhandled.
    const late = Promise.withResolvers<never>()
    await expect(abortable(late.promise, AbortSignal.abort('gone'))).rejects.toBe('gone')
    late.reject(new Error('unheard'))
    await new Promise((resolve) => setImmediate(resolve))
  })
})

/** A bell that has not rung since somebody looked. */
async function quiet(signal: AbortSignal) {
  const one = bell()
  await one.rung(signal)
  return one
}

async function isWaiting(one: ReturnType<typeof bell>): Promise<boolean> {
  const stop = new AbortController()
  const waiting = one.rung(stop.signal)
  stop.abort('still waiting')
  return waiting.then(
    () => false,
    (reason: unknown) => reason === 'still waiting',
  )
}
