/** What is done to operators and to their servers. Each is over when it resolves; others start again the processes that ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_HELD_MS_MAX, LEASE_MS } from '@platen/operator/cluster/limit.ts'
import type { SignalName } from '../../chaos/cluster/signal/signal.ts'
import type { ChaosRig, OperatorProcess } from './rig.ts'

export interface Fault {
  readonly name: string
  /** How it is seen from outside. */
  readonly signal: SignalName
  readonly run: (rig: ChaosRig, seen: Seen) => Promise<void>
}

export interface Seen {
  /** Resolves when the metric of the signal has moved, or has not moved for long. */
  readonly noticed: () => Promise<void>
}

const SECOND_MS = 1000

/** Without its leader nobody leads. */
const NO_LEADER = 'the operator that leads is killed, stands still, or loses its lease'
const ENDED = 'operators are told to stop'
const AWAY = 'the API server is away'

/** By what they have in common. */
const CLASSES: readonly (readonly [Fault, ...Fault[]])[] = [
  [
    { name: 'leader killed', signal: NO_LEADER, run: async ({ leader }) => (await leader()).process.kill() },
    {
      name: 'both killed',
      signal: NO_LEADER,
      run: ({ operators }) => each(operators, ({ process }) => process.kill()),
    },
    { name: 'leader stopped', signal: ENDED, run: async ({ leader }) => void (await (await leader()).process.stop()) },
    { name: 'both stopped', signal: ENDED, run: ({ operators }) => each(operators, ({ process }) => process.stop()) },
  ],
  [{ name: 'flush', signal: 'Redis loses the settings', run: ({ flush }) => flush() }],
  [
    { name: 'flush, leader killed', signal: NO_LEADER, run: (rig) => both(rig, ({ process }) => process.kill()) },
    { name: 'flush, leader stopped', signal: ENDED, run: (rig) => both(rig, ({ process }) => process.stop()) },
  ],
  [
    { name: 'leader paused', signal: NO_LEADER, run: paused },
    { name: 'lease lost', signal: NO_LEADER, run: (rig) => stalled(rig, 1.3 * LEASE_HELD_MS_MAX) },
  ],
  [
    { name: 'watches reset', signal: 'watches of the operator are reset', run: watchesReset },
    // The lease is renewed in time.
    {
      name: 'watches stalled',
      signal: 'the API server answers late',
      run: (rig) => stalled(rig, LEASE_HELD_MS_MAX / 2),
    },
  ],
  [
    { name: 'API server restarted', signal: AWAY, run: apiServerRestarted },
    { name: 'API server killed', signal: AWAY, run: apiServerKilled },
  ],
]

export const FAULTS: readonly Fault[] = CLASSES.flat()

/** One of each class, by chance. */
export function someFaults(random: () => number): readonly Fault[] {
  return CLASSES.map((faults) => faults[Math.floor(random() * faults.length)] ?? faults[0])
}

/** A process that stands still for longer than its lease lasts, and goes on where it was. */
async function paused({ leader }: ChaosRig): Promise<void> {
  const { process } = await leader()
  process.pause()
  await sleep((4 / 3) * LEASE_MS)
  process.resume()
}

/** Nothing is left of what was published, nor of who knows it. */
async function both({ leader, flush }: ChaosRig, end: (operator: OperatorProcess) => Promise<unknown>): Promise<void> {
  const operator = await leader()
  await Promise.all([flush(), end(operator)])
  await flush()
}

async function watchesReset({ operators }: ChaosRig): Promise<void> {
  for (let resets = 0; resets < 5; resets++) {
    for (const { proxy } of operators) proxy.reset()
    await sleep(SECOND_MS / 2)
  }
}

/** Of the leader: nothing passes, and nothing tells it so. */
async function stalled({ leader }: ChaosRig, ms: number): Promise<void> {
  const { proxy } = await leader()
  proxy.disturb({ kind: 'stall' })
  await sleep(ms)
  proxy.disturb(undefined)
}

/** It is away for longer than a lease lasts. */
async function apiServerRestarted({ kube }: ChaosRig, { noticed }: Seen): Promise<void> {
  await kube.stop()
  await sleep(LEASE_MS)
  await noticed()
  await kube.start()
}

async function apiServerKilled({ kube }: ChaosRig, { noticed }: Seen): Promise<void> {
  await kube.kill()
  await noticed()
  await kube.start()
}

async function each(
  operators: readonly OperatorProcess[],
  act: (operator: OperatorProcess) => Promise<unknown>,
): Promise<void> {
  await Promise.all(operators.map(act))
}
