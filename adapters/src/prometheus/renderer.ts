import { FAILURES } from '@platen/contract/domain/error.ts'
import { LANES, type Outcome } from '@platen/contract/domain/render.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import { WARNING_CODES, warningCodesOf } from '@platen/contract/domain/warning.ts'
import {
  DEAD_LETTER_REASONS,
  type EngineMeter,
  RESTART_REASONS,
  type RendererMeter,
  type Slots,
} from '@platen/contract/port/renderer-meter.ts'
import { Gauge } from 'prom-client'
import type { Dependencies } from './dependency.ts'
import type { Metrics } from './registry.ts'

/** Seconds: from the smallest invoice to a render that misses the longest deadline, 120 s. */
const RENDER_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 150]
/** Seconds: from a free slot to one day, after which a render expires. */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800, 7200, 21_600, 86_400]

/** All further templates share one label. */
const TEMPLATES_COUNTED_MAX = 1000
const OTHER = { tenant: 'other', template: 'other' }

interface RendererMeterOptions {
  /** The tenants whose renders are also counted by tenant and template; `*` means all. */
  readonly tenants: readonly string[]
  readonly dependencies: Dependencies
  /** Does this process have a running browser? Absent if it needs none. Called at each scrape. */
  readonly isChromiumUp?: (() => boolean) | undefined
}

export function rendererMeter(metrics: Metrics, options: RendererMeterOptions): RendererMeter {
  const { tenants } = options
  const wait = metrics.tracedHistogram(
    'platen_queue_wait_seconds',
    'How long renders waited, from their acceptance to their first attempt.',
    { buckets: WAIT_BUCKETS, labels: { engine: ENGINES, lane: LANES } },
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
    ...engineMeter(metrics, options),
    ended: tenants.length > 0 ? both(endMeter(metrics), tenantMeter(metrics, tenants)) : endMeter(metrics),
    begun({ engine, lane }, { attempt, waitedMs, traceId }) {
      if (attempt > 1) retries.inc({ engine })
      else wait.observe({ engine, lane }, Math.max(waitedMs, 0) / 1000, traceId)
    },
    deadLettered: (reason) => deadLetters.inc({ reason }),
  }
}

function slotMeter(metrics: Metrics): Pick<RendererMeter, 'serving' | 'busy'> {
  const slots = metrics.gauge('platen_slots', 'Renders that this process can run at the same time.', {
    engine: ENGINES,
  })
  const busy = metrics.gauge('platen_slots_busy', 'Slots that are rendering now.', { engine: ENGINES })
  const served = new Map<Engine, Slots>()
  const storing: Gauge = new Gauge({
    name: 'platen_renders_storing',
    help: 'Renders whose document is made, and that are being stored and published outside of a slot.',
    labelNames: ['engine'],
    registers: [metrics.registry],
    collect() {
      for (const [engine, { storing: count }] of served) storing.set({ engine }, count())
    },
  })
  const saturation: Gauge = new Gauge({
    name: 'platen_slots_saturation_ratio',
    help: 'How full the slots are for a lane, from 0 to 1. At 1, the next render of the lane must wait until another one ends. Absent where the lane is not served.',
    labelNames: ['engine', 'lane'],
    registers: [metrics.registry],
    collect() {
      for (const [engine, { lanes, saturation: ratioOf }] of served)
        for (const lane of lanes) saturation.set({ engine, lane }, ratioOf(lane))
    },
  })
  return {
    serving(engine, serving) {
      slots.set({ engine }, serving.slots)
      served.set(engine, serving)
    },
    busy(engine) {
      busy.inc({ engine })
      return { [Symbol.dispose]: () => busy.dec({ engine }) }
    },
  }
}

function engineMeter(metrics: Metrics, { dependencies, isChromiumUp }: RendererMeterOptions): EngineMeter {
  const restarts = metrics.counter(
    'platen_restarts_total',
    'Browsers and render threads that ended or did not start, and were started again, by reason: `worn` and `canceled` are normal.',
    { part: [], reason: [] },
  )
  for (const [part, reasons] of Object.entries(RESTART_REASONS))
    for (const reason of reasons) restarts.inc({ part, reason }, 0)
  const chromium = isChromiumUp && dependencies.add('chromium', isChromiumUp)
  return {
    restarted: (part, reason) => restarts.inc({ part, reason }),
    launching: (launch, signal) => chromium?.measure('launch', launch, signal) ?? launch(),
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
  const warned = metrics.counter(
    'platen_render_warnings_total',
    'Renders that ended with a warning, by its code: a render counts once for each of its codes.',
    { engine: ENGINES, code: WARNING_CODES },
  )
  return ({ engine, lane }, outcome, traceId) => {
    ended.inc({ engine, lane, outcome: codeOf(outcome) })
    for (const code of warningCodesOf(outcome)) warned.inc({ engine, code })
    if (outcome.durationMs > 0) duration.observe({ engine }, outcome.durationMs / 1000, traceId)
  }
}

/** For operators with a few hundred teams who must know whose templates fail. */
export function tenantMeter(metrics: Metrics, tenants: readonly string[]): Ended {
  const renders = metrics.counter(
    'platen_tenant_renders_total',
    `Renders that ended, by tenant and template, of the tenants in PLATEN_TENANT_METRICS. A process counts at most ${TEMPLATES_COUNTED_MAX} templates by name; all others count as \`other\`.`,
    { tenant: [], template: [], environment: [], outcome: [] },
  )
  const [isAll, named] = [tenants.includes('*'), new Set<string>(tenants)]
  const counted = new Set<string>()
  return ({ tenant, template, environment }, outcome) => {
    const name = `${tenant}/${template.code}`
    if ((isAll || named.has(tenant)) && counted.size < TEMPLATES_COUNTED_MAX) counted.add(name)
    const whose = counted.has(name) ? { tenant, template: template.code } : OTHER
    renders.inc({ ...whose, environment, outcome: codeOf(outcome) })
  }
}

function codeOf(outcome: Outcome): string {
  return outcome.status === 'failed' ? outcome.error.code : outcome.status
}
