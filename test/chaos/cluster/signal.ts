/**
 * Which metric shows which fault of `make chaos`, and which alert tells somebody. docs/metrics.md has the table. For the faults of a cluster
 * under load, the trials also prove that the metric moves.
 */
import type { ServerProcess } from '../../topology/server/process.ts'
import { DEPLOYABLES, type Rig } from './rig/rig.ts'

export interface Signal {
  /** What is done, for people. */
  readonly fault: string
  /** Matches the names of the faults. */
  readonly names: RegExp
  /** The series that moves, as a selector of Prometheus. */
  readonly selector: string
  readonly moves: 'rises' | 'changes' | 'falls to 0' | 'is wrong'
  /** Absent if nobody needs to act: the service recovers by itself, or another alert fires if it does not. */
  readonly alert?: string
  /** Do the trials of a cluster prove it? Not of a sum that also rises without a fault. */
  readonly isProven?: boolean
}

const failing = (dependency: string) =>
  `platen_dependency_calls_total{dependency="${dependency}",result=~"error|timeout"}`

const OF_SERVERS: readonly Signal[] = ['kafka', 'redis', 's3'].map((server) => ({
  fault: `${server} is killed or stopped`,
  names: new RegExp(`^(kill|stop) ${server}( |$)`),
  selector: failing(server),
  moves: 'rises',
  alert: 'PlatenDependencyAway',
}))

/** The first row that matches the name of a fault is its row. */
export const SIGNALS: readonly Signal[] = [
  {
    fault: 'a process is killed',
    names: /^kill (api|renderer|events)( |$)/,
    selector: 'process_start_time_seconds',
    moves: 'changes',
    isProven: true,
  },
  {
    fault: 'a process stands still',
    names: /^stop (api|renderer|events) /,
    selector: 'platen_event_loop_delay_max_seconds',
    moves: 'rises',
    alert: 'PlatenEventLoopHeld',
    isProven: true,
  },
  ...OF_SERVERS,
  {
    fault: 'connections to a server are reset, or responses are lost',
    names: /( reset|responses of \w+ lost)$/,
    selector: 'platen_dependency_call_duration_seconds_sum',
    moves: 'rises',
  },
  {
    fault: 'Redis loses everything',
    names: /^FLUSHALL /,
    selector: 'platen_projection_rebuilds_total',
    moves: 'rises',
    alert: 'PlatenProjectionBehind',
    isProven: true,
  },
  {
    fault: 'S3 refuses requests, or its disk is full',
    names: /^(S3 answers 503|the disk of S3 is full)$/,
    selector: failing('s3'),
    moves: 'rises',
    alert: 'PlatenDependencyAway',
    isProven: true,
  },
  {
    fault: 'S3 is slow',
    names: /^S3 answers \d+ ms late$/,
    selector: 'platen_dependency_call_duration_seconds_sum{dependency="s3"}',
    moves: 'rises',
  },
  {
    fault: 'a clock jumps',
    names: /^the clock of /,
    selector: 'platen_time_seconds',
    moves: 'is wrong',
    alert: 'PlatenClockWrong',
  },
  {
    fault: 'all processes are restarted one after the other',
    names: /^rolling restart /,
    selector: 'process_start_time_seconds',
    moves: 'changes',
    alert: 'PlatenDrainHangs',
    isProven: true,
  },
  {
    fault: 'an operator is killed or stopped, also while Redis loses everything, or loses its lease',
    names: /^((flush, )?leader (killed|stopped)|both (killed|stopped)|lease lost)$/,
    selector: 'leader_election_master_status',
    moves: 'falls to 0',
    alert: 'PlatenNoLeader',
  },
  {
    fault: 'Redis loses the settings',
    names: /^flush$/,
    selector: 'platen_operator_repairs_total',
    moves: 'rises',
  },
  {
    fault: 'an operator stands still',
    names: /^leader paused$/,
    selector: 'platen_event_loop_delay_max_seconds',
    moves: 'rises',
    alert: 'PlatenEventLoopHeld',
  },
  {
    fault: 'watches are reset or stall',
    names: /^watches /,
    selector: 'platen_operator_watches_total',
    moves: 'rises',
  },
  {
    fault: 'the API server is away',
    names: /^API server /,
    selector: failing('kubernetes'),
    moves: 'rises',
    alert: 'PlatenDependencyAway',
  },
]

/** The row of a fault; undefined if it has none. */
export function signalOf(name: string): Signal | undefined {
  return SIGNALS.find(({ names }) => names.test(name))
}

/** The values of a selector, by process. A process that does not answer has none. */
export async function readSignal(rig: Rig, { selector }: Signal): Promise<readonly (number | undefined)[]> {
  const processes = DEPLOYABLES.flatMap((name) => rig.processes(name))
  return await Promise.all(processes.map((process) => valueIn(process, selector)))
}

async function valueIn({ ports: [, probes] }: ServerProcess, selector: string): Promise<number | undefined> {
  const [metric = '', matchers = ''] = selector.split(/[{}]/)
  const patterns = [...matchers.matchAll(/(\w+)=~?"([^"]*)"/g)].map(
    ([, name, value]) => new RegExp(`${name}="(${value})"`),
  )
  const text = await fetch(`http://127.0.0.1:${probes}/metrics`).then((answer) => answer.text())
  const lines = text.split('\n').filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
  const own = lines.filter((line) => patterns.every((pattern) => pattern.test(line)))
  return own.length === 0 ? undefined : own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Has the series of some process moved? Both in the order of `readSignal`. */
export function hasMoved(
  { moves }: Signal,
  before: readonly (number | undefined)[],
  after: readonly (number | undefined)[],
): boolean {
  return after.some((value, at) => {
    const known = before[at]
    if (value === undefined || known === undefined) return false
    return moves === 'rises' ? value > known : value !== known
  })
}
