/** Blocks the event loop of a process from outside, to test that its metrics report it. */
import { expect } from 'vitest'
import { poll } from './poll.ts'

export interface Holdable {
  pause(): void
  resume(): void
}

/**
 * Stops a process one second longer than its loop was ever blocked. Expects the metrics to report that to every scraper; `scrape` reads
 * them.
 */
export async function expectHeldLoopReported(process: Holdable, scrape: () => Promise<string>): Promise<void> {
  const before = longestDelay(await scrape())
  process.pause()
  const stoppedAt = performance.now()
  await new Promise((resolve) => setTimeout(resolve, before * 1000 + 1000))
  const stoppedSeconds = (performance.now() - stoppedAt) / 1000
  process.resume()
  // A scrape that waited with the loop may be answered before the loop is measured again, and show a wait from before the stop.
  const isReported = (seconds: number) => seconds > stoppedSeconds - RESOLUTION_SECONDS
  const after = await poll(async () => longestDelay(await scrape())).until(isReported)
  expect(longestDelay(await scrape())).toBeGreaterThanOrEqual(after)
}

/** Tolerance: the error of Node's timers, and twice the interval at which the loop is measured. */
const RESOLUTION_SECONDS = 0.02

function longestDelay(metrics: string): number {
  const [, seconds = ''] = /^platen_event_loop_delay_max_seconds (\S+)$/m.exec(metrics) ?? []
  return Number.parseFloat(seconds)
}
