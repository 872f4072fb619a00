import { expect, onTestFinished, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { FakeThread } from '../../../test/fixture/render/fake-thread.ts'
import type { RenderWork } from '../port/engine.ts'
import { SYNC_PAUSE_MS_MAX } from '../worker/limit.ts'
import { LAST_THREAD_PATIENCE_MS, RENDER_THREAD_IDLE_MS, SPARE_AFTER_MS } from './limit.ts'
import type { RenderTask } from './thread/message.ts'
import type { PoolWorker } from './thread/start.ts'
import { openThreadPool } from './thread-pool.ts'

type Task = Extract<RenderTask, { kind: 'fill' }>
// No test reads the rest of the work.
const ASYNC: Task = { kind: 'fill', work: { isSync: false } as RenderWork }
const SYNC: Task = { kind: 'fill', work: { isSync: true } as RenderWork }

/** A pool whose first thread is ready. */
function aPool(size: number) {
  const clock = manualClock()
  const threads: FakeThread[] = []
  const spawn = (_heapMibMax: number, isLow: boolean) => {
    threads.push(new FakeThread(isLow))
    // The pool uses no other members of a thread than these.
    return threads.at(-1) as unknown as PoolWorker
  }
  const pool = openThreadPool({ size, clock, spawn, lastPatienceMs: LAST_THREAD_PATIENCE_MS })
  onTestFinished(() => pool[Symbol.asyncDispose]())
  threads[0]?.say({ kind: 'loaded' })
  const ended: string[] = []
  return {
    clock,
    threads,
    ended,
    /** Asks for a task and does not wait for it. When it has ended, `name` is in `ended`. It may still run when the pool closes. */
    ask: (task: Task, name = '', signal: AbortSignal = NEVER) => {
      const asked = pool.run(task, signal).then(() => ended.push(name))
      asked.catch(() => undefined)
      return asked
    },
    busy: () => threads.map(({ isBusy }) => isBusy),
    low: () => threads.map(({ isLow }) => isLow),
  }
}

/** A pool of three with a thread of each priority, both idle since a sync render. */
async function aPoolOfBoth() {
  const pool = aPool(3)
  const asked = [pool.ask(ASYNC), pool.ask(ASYNC)]
  pool.threads[1]?.say({ kind: 'loaded' })
  for (const thread of pool.threads) thread.done()
  await Promise.all(asked)
  const sync = pool.ask(SYNC)
  pool.threads[0]?.done()
  await sync
  return pool
}

test('a sync render goes before tasks that wait, and behind earlier sync renders', async () => {
  const { ask, threads, ended } = aPool(1)
  const asked = [ask(ASYNC, 'running'), ask(ASYNC, 'async'), ask(SYNC, 'sync 1'), ask(SYNC, 'sync 2')]
  for (const each of asked) {
    threads[0]?.done()
    await Promise.race([each, ...asked.slice(ended.length)])
  }
  await Promise.all(asked)
  expect(ended).toEqual(['running', 'sync 1', 'sync 2', 'async'])
})

test('the first thread has the priority of the process, and one that starts for async renders a low one', () => {
  const { ask, low } = aPool(3)
  void ask(ASYNC)
  void ask(ASYNC)
  expect(low()).toEqual([false, true])
})

test('a thread for which a sync render waits has the priority of the process', () => {
  const { ask, low } = aPool(3)
  void ask(ASYNC)
  void ask(SYNC)
  expect(low()).toEqual([false, false])
})

test('the spare beside a long task has the priority of the process: the next sync render needs it', async () => {
  const { ask, clock, low } = aPool(2)
  void ask(ASYNC)
  await clock.advance(SPARE_AFTER_MS)
  expect(low()).toEqual([false, false])
})

test('a thread that replaces the only one of normal priority has this priority, too', async () => {
  const { threads, low } = await aPoolOfBoth()
  threads[0]?.die()
  expect(low()).toEqual([false, true, false])
})

test.for([
  ['starting', false],
  ['idle', true],
] as const)(
  'a caller that leaves takes the only thread of normal priority, and another one starts beside one of low priority that is %s',
  async ([, isIdle]) => {
    const { ask, threads, low } = aPool(3)
    const caller = new AbortController()
    void ask(SYNC, '', caller.signal)
    const other = ask(ASYNC)
    if (isIdle) {
      threads[1]?.say({ kind: 'loaded' })
      threads[1]?.done()
      await other
    }
    caller.abort('the caller has left')
    expect(low()).toEqual([false, true, false])
  },
)

test.for([
  ['a sync render gets the thread of normal priority', SYNC, [true, false]],
  ['an async render leaves it to sync renders', ASYNC, [false, true]],
] as const)('of two idle threads, %s', async ([, task, expected]) => {
  const { ask, busy } = await aPoolOfBoth()
  void ask(task)
  expect(busy()).toEqual(expected)
})

test.for([
  ['a sync render', SYNC],
  ['an async render', ASYNC],
] as const)('%s takes the other thread if its own is busy', async ([, task]) => {
  const { ask, busy } = await aPoolOfBoth()
  void ask(task)
  void ask(task)
  expect(busy()).toEqual([true, true])
})

test('an async render that could begin between two sync renders waits for the thread that starts for it', async () => {
  const { ask, clock, threads, busy } = aPool(3)
  const sync = ask(SYNC)
  void ask(ASYNC)
  expect(threads).toHaveLength(2)
  threads[0]?.done()
  await sync
  expect(busy()).toEqual([false, false])
  await clock.advance(SYNC_PAUSE_MS_MAX - 1)
  const next = ask(SYNC)
  expect(busy()).toEqual([true, false])
  threads[0]?.done()
  await next
  threads[1]?.say({ kind: 'loaded' })
  expect(busy()).toEqual([false, true])
})

test('it no longer waits when no sync render has come for a moment', async () => {
  const { ask, clock, threads, busy } = aPool(3)
  const sync = ask(SYNC)
  void ask(ASYNC)
  threads[0]?.done()
  await sync
  await clock.advance(SYNC_PAUSE_MS_MAX - 1)
  expect(busy()).toEqual([false, false])
  await clock.advance(1)
  expect(busy()).toEqual([true, false])
})

test('it no longer waits when that thread does not start', async () => {
  const { ask, clock, threads, busy } = aPool(3)
  const sync = ask(SYNC)
  void ask(ASYNC)
  threads[1]?.die()
  threads[0]?.done()
  await sync
  expect(busy()).toEqual([true, false])
  await clock.advance(SYNC_PAUSE_MS_MAX)
})

test('the last thread starts only for a task that has waited, and the others at once', async () => {
  const { ask, clock, threads } = await aPoolOfBoth()
  void ask(ASYNC)
  void ask(ASYNC)
  void ask(SYNC)
  await clock.advance(LAST_THREAD_PATIENCE_MS - 1)
  expect(threads).toHaveLength(2)
  await clock.advance(1)
  expect(threads).toHaveLength(3)
})

test('where no sync render has come for long, a few async renders use one thread, and the other ends', async () => {
  const { ask, clock, threads } = await aPoolOfBoth()
  await clock.advance(RENDER_THREAD_IDLE_MS / 2)
  for (let round = 0; round < 3; round += 1) {
    const asked = ask(ASYNC)
    for (const thread of threads) if (thread.isBusy) thread.done()
    await asked
    await clock.advance(RENDER_THREAD_IDLE_MS / 2)
  }
  await clock.advance(RENDER_THREAD_IDLE_MS / 2)
  expect(threads.map(({ isAlive }) => isAlive)).toEqual([true, false])
})

test('of idle threads, the one of normal priority stays', async () => {
  const { ask, clock, threads } = await aPoolOfBoth()
  const last = ask(ASYNC)
  threads[1]?.done()
  await last
  await clock.advance(2 * RENDER_THREAD_IDLE_MS)
  expect(threads.map(({ isAlive }) => isAlive)).toEqual([true, false])
})
