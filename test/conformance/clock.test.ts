import { manualClock } from '@platen/adapters/memory/clock.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { expect, test } from 'vitest'
import { describeClock } from './clock.suite.ts'

describeClock('manual', () => {
  const clock = manualClock()
  return { clock, advance: (ms) => clock.advance(ms) }
})
describeClock('system', () => ({ clock: systemClock(), advance: async () => undefined }))

test('the manual clock arms what a woken sleeper starts before it goes on', async ({ signal }) => {
  const clock = manualClock(0)
  const ticks: number[] = []
  const ticking = (async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(10, signal)
      ticks.push(clock.now())
    }
  })()
  await clock.advance(35)
  await ticking
  expect(ticks).toStrictEqual([10, 20, 30])
  expect([clock.now(), clock.armed()]).toStrictEqual([35, 0])
})
