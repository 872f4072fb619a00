import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { firstAborted, raceAbort, raceFirst } from './race.ts'

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

  test('leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    await raceAbort(Promise.resolve(1), signal)
    await raceAbort(Promise.reject(new Error('no')), signal).catch(() => undefined)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('the first of some signals to abort', () => {
  test('gives its reason, also if it has aborted before', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    using first = firstAborted([one.signal, other.signal])
    expect(first.signal.aborted).toBe(false)
    other.abort('other')
    one.abort('one')
    expect(first.signal.reason).toBe('other')
    using later = firstAborted([one.signal, other.signal])
    expect(later.signal.reason).toBe('one')
  })

  test('is not followed any more after it was disposed of, and has no listener', () => {
    const one = new AbortController()
    const first = firstAborted([one.signal, AbortSignal.abort()])
    const second = firstAborted([one.signal])
    first[Symbol.dispose]()
    second[Symbol.dispose]()
    expect(getEventListeners(one.signal, 'abort')).toEqual([])
    one.abort()
    expect(second.signal.aborted).toBe(false)
  })
})

describe('some waits, of which the first counts', () => {
  const until = (signal: AbortSignal) => raceAbort(new Promise<void>(() => undefined), signal)

  test('end with the first one, which ends the others and leaves no listener', async () => {
    const { signal } = new AbortController()
    const reasons: unknown[] = []
    const other = (over: AbortSignal) => until(over).catch((reason: unknown) => void reasons.push(reason))
    await raceFirst([other, async () => undefined], signal)
    expect(reasons).toEqual(['another wait was over first'])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('all end with the reason of the signal', async () => {
    const stop = new AbortController()
    const racing = raceFirst([until, (over) => raceFirst([until, until], over)], stop.signal)
    const reason = new Error('stopped')
    stop.abort(reason)
    await expect(racing).rejects.toBe(reason)
    await expect(raceFirst([until, until], stop.signal)).rejects.toBe(reason)
  })
})
