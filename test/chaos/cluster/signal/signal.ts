/**
 * Which metric shows which fault of `make chaos`, and which alert tells somebody. docs/metrics.md has the table. Each fault names its row,
 * so there is none without. While a fault lasts, `watch.ts` proves on the running processes that the metric moves, and that the condition
 * of the alert is then true.
 */
import type { Movement } from './movement.ts'

export interface Signal {
  /** The series that moves, as a selector of Prometheus. */
  readonly selector: string
  readonly moves: Movement
  /** The alert that fires if the fault lasts, with the labels that tell this fault from others; or why nobody needs to be woken. */
  readonly wakes:
    | { readonly alert: string; readonly labels?: Readonly<Record<string, string>> }
    | { readonly nobody: string }
}

export type SignalName = keyof typeof SIGNALS

type Server = 'kafka' | 'redis' | 's3' | 'kubernetes'

/** By what is done, for people. */
export const SIGNALS = {
  'a process is killed': {
    selector: 'process_start_time_seconds',
    moves: 'changes',
    wakes: { nobody: 'Kubernetes starts it again, and other processes take its work' },
  },
  'a process stands still': {
    selector: 'platen_event_loop_delay_max_seconds',
    moves: 'rises',
    wakes: { alert: 'PlatenEventLoopHeld' },
  },
  'Kafka is killed or stands still': away('kafka'),
  'Redis is killed or stands still': away('redis'),
  'S3 is killed or stands still': away('s3'),
  'connections to Kafka are reset, or its responses are lost': broken('kafka'),
  'connections to Redis are reset': broken('redis'),
  'connections to S3 are reset': broken('s3'),
  'Redis loses everything': {
    selector: 'platen_projection_rebuilds_total',
    moves: 'rises',
    wakes: { alert: 'PlatenRedisLostData' },
  },
  'S3 refuses all requests': away('s3'),
  'S3 takes no writes, because its disk is full': {
    // Its checks only read.
    selector: 'platen_dependency_calls_total{dependency="s3",operation="put",result="error"}',
    moves: 'rises',
    wakes: { alert: 'PlatenDependencyAway', labels: { dependency: 's3' } },
  },
  'S3 is slow': {
    selector: 'platen_dependency_call_duration_seconds_bucket{dependency="s3",le="1"}',
    moves: 'falls behind le="+Inf"',
    wakes: { alert: 'PlatenDependencySlow', labels: { dependency: 's3' } },
  },
  'a clock jumps': {
    selector: 'platen_time_seconds',
    moves: 'differs from the time by more than a minute',
    wakes: { alert: 'PlatenClockWrong' },
  },
  'all processes are restarted one after the other': {
    selector: 'process_start_time_seconds',
    moves: 'changes',
    wakes: { nobody: 'it is wanted; PlatenDrainHangs fires if a process does not end' },
  },
  'the operator that leads is killed, stands still, or loses its lease': {
    selector: 'leader_election_master_status',
    moves: 'falls to 0 in all processes',
    wakes: { alert: 'PlatenNoLeader' },
  },
  'operators are told to stop': {
    selector: 'process_start_time_seconds',
    moves: 'changes',
    wakes: { nobody: 'the other one leads within seconds; PlatenNoLeader fires if none does' },
  },
  'Redis loses the settings': {
    selector: 'platen_operator_repairs_total{kind="directory"}',
    moves: 'rises',
    wakes: { alert: 'PlatenRedisLostData' },
  },
  'watches of the operator are reset': broken('kubernetes'),
  'the API server answers late': {
    selector: 'platen_dependency_call_duration_seconds_bucket{dependency="kubernetes",le="0.5"}',
    moves: 'falls behind le="+Inf"',
    wakes: { nobody: 'watches go on where they were; PlatenDependencySlow fires if it lasts' },
  },
  'the API server is away': away('kubernetes'),
} as const satisfies Readonly<Record<string, Signal>>

function away<Name extends Server>(dependency: Name) {
  return {
    selector: `platen_dependency_up{dependency="${dependency}"}`,
    moves: 'falls to 0',
    wakes: { alert: 'PlatenDependencyAway', labels: { dependency } },
  } as const
}

function broken<Name extends Server>(dependency: Name) {
  return {
    selector: `platen_dependency_connections_broken_total{dependency="${dependency}"}`,
    moves: 'rises',
    wakes: { nobody: 'calls are repeated; PlatenDependencyAway or PlatenDependencySlow fires if that does not help' },
  } as const
}
