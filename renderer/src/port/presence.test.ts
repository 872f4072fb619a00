import { manualClock } from '@platen/adapters/memory/clock.ts'
import { ENGINE_START_MS_MAX } from '@platen/contract/limit.ts'
import { expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { allOf, keepPresence } from './presence.ts'

test('what needs two things is as well as the worse of them', async () => {
  const clock = manualClock()
  const [one, other] = [keepPresence(clock), keepPresence(clock)]
  const both = allOf([one, other])
  expect(both.state()).toBe('starting')
  one.came()
  expect(both.state()).toBe('starting')
  other.came()
  expect(both.state()).toBe('running')
  one.left()
  await clock.advance(ENGINE_START_MS_MAX + 1)
  expect(both.state()).toBe('broken')
})

test('what needs two things is ready when both are there at the same time', async () => {
  const clock = manualClock()
  const [one, other] = [keepPresence(clock), keepPresence(clock)]
  let isReady = false
  const wait = async () => {
    await allOf([one, other]).ready(NEVER)
    isReady = true
  }
  const ready = wait()
  one.came()
  await clock.advance(0)
  one.left()
  other.came()
  await clock.advance(0)
  expect(isReady).toBe(false)
  one.came()
  await ready
})

test('an absence counts from when it began, however often it is told', async () => {
  const clock = manualClock()
  const presence = keepPresence(clock)
  presence.came()
  await clock.advance(ENGINE_START_MS_MAX * 2)
  presence.left()
  await clock.advance(ENGINE_START_MS_MAX)
  presence.left()
  expect(presence.state()).toBe('starting')
  await clock.advance(1)
  expect(presence.state()).toBe('broken')
})
