import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { STORE_SLOW_MS, STORING_BYTES_MAX, STORING_PER_SLOT_MAX, SYNC_STORING_PER_SLOT_MAX } from '../limit.ts'
import { openStoringRenders } from './storing-renders.ts'

/** The set of two slots, and renders that end when the test wants it. */
function aSet() {
  const clock = manualClock()
  const renders = openStoringRenders({ clock, slots: 2 })
  const left: string[] = []
  const add = (name: string, bytes = 0, isSync = false) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wait = async () => {
      await renders.add({ bytes, isSync }, promise)
      left.push(name)
    }
    void wait()
    return { end: resolve }
  }
  const addMany = (count: number, bytes = 0) => Array.from({ length: count }, () => add('many', bytes))
  return { clock, renders, left, add, addMany }
}

test('slots wait when as many renders are stored as there may be', async () => {
  const { renders, left, add, addMany } = aSet()
  const [first] = addMany(2 * STORING_PER_SLOT_MAX)
  add('next')
  await setImmediate()
  expect([left.length, renders.count()]).toEqual([2 * STORING_PER_SLOT_MAX, 2 * STORING_PER_SLOT_MAX])
  first?.end()
  await setImmediate()
  expect([left.at(-1), renders.count()]).toEqual(['next', 2 * STORING_PER_SLOT_MAX])
})

test('a sync render has room where no other one has', async () => {
  const { left, add, addMany } = aSet()
  addMany(2 * STORING_PER_SLOT_MAX)
  add('async')
  for (let at = 2 * STORING_PER_SLOT_MAX; at < 2 * SYNC_STORING_PER_SLOT_MAX; at += 1) add('sync', 0, true)
  add('one too many', 0, true)
  await setImmediate()
  expect(left).toHaveLength(2 * SYNC_STORING_PER_SLOT_MAX)
  expect(new Set(left)).toEqual(new Set(['many', 'sync']))
})

test('a slot waits when its PDF is one too many, and the slot of a smaller one does not', async () => {
  const { left, add } = aSet()
  const large = add('large', STORING_BYTES_MAX)
  add('one byte', 1)
  add('none')
  await setImmediate()
  expect(left).toEqual(['large', 'none'])
  large.end()
  await setImmediate()
  expect(left).toEqual(['large', 'none', 'one byte'])
})

test('a PDF that is larger than all may be keeps its slot until it is stored', async () => {
  const { renders, left, add } = aSet()
  const { end } = add('huge', STORING_BYTES_MAX + 1)
  await setImmediate()
  expect([left, renders.count()]).toEqual([[], 0])
  end()
  await setImmediate()
  expect([left, renders.count()]).toEqual([['huge'], 0])
})

test('while the store is slow, each slot waits until its render is stored', async () => {
  const { clock, left, add } = aSet()
  const slow = add('slow')
  await clock.advance(STORE_SLOW_MS + 1)
  slow.end()
  await setImmediate()
  const next = add('next')
  await setImmediate()
  expect(left).toEqual(['slow'])
  next.end()
  await setImmediate()
  // It was stored in time, so the store is quick again.
  add('another')
  await setImmediate()
  expect(left).toEqual(['slow', 'next', 'another'])
})

test('it has ended when all are over', async () => {
  const { renders, addMany } = aSet()
  const [one, other] = addMany(2)
  await setImmediate()
  let isOver = false
  const wait = async () => {
    await renders.ended()
    isOver = true
  }
  const ended = wait()
  one?.end()
  await setImmediate()
  expect(isOver).toBe(false)
  other?.end()
  await ended
})
