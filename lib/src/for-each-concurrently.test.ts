import { expect, test } from 'vitest'
import { forEachConcurrently } from './for-each-concurrently.ts'

const immediate = () => new Promise((resolve) => setImmediate(resolve))

test('takes each item once, in order, and never more at once than allowed', async () => {
  const taken: number[] = []
  let [running, most] = [0, 0]
  await forEachConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    taken.push(item)
    running += 1
    most = Math.max(most, running)
    await immediate()
    running -= 1
  })
  expect([taken, most]).toEqual([[1, 2, 3, 4, 5, 6, 7], 3])
})

test('rejects after a failure when the running steps have ended, and starts no other', async () => {
  const slow = Promise.withResolvers<void>()
  const taken: number[] = []
  let isOver = false
  const all = forEachConcurrently([1, 2, 3, 4], 2, async (item) => {
    taken.push(item)
    if (item === 1) await slow.promise
    else throw new Error(`item ${item}`)
  }).finally(() => {
    isOver = true
  })
  all.catch(() => undefined)
  await immediate()
  expect([taken, isOver]).toEqual([[1, 2], false])
  slow.resolve()
  await expect(all).rejects.toThrow('item 2')
  expect(taken).toEqual([1, 2])
})
