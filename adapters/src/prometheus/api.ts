/** Metrics of the API. */
import { HTTP_ERRORS } from '@platen/contract/error.ts'
import type { ApiMeter, Route } from '@platen/contract/port/api-meter.ts'
import type { DirectoryState } from '@platen/contract/port/directory.ts'
import { LANES, type Lane, type Mode } from '@platen/contract/render.ts'
import { ENGINES } from '@platen/contract/render-options.ts'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** Seconds: from a status request to the longest wait for a sync render. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150]
/** Seconds: from the smallest invoice to the longest deadline including waits. */
const SYNC_BUCKETS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120]
const STATUS_CLASSES = ['2xx', '4xx', '5xx']
/** Requests without a route share one label: callers choose their methods and paths. */
const UNROUTED = { route: 'none', method: 'other' }

/** Registers the metrics. Calls `directory` at each scrape; it must neither wait nor throw. Call once per `metrics`. */
export function apiMeter({ registry }: Metrics, { directory }: { directory: () => DirectoryState }): ApiMeter {
  gaugeDirectory(registry, directory)
  const registers = [registry]
  const refused = new Counter({
    name: 'platen_requests_refused_total',
    help: 'Requests that were refused, by error code and by who can fix the error.',
    labelNames: ['code', 'fault'],
    registers,
  })
  const accepted = new Counter({
    name: 'platen_renders_accepted_total',
    help: 'Renders that were accepted and queued.',
    labelNames: ['engine', 'mode', 'lane'],
    registers,
  })
  const waiting = new Gauge({
    name: 'platen_sync_renders_waiting',
    help: 'Sync renders whose callers are waiting now.',
    registers,
  })
  const waits = new Histogram({
    name: 'platen_sync_wait_seconds',
    help: 'How long callers of sync renders waited, from queueing to the reply.',
    buckets: SYNC_BUCKETS,
    registers,
  })
  const limiterFailures = new Counter({
    name: 'platen_limiter_failures_total',
    help: 'Calls to the limiter that failed.',
    registers,
  })
  for (const [code, { fault }] of Object.entries(HTTP_ERRORS)) refused.inc({ code, fault }, 0)
  // A sync render that fails because of its template has the same code as a defect of the service.
  refused.inc({ code: 'INTERNAL_ERROR', fault: 'tenant' }, 0)
  for (const engine of ENGINES) for (const lane of LANES) accepted.inc({ engine, mode: modeOf(lane), lane }, 0)
  return {
    ...requestMeter(registry),
    refused: ({ code, fault }) => refused.inc({ code, fault }),
    accepted: ({ engine, mode, lane }) => accepted.inc({ engine, mode, lane }),
    waiting() {
      waiting.inc()
      const observe = waits.startTimer()
      return {
        [Symbol.dispose]() {
          waiting.dec()
          observe()
        },
      }
    },
    limiterFailed: () => limiterFailures.inc(),
  }
}

function modeOf(lane: Lane): Mode {
  return lane === 'sync' ? 'sync' : 'async'
}

function requestMeter(registry: Registry): Pick<ApiMeter, 'routed' | 'answered'> {
  const registers = [registry]
  const requests = new Counter({
    name: 'platen_http_requests_total',
    help: 'Requests that were answered; the route `none` stands for all unknown paths.',
    labelNames: ['route', 'method', 'status'],
    registers,
  })
  const duration = new Histogram({
    name: 'platen_http_request_duration_seconds',
    help: 'How long requests took, from their headers to the last byte of the answer.',
    labelNames: ['route', 'method'],
    buckets: REQUEST_BUCKETS,
    registers,
  })
  const known = new Set<string>()
  const beginAtZero = (labels: typeof UNROUTED) => {
    for (const status of STATUS_CLASSES) requests.inc({ ...labels, status }, 0)
    duration.zero(labels)
  }
  const labelsOf = ({ path, method }: Route) =>
    path !== undefined && known.has(`${method} ${path}`) ? { route: path, method } : UNROUTED
  beginAtZero(UNROUTED)
  return {
    routed({ path, method }) {
      if (path === undefined) return
      known.add(`${method} ${path}`)
      beginAtZero({ route: path, method })
    },
    answered(route, { status, durationMs }) {
      const labels = labelsOf(route)
      requests.inc({ ...labels, status: `${Math.trunc(status / 100)}xx` })
      duration.observe(labels, durationMs / 1000)
    },
  }
}

function gaugeDirectory(registry: Registry, read: () => DirectoryState): void {
  const gauge = (name: string, help: string, valueOf: (directory: DirectoryState) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(valueOf(read()))
      },
    })
  gauge('platen_directory_revision', 'The revision of the settings in force.', ({ revision }) => revision)
  gauge(
    'platen_directory_connected',
    '1 while this process follows the published settings, else 0.',
    ({ isConnected }) => (isConnected ? 1 : 0),
  )
  gauge(
    'platen_directory_age_seconds',
    'Time since the settings in force were last known to be the published ones.',
    ({ ageMs }) => ageMs / 1000,
  )
  registry.registerMetric(
    new Counter({
      name: 'platen_directory_damaged_values_total',
      help: 'Published values that were damaged and not applied.',
      registers: [],
      collect() {
        // The reader keeps the count since its start.
        this.reset()
        this.inc(read().damaged)
      },
    }),
  )
}
