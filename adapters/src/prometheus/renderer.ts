/** Metrics of renderers. */
import { FAILURES } from '@platen/contract/error.ts'
import { DEAD_LETTER_REASONS, type RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import { LANES, type Outcome } from '@platen/contract/render.ts'
import { ENGINES } from '@platen/contract/render-options.ts'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Metrics } from './metrics.ts'

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
  const { registry } = metrics
  const registers = [registry]
  const wait = new Histogram({
    name: 'platen_queue_wait_seconds',
    help: 'How long renders waited, from their acceptance to their first attempt.',
    labelNames: ['lane'],
    buckets: WAIT_BUCKETS,
    registers,
  })
  const retries = new Counter({
    name: 'platen_render_retries_total',
    help: 'Attempts after the first attempt of a render.',
    labelNames: ['engine'],
    registers,
  })
  const deadLetters = new Counter({
    name: 'platen_dead_letters_total',
    help: 'Records of the render queue that became dead letters, by reason.',
    labelNames: ['reason'],
    registers,
  })
  for (const lane of LANES) wait.zero({ lane })
  for (const engine of ENGINES) retries.inc({ engine }, 0)
  for (const reason of DEAD_LETTER_REASONS) deadLetters.inc({ reason }, 0)
  return {
    ...slotMeter(registry),
    ended: countsTenants ? both(endMeter(registry), tenantMeter(metrics)) : endMeter(registry),
    begun({ engine, lane }, { attempt, waitedMs }) {
      if (attempt > 1) retries.inc({ engine })
      else wait.observe({ lane }, Math.max(waitedMs, 0) / 1000)
    },
    deadLettered: (reason) => deadLetters.inc({ reason }),
  }
}

function slotMeter(registry: Registry): Pick<RendererMeter, 'serving' | 'busy'> {
  const slots = new Gauge({
    name: 'platen_slots',
    help: 'Renders that this process can run at the same time.',
    labelNames: ['engine'],
    registers: [registry],
  })
  const busy = new Gauge({
    name: 'platen_slots_busy',
    help: 'Slots that are rendering now.',
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

type Ended = RendererMeter['ended']

function both(first: Ended, second: Ended): Ended {
  return (render, outcome) => {
    first(render, outcome)
    second(render, outcome)
  }
}

function endMeter(registry: Registry): Ended {
  const ended = new Counter({
    name: 'platen_renders_ended_total',
    help: 'Renders that ended, by outcome: `succeeded` or the failure code.',
    labelNames: ['engine', 'lane', 'outcome'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'platen_render_duration_seconds',
    help: 'How long the last attempt of a render took, without waiting; renders that never began do not count.',
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
  return ({ engine, lane }, outcome) => {
    ended.inc({ engine, lane, outcome: codeOf(outcome) })
    if (outcome.durationMs > 0) duration.observe({ engine }, outcome.durationMs / 1000)
  }
}

/** Counts by tenant and template: for operators with a few hundred teams who must know whose templates fail. */
export function tenantMeter({ registry }: Metrics): Ended {
  const renders = new Counter({
    name: 'platen_tenant_renders_total',
    help: `Renders that ended, by tenant and template, if PLATEN_TENANT_METRICS is set. A process counts at most ${TEMPLATES_COUNTED_MAX} templates by name; all others count as \`other\`.`,
    labelNames: ['tenant', 'template', 'environment', 'outcome'],
    registers: [registry],
  })
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
