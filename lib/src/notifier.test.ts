import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { openNotifier } from './notifier.ts'

describe('a notifier', () => {
  test('was notified once when it is new, so that the first to wait looks first', async ({ signal }) => {
    await expect(openNotifier().wait(signal)).resolves.toBeUndefined()
  })

  test('keeps a notification for the next to wait, however many there were', async ({ signal }) => {
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

  test('does not waste a notification on a wait that was abandoned', async ({ signal }) => {
    const one = await quiet(signal)
    const abandoned = one.wait(signal)
    one.notify()
    await expect(one.wait(signal)).resolves.toBeUndefined()
    await abandoned
  })

  test('stops waiting with the reason of the signal, and keeps later notifications', async ({ signal }) => {
    const one = await quiet(signal)
    const stop = new AbortController()
    const waiting = one.wait(stop.signal)
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    one.notify()
    await expect(one.wait(signal)).resolves.toBeUndefined()
  })

  test('forgets a wait that was abandoned, even if it is never notified', async ({ signal }) => {
    setFlagsFromString('--expose-gc')
    const one = await quiet(signal)
    const abandon = async () => {
      const stop = new AbortController()
      const waiting = one.wait(stop.signal)
      stop.abort('enough')
      await expect(waiting).rejects.toBe('enough')
      return new WeakRef(stop.signal)
    }
    const signals = await Promise.all(Array.from({ length: 10 }, abandon))
    // What was made or looked at in this turn is kept until its end.
    await setImmediate()
    runInNewContext('gc')()
    expect(signals.filter((each) => each.deref() !== undefined)).toEqual([])
    one.notify()
  })
})

/** A notifier that was not notified since the last wait. */
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
