/** Metrics of the services that a process depends on: one family for all, so that one panel and one alert show each. */

import {
  CALL_RESULTS,
  type CallResult,
  type Dependency,
  type DependencyMeter,
  OPERATIONS,
} from '@platen/contract/port/dependency-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { Gauge } from 'prom-client'
import type { Metrics } from './registry.ts'

/** Seconds: from a call of Redis to a call that exceeds the longest time limit, 30 s. */
const CALL_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export interface Dependencies {
  /** Adds a dependency, with its series at zero. Calls `isUp` at each scrape; it must neither wait nor throw. Once per name. */
  add<Name extends Dependency>(name: Name, isUp: () => boolean): DependencyMeter<Name>
  /** Counts a connection that broke or was refused; also before the dependency is added. */
  connectionBroke(name: Dependency): void
}

export function dependencyMeters(metrics: Metrics, clock: Pick<Clock, 'monotonic'>): Dependencies {
  const states = new Map<Dependency, () => boolean>()
  const up: Gauge = new Gauge({
    name: 'platen_dependency_up',
    help: '1 while the dependency answers this process, else 0. Redis must take writes as well, and Kafka must have all topics; whether S3 takes them, failed calls of `put` and `create` show.',
    labelNames: ['dependency'],
    registers: [metrics.registry],
    collect() {
      for (const [dependency, isUp] of states) up.set({ dependency }, isUp() ? 1 : 0)
    },
  })
  const calls = metrics.counter('platen_dependency_calls_total', 'Calls of the dependency that ended, by result.', {
    dependency: [],
    operation: [],
    result: [],
  })
  const broken = metrics.counter(
    'platen_dependency_connections_broken_total',
    'Connections to the dependency that the other side or the network broke or did not accept, also if the call succeeded by a repetition; those that either side closed as usual do not count.',
    { dependency: [] },
  )
  const duration = metrics.histogram(
    'platen_dependency_call_duration_seconds',
    'How long calls of the dependency took with all their retries, whether they succeeded or not; canceled calls do not count.',
    { buckets: CALL_BUCKETS, labels: { dependency: [], operation: [] } },
  )
  return {
    connectionBroke: (dependency) => broken.inc({ dependency }),
    add(dependency, isUp) {
      states.set(dependency, isUp)
      if (dependency !== 'chromium') broken.inc({ dependency }, 0)
      for (const operation of OPERATIONS[dependency]) {
        for (const result of CALL_RESULTS) calls.inc({ dependency, operation, result }, 0)
        duration.zero({ dependency, operation })
      }
      const called: DependencyMeter['called'] = (operation, { result, durationMs }) => {
        calls.inc({ dependency, operation, result })
        if (result !== 'canceled') duration.observe({ dependency, operation }, durationMs / 1000)
      }
      return {
        called,
        async measure(operation, call, signal) {
          const begunAt = clock.monotonic()
          const ended = (result: CallResult) => called(operation, { result, durationMs: clock.monotonic() - begunAt })
          try {
            const answer = await call()
            ended('ok')
            return answer
          } catch (error) {
            ended(failureOf(error, signal))
            throw error
          }
        },
      }
    },
  }
}

function failureOf(error: unknown, signal: AbortSignal): CallResult {
  if (!signal.aborted || error !== signal.reason) return 'error'
  return error instanceof Error && error.name === 'TimeoutError' ? 'timeout' : 'canceled'
}
