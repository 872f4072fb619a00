import { expect, test } from 'vitest'
import { NEVER } from '../../test/fixture/build.ts'
import { openFairSemaphore } from './fair-semaphore.ts'

/** Acquires permits. `begun` lists the holders in order. */
function scene(options: Parameters<typeof openFairSemaphore>[0]) {
  const turns = openFairSemaphore(options)
  const begun: string[] = []
  const held = new Map<string, Disposable>()
  const settled = () => new Promise(setImmediate)
  return {
    begun,
    ask: async (...names: string[]) => {
      for (const name of names) {
        void (async () => {
          held.set(name, await turns.acquire(name.charAt(0), NEVER))
          begun.push(name)
        })()
      }
      await settled()
    },
    end: async (...names: string[]) => {
      for (const name of names) held.get(name)?.[Symbol.dispose]()
      await settled()
    },
    turns,
    settled,
  }
}

test('as many as may begin at once, and as many of one tenant', async () => {
  const { ask, begun, end } = scene({ permits: 3, permitsPerTenant: 2 })
  await ask('a1', 'a2', 'a3', 'b1', 'c1')
  expect(begun).toEqual(['a1', 'a2', 'b1'])
  await end('b1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1'])
  await end('a1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
})

test('whoever has asked for a hundred waits for whoever has asked for one', async () => {
  const { ask, begun, end } = scene({ permits: 1, permitsPerTenant: 1 })
  await ask(...Array.from({ length: 100 }, (_, at) => `a${at}`), 'b0', 'c0', 'b1')
  await end('a0')
  await end('b0')
  await end('c0')
  await end('a1')
  expect(begun).toEqual(['a0', 'b0', 'c0', 'a1', 'b1'])
})

test('who has gone has no turn, and a turn ends once', async () => {
  const { ask, begun, end, turns, settled } = scene({ permits: 1, permitsPerTenant: 1 })
  await ask('a0')
  const gone = new AbortController()
  const left = turns.acquire('b', gone.signal)
  await ask('c0', 'c1')
  gone.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  await end('a0', 'a0')
  expect(begun).toEqual(['a0', 'c0'])
  await settled()
  await expect(turns.acquire('d', AbortSignal.abort(new Error('not now')))).rejects.toThrow('not now')
  await end('c0')
  expect(begun).toEqual(['a0', 'c0', 'c1'])
})

test('a turn that comes at the moment its asker goes is given on', async () => {
  const { begun, ask, end, turns, settled } = scene({ permits: 1, permitsPerTenant: 1 })
  await ask('a0')
  const gone = new AbortController()
  const left = turns.acquire('b', gone.signal)
  await ask('c0')
  gone.abort(new Error('gone'))
  const ended = end('a0')
  await expect(left).rejects.toThrow('gone')
  await ended
  await settled()
  expect(begun).toEqual(['a0', 'c0'])
})
