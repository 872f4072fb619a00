import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { logTo, NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { RECONCILE_MS_MAX } from './limit.ts'
import { WorkQueue } from './work-queue.ts'
import { runWorkers, type WorkerOptions } from './worker.ts'

const UNCOUNTED = { added: () => undefined, deferred: () => undefined, taken: () => undefined, done: () => undefined }

/** Workers on a manual clock, with their metrics and logs. */
function working(reconcile: WorkerOptions['reconcile'], { workers = 1, signal = NEVER } = {}) {
  const clock = manualClock()
  const queue = new WorkQueue({ clock, ids: seededIds('worker'), meter: UNCOUNTED })
  const calls: string[] = []
  let busy = 0
  const meter: WorkerOptions['meter'] = {
    busy() {
      busy++
      return { [Symbol.dispose]: () => void busy-- }
    },
    reconciled: (result) => void calls.push(result),
  }
  const log = logTo(({ message }) => calls.push(message))
  const ended = runWorkers({ queue, workers, reconcile, meter, clock, log }, signal)
  /** After the advance, the work has reached its first wait. */
  const add = async (key: string) => {
    queue.add(key)
    await clock.advance(0)
  }
  return { clock, queue, add, calls, ended, busy: () => busy }
}

describe('a look at an object', () => {
  test('that succeeds is not repeated', async () => {
    const { clock, add, calls } = working(async () => undefined)
    await add('a')
    await clock.advance(3_600_000)
    expect(calls).toEqual(['success'])
  })

  test('that fails is repeated until it succeeds', async () => {
    let failures = 3
    const { clock, add, calls } = working(async () => {
      if (failures-- > 0) throw new Error('not yet')
      return undefined
    })
    await add('a')
    await clock.advance(5000)
    const failed = ['error', 'reconcile failed']
    expect(calls).toEqual([...failed, ...failed, ...failed, 'success'])
  })

  test('that wants another gets it at its time', async () => {
    const at: number[] = []
    const { clock, add, calls } = working(async () => {
      at.push(clock.monotonic())
      return at.length === 1 ? 60_000 : undefined
    })
    await add('a')
    await clock.advance(120_000)
    expect({ at, calls }).toEqual({ at: [0, 60_000], calls: ['requeue_after', 'success'] })
  })

  test('has a time limit, and then fails', async () => {
    const { clock, add, calls } = working((_key, signal) => clock.sleep(1e9, signal).then(() => undefined))
    await add('a')
    await clock.advance(RECONCILE_MS_MAX - 1)
    expect(calls).toEqual([])
    await clock.advance(1)
    expect(calls).toEqual(['error', 'reconcile failed'])
  })

  test('that heeds no time limit keeps its object from everybody else', async () => {
    let looks = 0
    const stuck = Promise.withResolvers<undefined>()
    const { clock, add } = working(
      () => {
        looks++
        return stuck.promise
      },
      { workers: 4 },
    )
    await add('a')
    await clock.advance(10 * RECONCILE_MS_MAX)
    await add('a')
    expect(looks).toBe(1)
    stuck.resolve(undefined)
    await clock.advance(0)
    expect(looks).toBe(2)
  })
})

describe('workers', () => {
  test('end when the queue is closed, with what they have in hand', async () => {
    const { clock, queue, add, calls, ended, busy } = working(
      (_key, signal) => clock.sleep(1000, signal).then(() => undefined),
      { workers: 2 },
    )
    for (const key of ['a', 'b', 'c']) await add(key)
    expect(busy()).toBe(2)
    const closed = queue.close()
    await clock.advance(1000)
    await Promise.all([closed, ended])
    expect({ calls, busy: busy() }).toEqual({ calls: ['success', 'success'], busy: 0 })
  })

  test('end at once when they are no longer wanted, and retry nothing', async () => {
    const over = new AbortController()
    const { clock, queue, add, calls, ended } = working(
      (_key, signal) => clock.sleep(1000, signal).then(() => undefined),
      {
        workers: 3,
        signal: over.signal,
      },
    )
    await add('a')
    over.abort()
    await ended
    expect({ calls, armed: clock.armed() }).toEqual({ calls: ['error'], armed: 1 })
    await queue.close()
  })

  test('look at every object after its last change, and never at one of them twice at once', async () => {
    const change = fc.record({ key: fc.constantFrom('a', 'b', 'c'), afterMs: fc.nat(30) })
    const look = fc.record({ ms: fc.nat(40), fails: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 30 }),
        fc.array(look, { maxLength: 40 }),
        async (changes, looks) => {
          const current = new Map<string, number>()
          const seen = new Map<string, number>()
          const inHand = new Set<string>()
          const { clock, add } = working(
            async (key, signal) => {
              expect(inHand.has(key)).toBe(false)
              inHand.add(key)
              const version = current.get(key) ?? 0
              const { ms, fails } = looks.shift() ?? { ms: 1, fails: false }
              await clock.sleep(ms, signal)
              inHand.delete(key)
              if (fails) throw new Error('by chance')
              seen.set(key, version)
              return undefined
            },
            { workers: 2 },
          )
          for (const { key, afterMs } of changes) {
            await clock.advance(afterMs)
            current.set(key, (current.get(key) ?? 0) + 1)
            await add(key)
          }
          // Longer than all reconciles that may fail, with their waits.
          await clock.advance(4_000_000)
          expect(seen).toEqual(current)
        },
      ),
      { numRuns: 200 },
    )
  })
})
