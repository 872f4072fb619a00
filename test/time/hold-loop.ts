/** Holding the event loop of a process from outside, to see whether it says so. */
import { expect } from 'vitest'
import { until } from './until.ts'

export interface Holdable {
  pause(): void
  resume(): void
}

/** Stops a process for a second longer than its loop was ever held, and expects every scraper to be told; `scrape` gives its metrics. */
export async function expectHeldLoopTold(process: Holdable, scrape: () => Promise<string>): Promise<void> {
  const before = longestDelay(await scrape())
  process.pause()
  const stoppedAt = performance.now()
  await new Promise((resolve) => setTimeout(resolve, before * 1000 + 1000))
  const stoppedSeconds = (performance.now() - stoppedAt) / 1000
  process.resume()
  // A scrape that waited, too, may be answered before the loop has come round.
  const after = await until(
    async () => longestDelay(await scrape()),
    (seconds) => seconds > before,
  )
  expect(after).toBeGreaterThan(stoppedSeconds - RESOLUTION_SECONDS)
  expect(longestDelay(await scrape())).toBeGreaterThanOrEqual(after)
}

/** What Node's timers may be off by, and twice what the loop is looked at by. */
const RESOLUTION_SECONDS = 0.02

function longestDelay(metrics: string): number {
  const [, seconds = ''] = /^platen_event_loop_delay_max_seconds (\S+)$/m.exec(metrics) ?? []
  return Number.parseFloat(seconds)
}
