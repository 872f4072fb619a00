import type { Priority } from '@platen/contract/port/operator-meter.ts'
import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { type ManualClock, manualClock } from '../../../test/fixture/memory/clock.ts'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { RECONCILE_BACK_OFF, WorkQueue, type WorkQueueOptions } from './work-queue.ts'

interface Counts {
  added: number
  deferred: number
  readonly waitedMs: number[]
  readonly workedMs: number[]
}

function opened(options: Pick<WorkQueueOptions, 'groupOf' | 'perGroupMax'> = {}) {
  const clock = manualClock()
  const counts: Counts = { added: 0, deferred: 0, waitedMs: [], workedMs: [] }
  const meter = {
    added: () => void counts.added++,
    deferred: () => void counts.deferred++,
    taken: (ms: number) => void counts.waitedMs.push(ms),
    done: (ms: number) => void counts.workedMs.push(ms),
  }
  return { clock, counts, queue: new WorkQueue({ ...options, clock, ids: seededIds('queue'), meter }) }
}

let queue: WorkQueue
let clock: ManualClock
let counts: Counts
beforeEach(() => {
  ;({ queue, clock, counts } = opened())
})

/** Takes all waiting keys, without `done`. */
async function takeAll(of = queue): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = []
  for (;;) {
    const { live, resync } = of.state().waiting
    if (live + resync === 0) return taken
    taken.push(await of.take(NEVER))
  }
}

describe('a line', () => {
  const groups = { groupOf: (key: string) => key.charAt(0), perGroupMax: 2 }

  test('has its turn after each of the others, however many wait there', async () => {
    const { queue } = opened({ ...groups, perGroupMax: 100 })
    for (const key of ['t1', 't2', 't3', 't4', 'k1', 'k2']) queue.add(key)
    expect(await takeAll(queue)).toEqual(['t1', 'k1', 't2', 'k2', 't3', 't4'])
  })

  test('has some of the workers at most, and goes on when one of its keys is given back', async () => {
    const { queue, clock } = opened(groups)
    for (const key of ['t1', 't2', 't3', 'k1']) queue.add(key)
    const taken = [await queue.take(NEVER), await queue.take(NEVER), await queue.take(NEVER)]
    expect(taken).toEqual(['t1', 'k1', 't2'])
    const next = queue.take(NEVER)
    await clock.advance(0)
    queue.done('t2')
    expect(await next).toBe('t3')
  })

  test('whose keys were changed comes before all that are only looked at again', async () => {
    const { queue } = opened(groups)
    queue.add('k1', 'resync')
    queue.add('t1')
    expect(await takeAll(queue)).toEqual(['t1', 'k1'])
  })
})

describe('a key', () => {
  test('that is added many times is given out once', async () => {
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
    expect(await takeAll()).toEqual(['a', 'b'])
    expect(counts.added).toBe(2)
  })

  test('that is added many times while it is in hand is given out once more, and not before it is given back', async () => {
    queue.add('a')
    expect(await takeAll()).toEqual(['a'])
    for (let times = 0; times < 5; times++) queue.add('a')
    expect(await takeAll()).toEqual([])
    queue.done('a')
    expect(await takeAll()).toEqual(['a'])
    queue.done('a')
    expect(await takeAll()).toEqual([])
    expect(counts.added).toBe(2)
  })

  test('that was made known by a change comes before those that are only looked at again', async () => {
    for (const key of ['a', 'b', 'c']) queue.add(key, 'resync')
    queue.add('d')
    queue.add('c')
    queue.add('d', 'resync')
    expect(await takeAll()).toEqual(['d', 'c', 'a', 'b'])
  })

  test('that is only looked at again has its turn, however many are changed', async () => {
    queue.add('old', 'resync')
    const taken: (string | undefined)[] = []
    for (let change = 0; change < 20 && !taken.includes('old'); change += 1) {
      queue.add(`new-${change}`)
      queue.add(`newer-${change}`)
      taken.push(await queue.take(NEVER))
    }
    expect(taken.indexOf('old')).toBe(8)
  })

  test('keeps the higher priority of what came while it was in hand', async () => {
    queue.add('a')
    queue.add('b', 'resync')
    await queue.take(NEVER)
    queue.add('a')
    queue.add('a', 'resync')
    queue.done('a')
    expect(await takeAll()).toEqual(['a', 'b'])
  })

  test('that somebody waits for is given to one of them', async () => {
    const takers = [queue.take(NEVER), queue.take(NEVER)]
    queue.add('a')
    expect(await Promise.race(takers)).toBe('a')
    queue.add('b')
    expect(await Promise.all(takers)).toEqual(expect.arrayContaining(['a', 'b']))
  })

  test('cannot be given back by who has not taken it', () => {
    expect(() => queue.done('a')).toThrow('only what was taken is given back')
  })
})

describe('a key that is put off', () => {
  test('waits for the sooner of two times, in either order', async () => {
    queue.addAfter('a', 100)
    queue.addAfter('a', 50)
    queue.addAfter('a', 70)
    await clock.advance(49)
    expect(await takeAll()).toEqual([])
    await clock.advance(1)
    expect(await takeAll()).toEqual(['a'])
    queue.done('a')
    await clock.advance(1000)
    expect(await takeAll()).toEqual([])
    expect(clock.armed()).toBe(0)
  })

  test('shares a timer with those that are due at the same time', async () => {
    for (let number = 0; number < 100; number++) queue.addAfter(`${number}`, 50)
    queue.addAfter('99', 20)
    expect(clock.armed()).toBe(2)
    await clock.advance(49)
    expect(await takeAll()).toEqual(['99'])
    await clock.advance(1)
    expect(await takeAll()).toHaveLength(99)
  })

  test('keeps the priority it was taken with', async () => {
    queue.add('a', 'resync')
    await queue.take(NEVER)
    queue.retry('a')
    queue.done('a')
    await clock.advance(1000)
    expect(queue.state().waiting).toEqual({ live: 0, resync: 1 })
  })

  test('by retries waits longer each time, within bounds, until it is forgotten', async () => {
    const { msMin, msMax } = RECONCILE_BACK_OFF
    const waits = Array.from({ length: 20 }, () => queue.retry('a'))
    const growing = waits.slice(0, 9)
    expect(growing).toEqual([...growing].sort((one, other) => one - other))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(msMin)
    expect(Math.max(...waits)).toBeLessThanOrEqual(msMax)
    expect(Math.min(...waits.slice(10))).toBeGreaterThanOrEqual(msMax / 2)
    queue.forget('a')
    expect(queue.retry('a')).toBeLessThanOrEqual(2 * msMin)
  })

  test('fails apart from others that fail with it', () => {
    const waits = Array.from({ length: 100 }, (_, number) => queue.retry(`${number}`))
    expect(new Set(waits).size).toBe(100)
  })
})

describe('a queue that is closed', () => {
  test('gives out nothing more, wakes who waits, and is closed when all in hand is back', async () => {
    const other = queue.take(NEVER)
    queue.add('a')
    expect(await other).toBe('a')
    const waiting = queue.take(NEVER)
    let isClosed = false
    queue.addAfter('c', 10)
    const closing = (async () => {
      await queue.close()
      isClosed = true
    })()
    for (const key of ['a', 'b']) queue.add(key)
    expect(await waiting).toBeUndefined()
    await clock.advance(10)
    expect({ isClosed, armed: clock.armed() }).toEqual({ isClosed: false, armed: 0 })
    queue.done('a')
    await closing
    expect(await queue.take(NEVER)).toBeUndefined()
  })

  test('with nothing in hand is closed at once', async () => {
    queue.add('a')
    await queue.close()
    expect(await queue.take(NEVER)).toBeUndefined()
  })
})

test('a wait for a key ends with its signal, and takes none with it', async () => {
  const over = new AbortController()
  const waiting = queue.take(over.signal)
  over.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  queue.add('a')
  expect(await queue.take(NEVER)).toBe('a')
})

test('a key is given to the next who waits when the first gives up at the moment it comes', async () => {
  const first = new AbortController()
  const [gaveUp, next] = [queue.take(first.signal), queue.take(NEVER)]
  queue.add('a')
  first.abort(new Error('over'))
  await expect(gaveUp).rejects.toThrow('over')
  expect(await next).toBe('a')
})

test('what is measured is how long keys waited, and how long they were in hand', async () => {
  queue.add('a', 'resync')
  await clock.advance(10)
  queue.add('a')
  await clock.advance(20)
  await queue.take(NEVER)
  await clock.advance(5)
  expect(queue.state()).toEqual({ waiting: { live: 0, resync: 0 }, runningMs: [5] })
  queue.done('a')
  expect(counts).toEqual({ added: 1, deferred: 0, waitedMs: [30], workedMs: [5] })
})

/** The simplest model of the queue: what it is meant to do. */
class Model {
  waiting: { readonly key: string; readonly priority: Priority }[] = []
  inHand: { readonly key: string; readonly priority: Priority; again?: Priority }[] = []
  due: { readonly key: string; readonly at: number; readonly priority: Priority }[] = []
  now = 0

  add(key: string, priority: Priority): void {
    const taken = this.inHand.find((entry) => entry.key === key)
    if (taken !== undefined) {
      taken.again = taken.again === 'live' ? 'live' : priority
      return
    }
    const known = this.waiting.find((entry) => entry.key === key)
    if (known?.priority === 'live' || known?.priority === priority) return
    this.waiting = [...this.waiting.filter((entry) => entry !== known), { key, priority }]
  }

  take(): string | undefined {
    const next = this.waiting.find(({ priority }) => priority === 'live') ?? this.waiting[0]
    if (next === undefined) return undefined
    this.waiting = this.waiting.filter((entry) => entry !== next)
    this.inHand.push({ ...next })
    return next.key
  }

  done(key: string): void {
    const again = this.inHand.find((entry) => entry.key === key)?.again
    this.inHand = this.inHand.filter((entry) => entry.key !== key)
    if (again !== undefined) this.add(key, again)
  }

  addAfter(key: string, delayMs: number): void {
    const at = this.now + delayMs
    const known = this.due.find((entry) => entry.key === key)
    if (known !== undefined && known.at <= at) return
    const priority = this.inHand.find((entry) => entry.key === key)?.priority ?? 'live'
    this.due = [...this.due.filter((entry) => entry !== known), { key, at, priority }]
  }

  advance(ms: number): void {
    this.now += ms
    const fallen = this.due.filter(({ at }) => at <= this.now)
    this.due = this.due.filter(({ at }) => at > this.now)
    // Keys with the same time keep the order in which they were deferred.
    for (const { key, priority } of fallen.sort((one, other) => one.at - other.at)) this.add(key, priority)
  }
}

const KEY = fc.constantFrom('a', 'b', 'c', 'd')
const STEP = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      key: KEY,
      priority: fc.constantFrom('live' as const, 'resync' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('done' as const), at: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('after' as const), key: KEY, ms: fc.integer({ min: 1, max: 50 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
)

test('any sequence of calls gives out what the model gives out: nothing lost, nothing twice at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), async (steps) => {
      const { clock, queue } = opened()
      const model = new Model()
      const take = async () => {
        const wanted = model.take()
        if (wanted !== undefined) expect(await queue.take(NEVER)).toBe(wanted)
        return wanted
      }
      const done = (key: string) => {
        queue.done(key)
        model.done(key)
      }
      const advance = async (ms: number) => {
        await clock.advance(ms)
        model.advance(ms)
      }
      for (const step of steps) {
        if (step.do === 'add') {
          queue.add(step.key, step.priority)
          model.add(step.key, step.priority)
        } else if (step.do === 'take') await take()
        else if (step.do === 'after') {
          queue.addAfter(step.key, step.ms)
          model.addAfter(step.key, step.ms)
        } else if (step.do === 'advance') await advance(step.ms)
        else {
          const taken = model.inHand[step.at]
          if (taken !== undefined) done(taken.key)
        }
        const of = (priority: Priority) => model.waiting.filter((entry) => entry.priority === priority).length
        expect(queue.state().waiting).toEqual({ live: of('live'), resync: of('resync') })
      }
      for (const { key } of model.inHand) done(key)
      await advance(100)
      for (let key = await take(); key !== undefined; key = await take()) done(key)
      expect(queue.state()).toEqual({ waiting: { live: 0, resync: 0 }, runningMs: [] })
    }),
    { numRuns: 500 },
  )
})
