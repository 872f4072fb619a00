/** What is counted of renderers. */
import { FAILURES } from '@platen/contract/error.ts'
import { DEAD_LETTER_REASONS, type RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import { ENGINES, LANES } from '@platen/contract/render.ts'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** How much of a topic waits for its consumers, as it is looked at for each scrape. */
export interface TopicLag {
  readonly topic: string
  readonly lag: number
}

/** Seconds: from the smallest invoice to the longest deadline. */
const RENDER_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60]
/** Seconds: from a free slot to the hours a bulk render may wait. */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200]

/**
 * Adds the counters to what is scraped. `lag` is asked at each scrape, must neither wait nor throw, and names topics of a closed set.
 * Once for each `metrics`.
 */
export function rendererMeter({ registry }: Metrics, { lag }: { lag: () => readonly TopicLag[] }): RendererMeter {
  gaugeLag(registry, lag)
  const registers = [registry]
  const wait = new Histogram({
    name: 'platen_queue_wait_seconds',
    help: 'How long renders waited for their first attempt, from their acceptance on.',
    labelNames: ['lane'],
    buckets: WAIT_BUCKETS,
    registers,
  })
  const retries = new Counter({
    name: 'platen_render_retries_total',
    help: 'Attempts beyond the first.',
    labelNames: ['engine'],
    registers,
  })
  const deadLetters = new Counter({
    name: 'platen_dead_letters_total',
    help: 'Records of the queue that were put aside as dead letters, by reason.',
    labelNames: ['reason'],
    registers,
  })
  for (const lane of LANES) wait.zero({ lane })
  for (const engine of ENGINES) retries.inc({ engine }, 0)
  for (const reason of DEAD_LETTER_REASONS) deadLetters.inc({ reason }, 0)
  return {
    ...slotMeter(registry),
    ...endMeter(registry),
    begun({ engine, lane }, { attempt, waitedMs }) {
      if (attempt > 1) retries.inc({ engine })
      else wait.observe({ lane }, Math.max(waitedMs, 0) / 1000)
    },
    buried: (reason) => deadLetters.inc({ reason }),
  }
}

function slotMeter(registry: Registry): Pick<RendererMeter, 'serving' | 'busy'> {
  const slots = new Gauge({
    name: 'platen_slots',
    help: 'Renders that this process can do at once.',
    labelNames: ['engine'],
    registers: [registry],
  })
  const busy = new Gauge({
    name: 'platen_slots_busy',
    help: 'Slots that have a render just now.',
    labelNames: ['engine'],
    registers: [registry],
  })
  for (const engine of ENGINES) {
    slots.set({ engine }, 0)
    busy.set({ engine }, 0)
  }
  return {
    serving: (engine, count) => slots.set({ engine }, count),
    busy(engine) {
      busy.inc({ engine })
      return { [Symbol.dispose]: () => busy.dec({ engine }) }
    },
  }
}

function endMeter(registry: Registry): Pick<RendererMeter, 'ended'> {
  const ended = new Counter({
    name: 'platen_renders_ended_total',
    help: 'Renders that came to their end: `succeeded`, or the code of the failure.',
    labelNames: ['engine', 'lane', 'outcome'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'platen_render_duration_seconds',
    help: 'How long rendering took in the last attempt, without waiting; renders that never began are left out.',
    labelNames: ['engine'],
    buckets: RENDER_BUCKETS,
    registers: [registry],
  })
  for (const engine of ENGINES) {
    duration.zero({ engine })
    for (const lane of LANES) {
      for (const outcome of ['succeeded', ...Object.keys(FAILURES)]) ended.inc({ engine, lane, outcome }, 0)
    }
  }
  return {
    ended({ engine, lane }, outcome) {
      ended.inc({ engine, lane, outcome: outcome.status === 'failed' ? outcome.error.code : outcome.status })
      if (outcome.durationMs > 0) duration.observe({ engine }, outcome.durationMs / 1000)
    },
  }
}

function gaugeLag(registry: Registry, lag: () => readonly TopicLag[]): void {
  const gauge = new Gauge({
    name: 'platen_queue_lag',
    help: 'Records of a topic that wait for a renderer or are being rendered.',
    labelNames: ['topic'],
    registers: [registry],
    collect() {
      // What this process has no part in any more is not its to tell.
      gauge.reset()
      for (const { topic, lag: records } of lag()) gauge.set({ topic }, records)
    },
  })
}
