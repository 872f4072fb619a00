import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { REDIS_HEALTH_CHECK_MS, REDIS_RECENTLY_DOWN_MS } from '../limit.ts'
import { openCallTimeout } from './call-timeout.ts'
import { openHealthCheck } from './health-check.ts'

const ANSWER_MS_MAX = 400

/** A health check whose pings a test answers, and the changes it reported. */
function aHealthCheck() {
  const clock = manualClock()
  const reported: (string | undefined)[] = []
  const asked: PromiseWithResolvers<string>[] = []
  const ping = () => {
    const answer = Promise.withResolvers<string>()
    asked.push(answer)
    return answer.promise
  }
  const healthCheck = openHealthCheck({ ping, answerMsMax: ANSWER_MS_MAX, clock })
  healthCheck.watch((reason) => reported.push(reason?.message))
  return { clock, healthCheck, asked, reported, answer: () => asked.at(-1)?.resolve('OK') }
}

test('asks at its interval, and tells nothing of a Redis that goes on answering', async () => {
  const { clock, healthCheck, asked, reported, answer } = aHealthCheck()
  for (let beats = 1; beats <= 3; beats++) {
    expect(asked).toHaveLength(beats)
    answer()
    await clock.advance(REDIS_HEALTH_CHECK_MS)
  }
  expect([healthCheck.isDown(), healthCheck.wasRecentlyDown(), reported]).toEqual([false, false, []])
  await healthCheck[Symbol.asyncDispose]()
})

test('holds a Redis for away that did not answer in time, and for back when it answers again', async () => {
  const { clock, healthCheck, reported, answer } = aHealthCheck()
  await clock.advance(ANSWER_MS_MAX - 1)
  expect(healthCheck.isDown()).toBe(false)
  await clock.advance(1)
  expect([healthCheck.isDown(), healthCheck.wasRecentlyDown(), reported]).toEqual([
    true,
    true,
    ['no answer within 400 ms'],
  ])
  // A second failed check reports no change.
  await clock.advance(REDIS_HEALTH_CHECK_MS)
  expect(reported).toHaveLength(1)
  await clock.advance(REDIS_HEALTH_CHECK_MS - ANSWER_MS_MAX)
  answer()
  await clock.advance(0)
  expect([healthCheck.isDown(), reported]).toEqual([false, ['no answer within 400 ms', undefined]])
  // Other processes may notice later what this one knows.
  const backAt = clock.monotonic()
  while (clock.monotonic() < backAt + REDIS_RECENTLY_DOWN_MS - 1) {
    expect(healthCheck.wasRecentlyDown()).toBe(true)
    await clock.advance(1)
    answer()
  }
  await clock.advance(1)
  expect(healthCheck.wasRecentlyDown()).toBe(false)
  await healthCheck[Symbol.asyncDispose]()
})

test('believes a Redis that refuses at once, and does not ask it more often for that', async () => {
  const { clock, healthCheck, asked, reported } = aHealthCheck()
  asked[0]?.reject(new Error('READONLY You cannot write against a read only replica.'))
  await clock.advance(0)
  expect([healthCheck.isDown(), reported]).toEqual([true, [expect.stringContaining('READONLY')]])
  await clock.advance(REDIS_HEALTH_CHECK_MS - 1)
  expect(asked).toHaveLength(1)
  await clock.advance(1)
  expect(asked).toHaveLength(2)
  await healthCheck[Symbol.asyncDispose]()
})

test('ends each call at its time and no other, and all of them when they are cut', async () => {
  const clock = manualClock()
  using limit = openCallTimeout(100, clock)
  const endless = () => new Promise<never>(() => undefined)
  const outcomes: string[] = []
  const begin = (name: string) =>
    limit.bound(endless()).catch((error: unknown) => outcomes.push(`${name} ${error instanceof Unavailable}`))
  const first = begin('first')
  await clock.advance(60)
  const second = begin('second')
  expect(await limit.bound(Promise.resolve('answered'))).toBe('answered')
  await clock.advance(40)
  await first
  expect(outcomes).toEqual(['first true'])
  await clock.advance(60)
  await second
  expect(outcomes).toEqual(['first true', 'second true'])
  const [third, fourth] = [begin('third'), begin('fourth')]
  limit.failAll(new Unavailable('Redis is unavailable'))
  await Promise.all([third, fourth])
  expect(outcomes).toHaveLength(4)
  // A call that begins after all that has a timeout, too.
  const fifth = begin('fifth')
  await clock.advance(100)
  await fifth
  expect(outcomes.at(-1)).toBe('fifth true')
})
