/**
 * Metrics of the operator. Those that other controllers have, too, use the names and labels of controller-runtime and client-go, so that
 * existing dashboards and alerts work unchanged.
 */

import {
  type ControllerMeter,
  type OperatorMeter,
  PRIORITIES,
  RECONCILE_RESULTS,
  REQUEST_METHODS,
  type WorkState,
} from '@platen/contract/port/operator-meter.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { exponentialBuckets, Gauge, type Registry } from 'prom-client'
import type { Dependencies } from './dependency.ts'
import type { Metrics } from './registry.ts'

/** Seconds, as in controller-runtime. */
const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
/** Seconds, as in client-go: from 10 ns to 1000 s. */
const QUEUE_BUCKETS = exponentialBuckets(10e-9, 10, 12)

type WorkStates = ReadonlyMap<string, () => WorkState>

interface Counted {
  readonly kinds: readonly string[]
  readonly lease: string
  /** Name and port of the API server. */
  readonly host: string
  readonly dependencies: Dependencies
  readonly clock: Clock
}

/** What can be repaired: all published settings, kinds of them, and Secrets in the cluster. */
const REPAIRED = ['directory', 'tenants', 'keys', 'templates', 'secrets']

const OPERATIONS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const
/** The code of client-go for a request without an answer. */
const NO_ANSWER = '<error>'

export function operatorMeter(metrics: Metrics, counted: Counted): OperatorMeter {
  const workStates = new Map<string, () => WorkState>()
  gaugeWork(metrics.registry, workStates)
  const queue = queueMeter(metrics)
  const reconcile = reconcileMeter(metrics)
  return {
    ...clusterMeter(metrics, counted),
    controller(name, { workers, readState }) {
      workStates.set(name, readState)
      return { ...queue(name), ...reconcile(name, workers) }
    },
  }
}

function clusterMeter(metrics: Metrics, counted: Counted): Omit<OperatorMeter, 'controller'> {
  const { kinds, lease, clock } = counted
  const ofKind = { kind: kinds }
  const relists = metrics.counter('platen_operator_relists_total', 'Lists of all objects of a kind.', ofKind)
  const watches = metrics.counter('platen_operator_watches_total', 'Watches that were opened, by kind.', ofKind)
  const unread = metrics.counter(
    'platen_operator_unreadable_objects_total',
    'Objects that could not be read, by kind.',
    ofKind,
  )
  const repairs = metrics.counter(
    'platen_operator_repairs_total',
    'Settings in Redis and Secrets that somebody else had changed and the operator repaired.',
    { kind: REPAIRED },
  )
  const published = metrics.gauge(
    'platen_operator_last_publish_timestamp_seconds',
    'Unix time at which this operator last brought a change, or all settings at its start, into Redis; 0 before that.',
  )
  const master = metrics.gauge('leader_election_master_status', '1 while this process holds the lease, else 0.', {
    name: [lease],
  })
  return {
    requested: requestMeter(metrics, counted),
    published: () => published.set(clock.now() / 1000),
    leading: (isHeld) => master.set({ name: lease }, isHeld ? 1 : 0),
    relisted: (kind) => relists.inc({ kind }),
    watched: (kind) => watches.inc({ kind }),
    repaired: (kind, count) => repairs.inc({ kind }, count),
    unread: (kind) => unread.inc({ kind }),
  }
}

function requestMeter(metrics: Metrics, { host, dependencies }: Counted): OperatorMeter['requested'] {
  const requests = metrics.counter(
    'rest_client_requests_total',
    'Requests to the API server, by status code and method; `<error>` means no answer.',
    { code: ['200', NO_ANSWER], method: REQUEST_METHODS, host: [host] },
  )
  let isAnswered = true
  const calls = dependencies.add('kubernetes', () => isAnswered)
  return (method, code, durationMs) => {
    isAnswered = code !== NO_ANSWER
    requests.inc({ code, method, host })
    calls.called(OPERATIONS[method], { result: isAnswered ? 'ok' : 'error', durationMs })
  }
}

/** The queue metrics of client-go. Both labels are the name of the controller. */
function queueMeter(
  metrics: Metrics,
): (name: string) => Pick<ControllerMeter, 'added' | 'deferred' | 'taken' | 'done'> {
  const labels = { name: [], controller: [] }
  const timed = { buckets: QUEUE_BUCKETS, labels }
  const adds = metrics.counter('workqueue_adds_total', 'Keys added to the queue.', labels)
  const retries = metrics.counter('workqueue_retries_total', 'Keys scheduled to be added to the queue later.', labels)
  const waits = metrics.histogram('workqueue_queue_duration_seconds', 'How long keys waited for a worker.', timed)
  const work = metrics.histogram('workqueue_work_duration_seconds', 'How long workers took to process a key.', timed)
  return (name) => {
    const labels = { name, controller: name }
    adds.inc(labels, 0)
    retries.inc(labels, 0)
    waits.zero(labels)
    work.zero(labels)
    return {
      added: () => adds.inc(labels),
      deferred: () => retries.inc(labels),
      taken: (waitedMs) => waits.observe(labels, waitedMs / 1000),
      done: (workedMs) => work.observe(labels, workedMs / 1000),
    }
  }
}

function reconcileMeter(
  metrics: Metrics,
): (controller: string, workers: number) => Pick<ControllerMeter, 'busy' | 'reconciled'> {
  const labels = { controller: [] }
  const total = metrics.counter('controller_runtime_reconcile_total', 'Reconciliations, by result.', {
    ...labels,
    result: RECONCILE_RESULTS,
  })
  const errors = metrics.counter('controller_runtime_reconcile_errors_total', 'Reconciliations that failed.', labels)
  const time = metrics.histogram('controller_runtime_reconcile_time_seconds', 'How long reconciliations took.', {
    buckets: RECONCILE_BUCKETS,
    labels,
  })
  const size = metrics.gauge('controller_runtime_max_concurrent_reconciles', 'Number of workers.', labels)
  const active = metrics.gauge('controller_runtime_active_workers', 'Workers that are processing a key now.', labels)
  return (controller, workers) => {
    for (const result of RECONCILE_RESULTS) total.inc({ controller, result }, 0)
    errors.inc({ controller }, 0)
    time.zero({ controller })
    size.set({ controller }, workers)
    active.set({ controller }, 0)
    return {
      busy() {
        active.inc({ controller })
        return { [Symbol.dispose]: () => active.dec({ controller }) }
      },
      reconciled(result, durationMs) {
        total.inc({ controller, result })
        if (result === 'error') errors.inc({ controller })
        time.observe({ controller }, durationMs / 1000)
      },
    }
  }
}

function gaugeWork(registry: Registry, workStates: WorkStates): void {
  const gauge = (name: string, help: string, valueOf: (inHandMs: readonly number[]) => number) =>
    new Gauge({
      name: `workqueue_${name}`,
      help,
      labelNames: ['name', 'controller'],
      registers: [registry],
      collect() {
        for (const [name, look] of workStates) this.set({ name, controller: name }, valueOf(look().runningMs) / 1000)
      },
    })
  gauge(
    'unfinished_work_seconds',
    'Sum of the times for which workers have been processing their current keys.',
    (inHandMs) => inHandMs.reduce((sum, ms) => sum + ms, 0),
  )
  gauge(
    'longest_running_processor_seconds',
    'Longest time for which a worker has been processing its current key.',
    (inHandMs) => inHandMs.reduce((longest, ms) => Math.max(longest, ms), 0),
  )
  const depth = new Gauge({
    name: 'workqueue_depth',
    help: 'Keys that wait for a worker.',
    labelNames: ['name', 'controller', 'priority'],
    registers: [registry],
    collect() {
      for (const [name, look] of workStates) {
        const { waiting } = look()
        for (const priority of PRIORITIES) depth.set({ name, controller: name, priority }, waiting[priority])
      }
    },
  })
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Enough time to hand out another key, even over a weekend. */
export const SOON_MS = 7 * DAY_MS

/** `ends` returns when ApiKeys expire; it is called at each scrape, and must neither wait nor throw. */
export function gaugeKeyExpiry(metrics: Metrics, keys: { clock: Clock; ends: () => readonly Instant[] }): void {
  metrics.observableGauge(
    'platen_api_keys_expiring',
    'ApiKeys whose `expiresAt` is within seven days; keys that a rotation replaced do not count.',
    () => {
      const now = keys.clock.now()
      return keys.ends().filter((end) => end > now && end <= now + SOON_MS).length
    },
  )
}
