import { WEBHOOK_CALLS_MAX, WEBHOOK_CALLS_PER_HOST_MAX, WEBHOOK_DEFER_MS_MAX } from '@platen/contract/domain/limit.ts'
import { array, assert, constant, integer, nat, oneof, property, record } from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { FairQueue, type QueueKey } from './fair-queue.ts'
import {
  WEBHOOK_CALLS_OF_NEW_HOST,
  WEBHOOK_CALLS_PER_TENANT_MAX,
  WEBHOOK_HOSTS_KNOWN_MAX,
  WEBHOOK_SLOW_MS,
  WEBHOOK_WAITING_MAX,
  WEBHOOK_WAITING_PER_HOST_MAX,
} from './limit.ts'

interface Item extends QueueKey {
  readonly number: number
}

let queue: FairQueue<Item>
let numbered = 0
beforeEach(() => {
  queue = new FairQueue()
  numbered = 0
})

function add(count: number, origin = 'https://a', account = 'acme'): boolean[] {
  return Array.from({ length: count }, () => {
    numbered += 1
    const item = { account, origin, number: numbered }
    return queue.add(item) !== item
  })
}

/** Starts every call that may start. */
function begin(): Item[] {
  const begun: Item[] = []
  for (let item = queue.next(); item !== undefined; item = queue.next()) begun.push(item)
  return begun
}

const QUICK = 10
const SLOW = WEBHOOK_SLOW_MS + 1

describe('a host', () => {
  test('has few calls at once at first, in the order they came', () => {
    add(10)
    expect(begin().map(({ number }) => number)).toEqual([1, 2].slice(0, WEBHOOK_CALLS_OF_NEW_HOST))
  })

  test('that answers quickly has more and more, up to a bound', () => {
    const atOnce: number[] = []
    let calling: Item[] = []
    for (let round = 0; round < 12; round++) {
      add(16)
      calling.push(...begin())
      atOnce.push(calling.length)
      for (const item of calling.splice(0, 1)) queue.ended(item, QUICK)
      calling = [...calling]
    }
    expect(atOnce.slice(0, 4)).toEqual([2, 3, 4, 5])
    expect(Math.max(...atOnce)).toBe(WEBHOOK_CALLS_PER_HOST_MAX)
  })

  test('that is slow has one at a time', () => {
    add(8)
    for (const item of begin()) queue.ended(item, QUICK)
    for (const item of begin()) queue.ended(item, SLOW)
    expect(begin()).toHaveLength(1)
    expect(begin()).toHaveLength(0)
  })

  test('has a place for so many that wait, and no more', () => {
    expect(add(WEBHOOK_WAITING_PER_HOST_MAX + 1).lastIndexOf(true)).toBe(WEBHOOK_WAITING_PER_HOST_MAX - 1)
    expect(add(1, 'https://b')).toEqual([true])
  })

  test('is another host for another account', () => {
    add(4)
    for (const item of begin()) queue.ended(item, SLOW)
    add(4, 'https://a', 'globex')
    const begun = begin().map(({ account }) => account)
    expect(begun.toSorted()).toEqual(['acme', 'globex', 'globex'])
  })

  test('is remembered as slow when it has nothing to do, and forgotten when too many others are known', () => {
    const isNew = () => {
      add(2)
      const begun = begin()
      for (const item of begun) queue.ended(item, SLOW)
      for (const item of begin()) queue.ended(item, SLOW)
      return begun.length === WEBHOOK_CALLS_OF_NEW_HOST
    }
    expect([isNew(), isNew()]).toEqual([true, false])
    for (let at = 0; at < WEBHOOK_HOSTS_KNOWN_MAX; at++) {
      add(1, `https://${at}`)
      for (const item of begin()) queue.ended(item, QUICK)
    }
    expect(isNew()).toBe(true)
  })
})

describe('those who wait', () => {
  test('take turns: accounts first, then the hosts of an account', () => {
    add(2, 'https://a', 'acme')
    add(2, 'https://b', 'acme')
    add(2, 'https://c', 'globex')
    expect(begin().map(({ origin }) => origin.at(-1))).toEqual(['a', 'c', 'b', 'c', 'a', 'b'])
  })

  test('are begun by one account so often at once, which leaves room for others', () => {
    for (let at = 0; at < WEBHOOK_CALLS_PER_TENANT_MAX; at++) add(2, `https://${at}`)
    const begun = begin()
    expect(begun).toHaveLength(WEBHOOK_CALLS_PER_TENANT_MAX)
    add(1, 'https://a', 'globex')
    expect(begin().map(({ account }) => account)).toEqual(['globex'])
    for (const item of begun.slice(0, 3)) queue.ended(item, QUICK)
    expect(begin()).toHaveLength(3)
  })

  test('are begun once by each account that has no call, whatever those before have taken', () => {
    const hanging: Item[] = []
    for (let at = 0; at < 100; at++) {
      for (let host = 0; host < WEBHOOK_CALLS_PER_TENANT_MAX; host++) {
        add(1, `https://${host}`, `hangs-${at}`)
        hanging.push(...begin())
      }
    }
    const calls = Map.groupBy(hanging, ({ account }) => account)
    expect([calls.size, calls.get('hangs-0')?.length, calls.get('hangs-1')?.length]).toEqual([100, 128, 64])
    add(1, 'https://a', 'globex')
    expect(begin().map(({ account }) => account)).toEqual(['globex'])
  })

  test('are begun so often at once in all', () => {
    for (let at = 0; at < WEBHOOK_CALLS_MAX; at++) add(1, 'https://a', `account-${at}`)
    add(1, 'https://b', 'last')
    const begun = begin()
    expect(begun).toHaveLength(WEBHOOK_CALLS_MAX)
    const [first] = begun
    if (first !== undefined) queue.ended(first, SLOW)
    expect(begin().map(({ account }) => account)).toEqual(['last'])
  })

  test('are so many, and no more', () => {
    const hosts = WEBHOOK_WAITING_MAX / WEBHOOK_WAITING_PER_HOST_MAX
    for (let at = 0; at < hosts; at++) add(WEBHOOK_WAITING_PER_HOST_MAX, `https://${at}`)
    expect(add(1, 'https://z')).toEqual([false])
    begin()
    expect(add(1, 'https://z')).toEqual([true])
  })

  test('wait for none that hangs: with 20 hosts that do, 100 others are all called', () => {
    for (let at = 0; at < 20; at++) add(50, `https://hangs-${at}`)
    const hanging = begin()
    for (let at = 0; at < 100; at++) add(10, `https://good-${at}`)
    let answered = 0
    for (let begun = begin(); begun.length > 0; begun = begin()) {
      for (const item of begun) {
        expect(item.origin).toContain('good')
        queue.ended(item, QUICK)
        answered += 1
      }
    }
    expect([hanging.length, answered]).toEqual([20 * WEBHOOK_CALLS_OF_NEW_HOST, 1000])
  })
})

describe('what finds no room', () => {
  test('is the newest of the account with most that wait, when another with fewer comes', () => {
    for (let at = 0; at < WEBHOOK_WAITING_MAX / WEBHOOK_WAITING_PER_HOST_MAX; at++)
      add(WEBHOOK_WAITING_PER_HOST_MAX, `https://${at}`)
    const newcomer = { account: 'globex', origin: 'https://a', number: 0 }
    expect(queue.add(newcomer)).toEqual({ account: 'acme', origin: 'https://0', number: WEBHOOK_WAITING_PER_HOST_MAX })
    expect(queue.held()).toEqual({ waiting: WEBHOOK_WAITING_MAX, calling: 0 })
    expect(begin()).toContain(newcomer)
  })

  test('is never of an account that has less than its share, nor is it lost, whoever comes and goes', () => {
    const TENANTS = 12
    const arriving = record({
      account: nat(TENANTS - 1),
      host: nat(90),
      count: integer({ min: 1, max: 200 }),
    })
    const step = oneof({ weight: 6, arbitrary: arriving }, { weight: 1, arbitrary: constant('ends' as const) })
    assert(
      property(array(step, { minLength: 60, maxLength: 120 }), (steps) => {
        const full = new FairQueue<Item>()
        const waiting = new Map<string, Set<Item>>()
        const calling: Item[] = []
        const left = (item: Item) => expect(waiting.get(item.account)?.delete(item)).toBe(true)
        for (const each of steps) {
          if (each === 'ends') for (const item of calling.splice(0)) full.ended(item, SLOW)
          else
            for (let number = 0; number < each.count; number++) {
              const item = { account: `${each.account}`, origin: `https://${each.host + (number % 7)}`, number }
              const own = waiting.get(item.account) ?? new Set()
              waiting.set(item.account, own.add(item))
              const deferred = full.add(item)
              if (deferred === undefined) continue
              left(deferred)
              if (deferred !== item)
                expect(waiting.get(deferred.account)?.size).toBeGreaterThanOrEqual(
                  Math.floor(WEBHOOK_WAITING_MAX / TENANTS),
                )
            }
          for (let item = full.next(); item !== undefined; item = full.next()) {
            left(item)
            calling.push(item)
          }
          const held = [...waiting.values()].reduce((sum, { size }) => sum + size, 0)
          expect(full.held()).toEqual({ waiting: held, calling: calling.length })
        }
      }),
      // To make a failure smaller takes it many minutes.
      { numRuns: 20, endOnFailure: true },
    )
  })

  test('is put off further, the more there is of it and the slower its host, up to a bound', () => {
    add(WEBHOOK_WAITING_PER_HOST_MAX)
    const item = { account: 'acme', origin: 'https://a', number: 0 }
    expect([queue.deferMs(item), queue.deferMs(item)]).toEqual([1000, 1000])
    for (const begun of begin()) queue.ended(begun, 10_000)
    expect([queue.deferMs(item), queue.deferMs(item)]).toEqual([31_000, 41_000])
    for (let at = 0; at < 5; at++) queue.deferMs(item)
    expect(queue.deferMs(item)).toBe(WEBHOOK_DEFER_MS_MAX)
    expect(add(1)).toEqual([true])
    expect(queue.deferMs(item)).toBe(11_000)
  })

  test('is put off by whole milliseconds, however long calls take', () => {
    add(1)
    for (const begun of begin()) queue.ended(begun, 0.123)
    expect(queue.deferMs({ account: 'acme', origin: 'https://a', number: 0 })).toBe(1001)
  })
})
