import { expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { availabilityOfAll, ENGINE_START_MS_MAX, trackAvailability } from './availability.ts'

test('what needs two things is as well as the worse of them', async () => {
  const clock = manualClock()
  const [one, other] = [trackAvailability(clock), trackAvailability(clock)]
  const both = availabilityOfAll([one, other])
  expect(both.state()).toBe('starting')
  one.markAvailable()
  expect(both.state()).toBe('starting')
  other.markAvailable()
  expect(both.state()).toBe('running')
  one.markUnavailable()
  await clock.advance(ENGINE_START_MS_MAX + 1)
  expect(both.state()).toBe('broken')
})

test('what needs two things is ready when both are there at the same time', async () => {
  const clock = manualClock()
  const [one, other] = [trackAvailability(clock), trackAvailability(clock)]
  let isReady = false
  const wait = async () => {
    await availabilityOfAll([one, other]).ready(NEVER)
    isReady = true
  }
  const ready = wait()
  one.markAvailable()
  await clock.advance(0)
  one.markUnavailable()
  other.markAvailable()
  await clock.advance(0)
  expect(isReady).toBe(false)
  one.markAvailable()
  await ready
})

test('an absence counts from when it began, however often it is told', async () => {
  const clock = manualClock()
  const presence = trackAvailability(clock)
  presence.markAvailable()
  await clock.advance(ENGINE_START_MS_MAX * 2)
  presence.markUnavailable()
  await clock.advance(ENGINE_START_MS_MAX)
  presence.markUnavailable()
  expect(presence.state()).toBe('starting')
  await clock.advance(1)
  expect(presence.state()).toBe('broken')
})
