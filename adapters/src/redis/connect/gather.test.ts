import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { gathered } from './gather.ts'

/** A function that gathers numbers below a thousand apart from others, and the calls that it made. */
function aGatherer(call: (items: readonly number[]) => Promise<void> = async () => undefined) {
  const calls: (readonly number[])[] = []
  const gather = gathered<number>({
    nameOf: (item) => (item < 1000 ? 'small' : 'large'),
    call(items) {
      calls.push(items)
      return call(items)
    },
  })
  return { calls, gather }
}

test('makes one call of what is begun in one turn, and another of what comes later', async ({ signal }) => {
  const { calls, gather } = aGatherer()
  const later = Promise.resolve().then(() => gather(3, signal))
  await Promise.all([gather(1, signal), gather(2, signal), later])
  await setImmediate()
  await gather(4, signal)
  expect(calls).toEqual([[1, 2, 3], [4]])
})

test('makes a call of a hundred at most', async ({ signal }) => {
  const { calls, gather } = aGatherer()
  await Promise.all(Array.from({ length: 250 }, (_, i) => gather(i, signal)))
  expect(calls.map((items) => items.length)).toEqual([100, 100, 50])
  expect(calls.flat()).toEqual(Array.from({ length: 250 }, (_, i) => i))
})

test('fails all whose call fails, and no others', async ({ signal }) => {
  const { calls, gather } = aGatherer((items) =>
    items.includes(1) ? Promise.reject(new Error('away')) : Promise.resolve(),
  )
  const all = await Promise.allSettled([1, 1000, 2].map((item) => gather(item, signal)))
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
  expect(calls).toEqual([[1, 2], [1000]])
  await expect(gather(3, signal)).resolves.toBeUndefined()
})

test('lets one stop to wait, while the others go on', async ({ signal }) => {
  const answer = Promise.withResolvers<void>()
  const { calls, gather } = aGatherer(() => answer.promise)
  const [stop, reason] = [new AbortController(), new Error('enough')]
  const [stopped, waiting] = [gather(1, stop.signal), gather(2, signal)]
  stop.abort(reason)
  await expect(stopped).rejects.toBe(reason)
  await expect(gather(3, stop.signal)).rejects.toBe(reason)
  answer.resolve()
  await waiting
  expect(calls).toEqual([[1, 2]])
})
