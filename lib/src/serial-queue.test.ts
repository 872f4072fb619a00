import { expect, test } from 'vitest'
import { openSerialQueue } from './serial-queue.ts'

test('starts each call after the earlier ones, also after one that failed', async () => {
  const runSerially = openSerialQueue()
  const first = Promise.withResolvers<void>()
  const started: string[] = []
  const calls = [
    runSerially(async () => {
      started.push('first')
      await first.promise
    }),
    runSerially(async () => started.push('second')),
  ]
  const settled = Promise.allSettled(calls)
  await new Promise((resolve) => setImmediate(resolve))
  expect(started).toEqual(['first'])
  first.reject(new Error('failed'))
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(started).toEqual(['first', 'second'])
})

test('gives up a call that waits when its signal aborts, and no other', async () => {
  const runSerially = openSerialQueue()
  const first = Promise.withResolvers<string>()
  const [one, waiting, last] = [new AbortController(), new AbortController(), new AbortController()]
  const started: string[] = []
  const running = runSerially(() => first.promise, one.signal)
  const givenUp = runSerially(async () => started.push('waiting'), waiting.signal)
  const next = runSerially(async () => started.push('last'), last.signal)
  waiting.abort('gone')
  await expect(givenUp).rejects.toBe('gone')
  first.resolve('done')
  expect(await running).toBe('done')
  await next
  expect(started).toEqual(['last'])
})
