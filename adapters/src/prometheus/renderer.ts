/** Metrics of renderers. */
import { FAILURES } from '@platen/contract/error.ts'
import { DEAD_LETTER_REASONS, type RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import { LANES, type Outcome } from '@platen/contract/render.ts'
import { ENGINES } from '@platen/contract/render-options.ts'
import type { Metrics } from './registry.ts'

/** Seconds: from the smallest invoice to the longest deadline. */
const RENDER_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120]
/** Seconds: from a free slot to one day, after which a render expires. */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 15, 60, 300, 1800, 7200, 86_400]

/** Maximum number of templates that have their own labels; all others share one. */
const TEMPLATES_COUNTED_MAX = 1000
const OTHER = { tenant: 'other', template: 'other' }

export interface RendererMeterOptions {
  /** Whether renders are also counted by tenant and template. */
  readonly countsTenants: boolean
}

/** Registers the metrics. Call once per `metrics`. */
export function rendererMeter(metrics: Metrics, { countsTenants }: RendererMeterOptions): RendererMeter {
  const wait = metrics.tracedHistogram(
    'platen_queue_wait_seconds',
    'How long renders waited, from their acceptance to their first attempt.',
    { buckets: WAIT_BUCKETS, labels: { lane: LANES } },
  )
  const retries = metrics.counter('platen_render_retries_total', 'Attempts after the first attempt of a render.', {
    engine: ENGINES,
  })
  const deadLetters = metrics.counter(
    'platen_dead_letters_total',
    'Records of the render queue that became dead letters, by reason.',
    { reason: DEAD_LETTER_REASONS },
  )
  return {
    ...slotMeter(metrics),
    ended: countsTenants ? both(endMeter(metrics), tenantMeter(metrics)) : endMeter(metrics),
    begun({ engine, lane }, { attempt, waitedMs, traceId }) {
      if (attempt > 1) retries.inc({ engine })
      else wait.observe({ lane }, Math.max(waitedMs, 0) / 1000, traceId)
    },
    deadLettered: (reason) => deadLetters.inc({ reason }),
  }
}

function slotMeter(metrics: Metrics): Pick<RendererMeter, 'serving' | 'busy'> {
  const slots = metrics.gauge('platen_slots', 'Renders that this process can run at the same time.', {
    engine: ENGINES,
  })
  const busy = metrics.gauge('platen_slots_busy', 'Slots that are rendering now.', { engine: ENGINES })
  return {
    serving: (engine, count) => slots.set({ engine }, count),
    busy(engine) {
      busy.inc({ engine })
      return { [Symbol.dispose]: () => busy.dec({ engine }) }
    },
  }
}

type Ended = RendererMeter['ended']

function both(first: Ended, second: Ended): Ended {
  return (...end) => {
    first(...end)
    second(...end)
  }
}

function endMeter(metrics: Metrics): Ended {
  const ended = metrics.counter(
    'platen_renders_ended_total',
    'Renders that ended, by outcome: `succeeded` or the failure code.',
    { engine: ENGINES, lane: LANES, outcome: ['succeeded', ...Object.keys(FAILURES)] },
  )
  const duration = metrics.tracedHistogram(
    'platen_render_duration_seconds',
    'How long the last attempt of a render took, without waiting; renders that never began do not count.',
    { buckets: RENDER_BUCKETS, labels: { engine: ENGINES } },
  )
  return ({ engine, lane }, outcome, traceId) => {
    ended.inc({ engine, lane, outcome: codeOf(outcome) })
    if (outcome.durationMs > 0) duration.observe({ engine }, outcome.durationMs / 1000, traceId)
  }
}

/** Counts by tenant and template: for operators with a few hundred teams who must know whose templates fail. */
export function tenantMeter(metrics: Metrics): Ended {
  const renders = metrics.counter(
    'platen_tenant_renders_total',
    `Renders that ended, by tenant and template, if PLATEN_TENANT_METRICS is set. A process counts at most ${TEMPLATES_COUNTED_MAX} templates by name; all others count as \`other\`.`,
    { tenant: [], template: [], environment: [], outcome: [] },
  )
  const counted = new Set<string>()
  return ({ tenant, template, environment }, outcome) => {
    const name = `${tenant}/${template.code}`
    if (counted.size < TEMPLATES_COUNTED_MAX) counted.add(name)
    const whose = counted.has(name) ? { tenant, template: template.code } : OTHER
    renders.inc({ ...whose, environment, outcome: codeOf(outcome) })
  }
}

function codeOf(outcome: Outcome): string {
  return outcome.status === 'failed' ? outcome.error.code : outcome.status
}
