import { expect, test } from 'vitest'
import { manualClock } from '../../test/fixture/memory/clock.ts'
import { openDeadlines } from './deadlines.ts'

test('each limit expires after its own time, unless it was ended before', async () => {
  const clock = manualClock()
  using deadlines = openDeadlines(clock, 100)
  const expired: string[] = []
  const start = (name: string) => deadlines.start(() => void expired.push(`${name} at ${clock.monotonic()}`))
  start('a')
  const ended = start('b')
  await clock.advance(40)
  start('c')
  start('d')
  ended[Symbol.dispose]()
  await clock.advance(59)
  expect(expired).toEqual([])
  await clock.advance(1)
  expect(expired).toEqual(['a at 100'])
  await clock.advance(40)
  expect(expired).toEqual(['a at 100', 'c at 140', 'd at 140'])
})

test('one timer serves all, and none is left when all have expired or it is closed', async () => {
  const clock = manualClock()
  const deadlines = openDeadlines(clock, 100)
  const expired: number[] = []
  const start = () => deadlines.start(() => void expired.push(clock.monotonic()))
  for (let at = 0; at < 5; at += 1) start()
  expect(clock.armed()).toBe(1)
  await clock.advance(100)
  expect([expired.length, clock.armed()]).toEqual([5, 0])
  start()
  expect(clock.armed()).toBe(1)
  deadlines[Symbol.dispose]()
  await clock.advance(200)
  expect([expired.length, clock.armed()]).toEqual([5, 0])
})

test('a limit that begins when another expires has its whole time', async () => {
  const clock = manualClock()
  using deadlines = openDeadlines(clock, 100)
  const expired: number[] = []
  deadlines.start(() => void deadlines.start(() => void expired.push(clock.monotonic())))
  await clock.advance(199)
  expect(expired).toEqual([])
  await clock.advance(1)
  expect(expired).toEqual([200])
})
