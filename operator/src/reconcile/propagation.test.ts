import { expect, test } from 'vitest'
import { SILENT } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { type Enforcement, Propagation } from './propagation.ts'

const NONE: Enforcement = { all: 0, behind: 0, revision: 0, isCertain: false }

/** A propagation that reads what a test sets. */
async function following(answers: () => Enforcement | Error) {
  const clock = manualClock()
  let asked = 0
  const enforced: string[] = []
  const propagation = new Propagation({
    async readEnforced() {
      asked++
      const answer = answers()
      if (answer instanceof Error) throw answer
      return answer
    },
    onEnforced: (key) => enforced.push(key),
    clock,
    log: SILENT,
  })
  const over = new AbortController()
  const running = propagation.run(over.signal)
  await clock.advance(0)
  return {
    clock,
    propagation,
    enforced,
    asked: () => asked,
    wait: (key: string, revision: number) => propagation.whenEnforced(key, revision),
    async [Symbol.asyncDispose]() {
      over.abort()
      await running
    },
  }
}

test('nobody is asked while nobody waits', async () => {
  await using all = await following(() => NONE)
  await all.clock.advance(60_000)
  expect(all.asked()).toBe(0)
})

test('each is reported once, when every process enforces what it waits for', async () => {
  let now: Enforcement = { all: 3, behind: 1, revision: 6, isCertain: true }
  await using all = await following(() => now)
  all.wait('seven', 7)
  all.wait('six', 6)
  await all.clock.advance(100)
  expect(all.enforced).toEqual(['six'])
  expect([all.propagation.isEnforced(6), all.propagation.isEnforced(7)]).toEqual([true, false])
  now = { all: 3, behind: 0, revision: 9, isCertain: true }
  await all.clock.advance(1000)
  expect(all.enforced).toEqual(['six', 'seven'])
  const asked = all.asked()
  await all.clock.advance(60_000)
  expect(all.asked()).toBe(asked)
})

test('what is not certain counts for nothing', async () => {
  let now: Enforcement = { all: 0, behind: 0, revision: 7, isCertain: false }
  await using all = await following(() => now)
  all.wait('seven', 7)
  await all.clock.advance(5000)
  expect([all.enforced, all.propagation.isEnforced(7)]).toEqual([[], false])
  now = { ...now, isCertain: true }
  await all.clock.advance(5000)
  expect(all.enforced).toEqual(['seven'])
})

test('whoever waits for something newer under the same name waits for that alone', async () => {
  let now: Enforcement = { all: 1, behind: 1, revision: 6, isCertain: true }
  await using all = await following(() => now)
  all.wait('tenant', 7)
  all.wait('tenant', 8)
  now = { ...now, revision: 7 }
  await all.clock.advance(5000)
  expect(all.enforced).toEqual([])
  now = { ...now, revision: 8 }
  await all.clock.advance(5000)
  expect(all.enforced).toEqual(['tenant'])
})

test('an answer that cannot be had is asked for again, and less and less often', async () => {
  let now: Enforcement | Error = new Error('Redis is unavailable')
  await using all = await following(() => now)
  all.wait('seven', 7)
  await all.clock.advance(60_000)
  expect(all.asked()).toBeLessThan(120)
  now = { all: 1, behind: 0, revision: 7, isCertain: true }
  await all.clock.advance(1000)
  expect(all.enforced).toEqual(['seven'])
})
