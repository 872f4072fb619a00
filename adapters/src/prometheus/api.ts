import { HTTP_ERRORS } from '@platen/contract/domain/error.ts'
import { LANES, type Lane, type Mode } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { type ApiMeter, HELD_BYTES, type Route } from '@platen/contract/port/api-meter.ts'
import type { DirectoryState } from '@platen/contract/port/directory.ts'
import type { Metrics } from './registry.ts'

/** Seconds: from a status request to the longest wait for a sync render. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150]
/** Seconds: from the smallest invoice to the longest deadline including waits, 133 s. */
const SYNC_BUCKETS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 150]
const STATUS_CLASSES = ['2xx', '4xx', '5xx']
/** Requests without a route share one label: callers choose their methods and paths. */
const UNROUTED = { route: 'none', method: 'other' }

/** Calls `directory` at each scrape; it must neither wait nor throw. */
export function apiMeter(metrics: Metrics, { directory }: { directory: () => DirectoryState }): ApiMeter {
  gaugeDirectory(metrics, directory)
  const refused = metrics.counter(
    'platen_requests_refused_total',
    'Requests that were refused, by error code and by who can fix the error.',
    { code: [], fault: [] },
  )
  const accepted = metrics.counter('platen_renders_accepted_total', 'Renders that were accepted and queued.', {
    engine: [],
    mode: [],
    lane: [],
  })
  const waiting = metrics.gauge('platen_sync_renders_waiting', 'Sync renders whose callers are waiting now.')
  const waits = metrics.histogram(
    'platen_sync_wait_seconds',
    'How long callers of sync renders waited, from queueing to the reply.',
    { buckets: SYNC_BUCKETS },
  )
  const ends = metrics.gauge(
    'platen_status_requests_waiting',
    'Status requests that wait for the end of their render now.',
  )
  const held = metrics.gauge(
    'platen_api_held_bytes',
    'Bytes of request bodies and of PDFs that are held now until their requests are answered.',
    { what: HELD_BYTES },
  )
  const limiterFailures = metrics.counter('platen_limiter_failures_total', 'Calls to the limiter that failed.')
  for (const [code, { fault }] of Object.entries(HTTP_ERRORS)) refused.inc({ code, fault }, 0)
  // A sync render that fails because of its template has the same code as a defect of the service.
  refused.inc({ code: 'INTERNAL_ERROR', fault: 'tenant' }, 0)
  for (const engine of ENGINES) for (const lane of LANES) accepted.inc({ engine, mode: modeOf(lane), lane }, 0)
  return {
    ...requestMeter(metrics),
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
    awaitingEnd() {
      ends.inc()
      return { [Symbol.dispose]: () => ends.dec() }
    },
    held: (what, bytes) => held.inc({ what }, bytes),
    limiterFailed: () => limiterFailures.inc(),
  }
}

function modeOf(lane: Lane): Mode {
  return lane === 'sync' ? 'sync' : 'async'
}

function requestMeter(metrics: Metrics): Pick<ApiMeter, 'routed' | 'answered'> {
  const requests = metrics.counter(
    'platen_http_requests_total',
    'Requests that were answered, or whose caller left before; the route `none` stands for all unknown paths.',
    { route: [], method: [], status: [] },
  )
  const duration = metrics.tracedHistogram(
    'platen_http_request_duration_seconds',
    'How long requests took, from their headers to the last byte of the answer.',
    { buckets: REQUEST_BUCKETS, labels: { route: [], method: [] } },
  )
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
    answered(route, { status, durationMs, traceId }) {
      const labels = labelsOf(route)
      requests.inc({ ...labels, status: `${Math.trunc(status / 100)}xx` })
      duration.observe(labels, durationMs / 1000, traceId)
    },
  }
}

function gaugeDirectory(metrics: Metrics, read: () => DirectoryState): void {
  const gauge = (name: string, help: string, valueOf: (directory: DirectoryState) => number) =>
    metrics.observableGauge(name, help, () => valueOf(read()))
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
  metrics.observableCounter(
    'platen_directory_damaged_values_total',
    'Published values that were damaged and not applied.',
    () => read().damaged,
  )
}
