import { describe, expect, test } from 'vitest'
import { openNotifier, raceAbort } from './notifier.ts'

describe('a bell', () => {
  test('has rung once when it is new, so that the first to wait looks first', async ({ signal }) => {
    await expect(openNotifier().wait(signal)).resolves.toBeUndefined()
  })

  test('keeps a ring for the next to wait, however many there were', async ({ signal }) => {
    const one = await quiet(signal)
    one.notify()
    one.notify()
    await one.wait(signal)
    await expect(isWaiting(one)).resolves.toBe(true)
  })

  test('wakes the one who waits', async ({ signal }) => {
    const one = await quiet(signal)
    const waiting = one.wait(signal)
    one.notify()
    await expect(waiting).resolves.toBeUndefined()
  })

  test('does not waste a ring on a wait that was walked away from', async ({ signal }) => {
    const one = await quiet(signal)
    const abandoned = one.wait(signal)
    one.notify()
    await expect(one.wait(signal)).resolves.toBeUndefined()
    await abandoned
  })

  test('stops waiting with the reason of the signal, and keeps later rings', async ({ signal }) => {
    const one = await quiet(signal)
    const stop = new AbortController()
    const waiting = one.wait(stop.signal)
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    one.notify()
    await expect(one.wait(signal)).resolves.toBeUndefined()
  })
})

describe('an abortable promise', () => {
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
    await new Promise((resolve) => setImmediate(resolve))
  })
})

/** A bell that has not rung since somebody looked. */
async function quiet(signal: AbortSignal) {
  const one = openNotifier()
  await one.wait(signal)
  return one
}

async function isWaiting(one: ReturnType<typeof openNotifier>): Promise<boolean> {
  const stop = new AbortController()
  const waiting = one.wait(stop.signal)
  stop.abort('still waiting')
  return waiting.then(
    () => false,
    (reason: unknown) => reason === 'still waiting',
  )
}
