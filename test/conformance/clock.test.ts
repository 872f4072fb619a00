import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { expect, test } from 'vitest'
import { manualClock } from '../fixture/memory/clock.ts'
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

test('the clock of the system shares timeouts that begin together, and none of them is early', async () => {
  const clock = systemClock()
  const hour = 3600 * 1000
  expect(clock.timeout(hour)).toBe(clock.timeout(hour))
  expect(clock.timeout(hour)).not.toBe(clock.timeout(2 * hour))
  const lengthMs = 400
  const signals = new Set<AbortSignal>()
  const lasted: Promise<number>[] = []
  for (let i = 0; i < 20; i++) {
    const begunAt = clock.monotonic()
    const timeout = clock.timeout(lengthMs)
    signals.add(timeout)
    const { promise, resolve } = Promise.withResolvers<number>()
    timeout.addEventListener('abort', () => resolve(clock.monotonic() - begunAt))
    lasted.push(promise)
    await clock.sleep(1, new AbortController().signal)
  }
  // Timers count whole milliseconds, and read their clock at a different moment than this test.
  expect(Math.min(...(await Promise.all(lasted)))).toBeGreaterThanOrEqual(lengthMs - 1)
  expect(signals.size).toBeGreaterThan(1)
})

test('a timeout of the system comes after the data that was received before it, though this process was paused', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connect(port, '127.0.0.1')
  const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')])
  const seen: string[] = []
  client.on('data', () => seen.push('data'))
  const timeout = systemClock().timeout(20)
  timeout.addEventListener('abort', () => seen.push('timeout'))
  peer.write('x')
  pause(50)
  await once(timeout, 'abort')
  expect(seen).toEqual(['data', 'timeout'])
  client.destroy()
  server.close()
})

/** Holds this thread, as a long collection or a busy machine does. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
