import { expect, test, vi } from 'vitest'
import { openRegistry } from '../registry.ts'
import { gaugeEventLoop } from './event-loop.ts'

function measured(samplesMin?: number) {
  const metrics = openRegistry()
  gaugeEventLoop(metrics, { isRead: true, ...(samplesMin !== undefined && { samplesMin }) })
  return async (of: 'p99' | 'max') => {
    const text = await metrics.registry.getSingleMetricAsString(`platen_event_loop_delay_${of}_seconds`)
    return Number(text.trim().split(' ').at(-1))
  }
}

/** Lets the event loop turn several times, past the next samples. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Blocks the loop for longer than ever before. Returns the delay in seconds that must be reported at least. */
function hold(longest: number): number {
  const seconds = longest + 0.3
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * 1000)
  // Samples are 10 ms apart, and timers are off by 1 ms.
  return seconds - 0.015
}

test('what holds the loop right after a scrape is told to every scraper', async () => {
  const secondsOf = measured()
  await turn()
  const held = hold(await secondsOf('max'))
  await turn()
  for (const of of ['max', 'p99', 'max', 'p99'] as const) expect(await secondsOf(of)).toBeGreaterThan(held)
})

test('it is told after a turn of the histograms, and forgotten after the next one', async () => {
  const secondsOf = measured(3)
  await turn()
  const longest = await secondsOf('max')
  await turn()
  const held = hold(longest)
  await turn()
  expect(await secondsOf('max')).toBeGreaterThan(held)
  await turn()
  await vi.waitUntil(async () => (await secondsOf('max')) < held, { timeout: 60_000 })
})

test('an idle loop is not late by the time between two looks at it', async () => {
  const secondsOf = measured(3)
  await vi.waitUntil(
    async () => {
      await turn()
      return (await secondsOf('max')) < 0.005
    },
    { timeout: 60_000 },
  )
})
