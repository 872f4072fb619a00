import { setImmediate } from 'node:timers/promises'
import type { CheckRequest } from '@platen/contract/domain/template-check.ts'
import { expect, onTestFinished, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { FakeThread } from '../../../test/fixture/render/fake-thread.ts'
import { ENGINE_START_MS_MAX } from '../port/availability.ts'
import type { RenderWork } from '../port/engine.ts'
import { HEAP_CHECK_MS, RENDER_THREAD_IDLE_MS, RENDER_THREAD_KEPT_MIB_MAX, SPARE_AFTER_MS } from './limit.ts'
import type { RenderTask } from './thread/message.ts'
import type { PoolWorker } from './thread/start.ts'
import { openThreadPool, RENDER_THREAD_AGE_MS_MAX, type ThreadPoolOptions, WARM_UP_AFTER_MS } from './thread-pool.ts'

// No test reads the work.
const TASK: Extract<RenderTask, { kind: 'fill' }> = { kind: 'fill', work: {} as RenderWork }

type Options = Partial<Pick<ThreadPoolOptions, 'size' | 'rendersMax' | 'patienceMs' | 'restMs' | 'startsAfter'>>

/** A pool of fake threads. Unless `isNew`, as many as its size are ready and have done one render. */
async function aPool({ size = 1, rendersMax = 1000, isNew = false, ...others }: Options & { isNew?: boolean } = {}) {
  const clock = manualClock()
  const threads: FakeThread[] = []
  const spawn = (_heapMibMax: number, isLow: boolean) => {
    const thread = new FakeThread(isLow)
    threads.push(thread)
    // The pool uses no other members of a thread than these.
    return thread as unknown as PoolWorker
  }
  const restarts: string[] = []
  const meter = { restarted: (_part: string, reason: string) => void restarts.push(reason) }
  const pool = openThreadPool({ size, clock, rendersMax, spawn, meter, ...others })
  onTestFinished(() => pool[Symbol.asyncDispose]())
  const alive = () => threads.filter(({ isAlive }) => isAlive)
  const ready = () => alive().filter(({ isReady }) => isReady)
  const start = () => {
    for (const thread of alive()) if (!thread.isReady) thread.say({ kind: 'loaded' })
  }
  start()
  if (!isNew) {
    const running = Array.from({ length: size }, () => pool.run(TASK, NEVER))
    for (let round = 0; round < size; round += 1) start()
    for (const thread of alive()) if (thread.isBusy) thread.done()
    await Promise.all(running)
  }
  /** Runs a task to its end. Afterwards its thread keeps `keptMib` of memory. */
  const run = async (keptMib = 0) => {
    const running = pool.run(TASK, NEVER)
    const thread = alive().find(({ isBusy }) => isBusy)
    if (thread === undefined) throw new Error('no thread has the task')
    thread.keptMib = keptMib
    thread.done()
    await running
    await setImmediate()
    return thread
  }
  /** Lets time pass in which there is always something to do. */
  const workFor = async (ms: number) => {
    for (let left = ms; left > 0; left -= RENDER_THREAD_IDLE_MS / 2) {
      await clock.advance(Math.min(left, RENDER_THREAD_IDLE_MS / 2))
      if (left > RENDER_THREAD_IDLE_MS / 2) await run()
    }
  }
  return { pool, clock, threads, restarts, alive, ready, start, run, workFor }
}

test('threads start for tasks that wait, one at a time, up to the size', async () => {
  const { pool, alive, ready, start } = await aPool({ size: 3, isNew: true })
  const seen = [[alive().length, ready().length]]
  const running = Array.from({ length: 4 }, () => pool.run(TASK, NEVER))
  for (let round = 0; round < 4; round += 1) {
    seen.push([alive().length, ready().length])
    start()
  }
  expect(seen).toEqual([
    [1, 1],
    [2, 1],
    [3, 2],
    [3, 3],
    [3, 3],
  ])
  expect(alive().filter(({ isBusy }) => isBusy)).toHaveLength(3)
  for (let busy = alive(); busy.length > 0; busy = alive().filter(({ isBusy }) => isBusy)) busy[0]?.done()
  await Promise.all(running)
  expect(alive()).toHaveLength(3)
})

test('a spare starts beside a task that runs long, stays with it, and takes the next task if that one is ended', async () => {
  const { pool, clock, alive, ready, start } = await aPool()
  const ended = new AbortController()
  const long = pool.run(TASK, ended.signal)
  await clock.advance(SPARE_AFTER_MS - HEAP_CHECK_MS)
  expect(alive()).toHaveLength(1)
  await clock.advance(HEAP_CHECK_MS)
  start()
  expect(ready()).toHaveLength(2)
  await clock.advance(2 * RENDER_THREAD_IDLE_MS)
  expect(ready()).toHaveLength(2)
  ended.abort(new Error('enough'))
  await expect(long).rejects.toThrow('enough')
  const next = pool.run(TASK, NEVER)
  expect(alive().map(({ isBusy }) => isBusy)).toEqual([true])
  alive()[0]?.done()
  await next
})

test('no spare starts beside a check', async () => {
  const { pool, clock, alive } = await aPool()
  const checking = pool.run({ kind: 'check', check: {} as CheckRequest }, NEVER)
  await clock.advance(10 * SPARE_AFTER_MS)
  expect(alive()).toHaveLength(1)
  alive()[0]?.done()
  await checking
})

test('a thread that is ended before it had a spare is replaced at once', async () => {
  const { pool, alive, ready, start } = await aPool({ size: 2 })
  const ended = new AbortController()
  const running = [pool.run(TASK, NEVER), pool.run(TASK, ended.signal)]
  ended.abort(new Error('enough'))
  await expect(running[1]).rejects.toThrow('enough')
  expect([alive().length, ready().length]).toEqual([2, 1])
  start()
  expect(ready()).toHaveLength(2)
  for (const thread of alive()) if (thread.isBusy) thread.done()
  await running[0]
})

test('with patience, a second thread starts only for a task that has waited that long', async () => {
  const { pool, clock, alive, ready, start } = await aPool({ size: 2, isNew: true, patienceMs: 20 })
  const running = [pool.run(TASK, NEVER), pool.run(TASK, NEVER)]
  await clock.advance(19)
  expect(alive()).toHaveLength(1)
  alive()[0]?.done()
  await running[0]
  const third = pool.run(TASK, NEVER)
  await clock.advance(19)
  expect(alive()).toHaveLength(1)
  await clock.advance(1)
  start()
  expect(ready().map(({ isBusy }) => isBusy)).toEqual([true, true])
  for (const thread of alive()) thread.done()
  await Promise.all([running[1], third])
})

test('the last thread ends after a rest, which leaves the pool available, and the next task starts one', async () => {
  const restMs = 3 * RENDER_THREAD_IDLE_MS
  const { pool, clock, alive, start } = await aPool({ size: 2, restMs })
  await clock.advance(RENDER_THREAD_IDLE_MS)
  expect(alive()).toHaveLength(1)
  await clock.advance(restMs - RENDER_THREAD_IDLE_MS - 1)
  expect(alive()).toHaveLength(1)
  await clock.advance(1)
  expect([alive(), pool.state()]).toEqual([[], 'running'])
  const running = pool.run(TASK, NEVER)
  start()
  alive()[0]?.done()
  await running
  expect(alive()).toHaveLength(1)
})

test.for([true, false])(
  'a pool that starts later is available at once, and has one thread then: a task before is %s',
  async (isAsked) => {
    const later = Promise.withResolvers<void>()
    const { pool, alive } = await aPool({ isNew: true, startsAfter: later.promise })
    expect([alive(), pool.state()]).toEqual([[], 'running'])
    if (isAsked) pool.run(TASK, NEVER).catch(() => undefined)
    expect(alive()).toHaveLength(isAsked ? 1 : 0)
    later.resolve()
    await setImmediate()
    expect(alive()).toHaveLength(1)
  },
)

test('a cold thread is left alone with the first task, unless another task waits', async () => {
  const threads: FakeThread[] = []
  const spawn = () => {
    threads.push(new FakeThread(false))
    // The pool uses no other members of a thread than these.
    return threads.at(-1) as unknown as PoolWorker
  }
  await using pool = openThreadPool({ size: 2, clock: manualClock(), spawn })
  const first = pool.run(TASK, NEVER)
  threads[0]?.say({ kind: 'loaded' })
  expect([threads.length, threads[0]?.isBusy]).toEqual([1, true])
  const second = pool.run(TASK, NEVER)
  expect(threads).toHaveLength(2)
  threads[0]?.done()
  threads[0]?.done()
  await Promise.all([first, second])
})

test('each thread that is started again is counted by its reason, and none when the pool closes', async () => {
  const { pool, restarts, alive, start, run } = await aPool({ rendersMax: 2 })
  const over = new AbortController()
  const canceled = pool.run(TASK, over.signal)
  over.abort()
  await canceled.catch(() => undefined)
  start()
  const crashed = pool.run(TASK, NEVER)
  alive()
    .find(({ isBusy }) => isBusy)
    ?.die()
  await crashed.catch(() => undefined)
  alive()
    .find(({ isReady }) => !isReady)
    ?.die()
  expect(restarts).toEqual(['canceled', 'crashed', 'not_started'])
  await pool[Symbol.asyncDispose]()
  expect(restarts).toHaveLength(3)
  expect(run).toBeDefined()
})

test.for([
  ['its number of renders', { rendersMax: 2 }, { keptMib: 0, ageMs: 0 }],
  ['more memory than a thread may keep', {}, { keptMib: RENDER_THREAD_KEPT_MIB_MAX + 1, ageMs: 0 }],
  ['its age', {}, { keptMib: 0, ageMs: RENDER_THREAD_AGE_MS_MAX }],
] as const)('a thread with %s is replaced when the next is ready, and not before', async ([, options, use]) => {
  const { alive, ready, start, run, workFor } = await aPool(options)
  await workFor(use.ageMs)
  const worn = await run(use.keptMib)
  expect(alive()).toHaveLength(2)
  expect([worn.isAlive, ready().length]).toEqual([true, 1])
  start()
  expect([worn.isAlive, ready().length]).toEqual([false, 1])
})

test.for([
  ['as many renders as it may', { rendersMax: 3 }, { keptMib: 0, ageMs: 0 }],
  ['as much memory as it may', {}, { keptMib: RENDER_THREAD_KEPT_MIB_MAX, ageMs: 0 }],
  ['nearly its age', {}, { keptMib: 0, ageMs: RENDER_THREAD_AGE_MS_MAX - 1 }],
] as const)('a thread with %s stays', async ([, options, use]) => {
  const { alive, run, workFor } = await aPool(options)
  await workFor(use.ageMs)
  await run(use.keptMib)
  expect(alive()).toHaveLength(1)
})

test('threads that wear out together go one by one, and none less than the size is ever ready', async () => {
  const size = 3
  const { pool, threads, alive, ready, start } = await aPool({ size, rendersMax: 2 })
  const first = threads.slice()
  const running = Array.from({ length: size }, () => pool.run(TASK, NEVER))
  for (const thread of first) if (thread.isBusy) thread.done()
  await Promise.all(running)
  const seen = []
  for (let round = 0; round < size; round += 1) {
    seen.push([alive().length, ready().length])
    start()
  }
  expect(seen).toEqual(Array.from({ length: size }, () => [size + 1, size]))
  expect(alive()).toHaveLength(size)
  expect(first.filter(({ isAlive }) => isAlive)).toHaveLength(0)
})

test('threads that no task has used for long end, but for one, and start again when they are needed', async () => {
  const { pool, clock, restarts, alive, ready, start, run } = await aPool({ size: 3 })
  expect(alive()).toHaveLength(3)
  await clock.advance(RENDER_THREAD_IDLE_MS / 2)
  const used = await run()
  await clock.advance(RENDER_THREAD_IDLE_MS / 2)
  // One is in use from time to time.
  expect(alive()).toEqual([used])
  await clock.advance(RENDER_THREAD_IDLE_MS)
  expect(alive()).toEqual([used])
  await clock.advance(RENDER_THREAD_IDLE_MS)
  expect([alive(), pool.state(), restarts]).toEqual([[used], 'running', []])
  const running = Array.from({ length: 3 }, () => pool.run(TASK, NEVER))
  for (let round = 0; round < 3; round += 1) start()
  expect(ready()).toHaveLength(3)
  for (const thread of alive()) if (thread.isBusy) thread.done()
  await Promise.all(running)
})

test('a thread does not end while its task runs, however long that takes', async () => {
  const { pool, clock, alive } = await aPool({ size: 2 })
  const running = Array.from({ length: 2 }, () => pool.run(TASK, NEVER))
  await clock.advance(3 * RENDER_THREAD_IDLE_MS)
  // The third is the spare.
  expect(alive()).toHaveLength(3)
  for (const thread of alive()) if (thread.isBusy) thread.done()
  await Promise.all(running)
})

test('a worn thread works on while its successor starts, and is ended with no task in it', async () => {
  const { pool, start, run } = await aPool({ rendersMax: 2 })
  const worn = await run()
  const running = pool.run(TASK, NEVER)
  expect(worn.isBusy).toBe(true)
  start()
  expect(worn.isAlive).toBe(true)
  worn.done()
  await running
  expect(worn.isAlive).toBe(false)
})

test('a successor that does not start is tried again with growing waits, and makes no more threads than one too many', async () => {
  const { clock, threads, alive, start, run } = await aPool({ rendersMax: 2 })
  await run()
  for (let round = 0; round < 20; round += 1) {
    threads.at(-1)?.die()
    await run()
    expect(alive()).toHaveLength(1)
    await clock.advance(10_000)
    expect(alive()).toHaveLength(2)
  }
  // One after each wait, whatever was rendered in the meantime.
  expect(threads).toHaveLength(2 + 20)
  for (let round = 0; round < 5; round += 1) start()
  expect(alive()).toHaveLength(1)
})

test('a spare that does not start waits its time', async () => {
  const { pool, clock, threads, alive } = await aPool()
  const long = pool.run(TASK, NEVER)
  await clock.advance(SPARE_AFTER_MS)
  threads.at(-1)?.die()
  expect(alive()).toHaveLength(1)
  await clock.advance(10_000)
  expect(alive()).toHaveLength(2)
  alive()[0]?.done()
  await long
})

test('the first thread takes tasks while it is cold, and is warmed up once it is idle', async () => {
  const { clock, threads, run } = await aPool({ isNew: true })
  for (let round = 0; round < 2; round += 1) {
    await run()
    await clock.advance(WARM_UP_AFTER_MS - 1)
  }
  expect(threads.map(({ asked }) => asked)).toEqual([['fill', 'fill']])
  await clock.advance(1)
  expect(threads.map(({ asked }) => asked)).toEqual([['fill', 'fill', 'warm_up']])
})

test('is running again with a thread that warmed up while the last ready one was given up', async () => {
  const { pool, clock, threads, start } = await aPool({ isNew: true })
  const givenUp = new AbortController()
  const running = pool.run(TASK, givenUp.signal)
  await clock.advance(SPARE_AFTER_MS)
  const spare = threads.at(-1)
  if (spare === undefined) throw new Error('there is a spare thread')
  spare.postMessage = () => undefined
  start()
  givenUp.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
  expect(pool.state()).toBe('starting')
  spare.say({ kind: 'warm' })
  expect(pool.state()).toBe('running')
})

test('is starting at first, running with a thread, and broken when none has come up for long', async () => {
  const { pool, clock, alive, start } = await aPool()
  expect(pool.state()).toBe('running')
  for (const thread of alive()) thread.die()
  expect(pool.state()).toBe('starting')
  const ready = pool.ready(NEVER)
  for (let waitedMs = 0; waitedMs <= ENGINE_START_MS_MAX; waitedMs += 100) {
    await clock.advance(100)
    for (const thread of alive()) thread.die()
  }
  expect(pool.state()).toBe('broken')
  await clock.advance(10_000)
  start()
  await ready
  expect(pool.state()).toBe('running')
})
