import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { aDelivery } from '../../../test/fixture/build.ts'
import {
  FIRST_ATTEMPTS_MAX,
  FIRST_ATTEMPTS_PER_TENANT_MAX,
  type FirstAttemptLimits,
  openFirstAttempt,
  openFirstAttempts,
} from './first-attempt.ts'

const deliveriesOf = (account: string, count: number) => Array.from({ length: count }, () => aDelivery({ account }))

test('a tenant whose receivers do not answer leaves permits to others', async () => {
  const attempts = openFirstAttempts()
  const begun: string[] = []
  const ends = Promise.withResolvers<void>()
  const hanging = attempts(deliveriesOf('slow', FIRST_ATTEMPTS_MAX), async ({ account }) => {
    begun.push(account)
    await ends.promise
  })
  await setImmediate()
  expect(begun).toHaveLength(FIRST_ATTEMPTS_PER_TENANT_MAX)
  await attempts(deliveriesOf('quick', 3 * FIRST_ATTEMPTS_MAX), async ({ account }) => void begun.push(account))
  expect(begun.filter((account) => account === 'quick')).toHaveLength(3 * FIRST_ATTEMPTS_MAX)
  ends.resolve()
  await hanging
  expect(begun).toHaveLength(4 * FIRST_ATTEMPTS_MAX)
})

test('an attempt whose permit is released makes room before it has ended', async () => {
  const attempts = openFirstAttempts()
  let begun = 0
  const ends = Promise.withResolvers<void>()
  const making = attempts(deliveriesOf('acme', 2 * FIRST_ATTEMPTS_MAX), async (_, permit) => {
    begun += 1
    permit[Symbol.dispose]()
    await ends.promise
  })
  await setImmediate()
  expect(begun).toBe(2 * FIRST_ATTEMPTS_MAX)
  ends.resolve()
  await making
})

test('a failure is reported when the others have ended', async () => {
  let ended = 0
  const [failing, ...others] = deliveriesOf('acme', 5)
  const making = openFirstAttempts()([...(failing ? [failing] : []), ...others], async (delivery) => {
    if (delivery === failing) throw new Error('full')
    await setImmediate()
    ended += 1
  })
  await expect(making).rejects.toThrow('full')
  expect(ended).toBe(others.length)
})

/** Limits that are over at once. */
const LATE: FirstAttemptLimits = {
  start(onExpired) {
    onExpired()
    return { [Symbol.dispose]: () => undefined }
  },
}

test('a result that is being stored when the wait is over is waited for', async () => {
  const first = openFirstAttempt()
  const written = Promise.withResolvers<void>()
  first.begin()
  const storing = first.store(() => written.promise)
  let hasSettled = false
  const wait = async () => {
    const state = await first.settled(LATE)
    hasSettled = true
    return state
  }
  const settling = wait()
  await setImmediate()
  expect(hasSettled).toBe(false)
  written.resolve()
  await storing
  expect(await settling).toBe('stored')
})

test('a result that could not be stored is one that there is not yet, until it is', async () => {
  const first = openFirstAttempt()
  first.begin()
  await expect(first.store(() => Promise.reject(new Error('full')))).rejects.toThrow('full')
  expect(await first.settled(LATE)).toBe('begun')
  await first.store(async () => undefined)
  expect(await first.settled(LATE)).toBe('stored')
})

test.for([
  ['taken back when it has not begun', false, 'taken_back'],
  ['left alone when it has', true, 'begun'],
] as const)('a delivery without a result when the wait is over is %s', async ([, hasBegun, state]) => {
  const first = openFirstAttempt()
  if (hasBegun) first.begin()
  expect(await first.settled(LATE)).toBe(state)
  expect(first.begin()).toBe(hasBegun)
})
