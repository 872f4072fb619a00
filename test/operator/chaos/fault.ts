/** What is done to operators and to what they stand on. Each is over when it resolves; whoever ended is started again by others. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_HELD_MS_MAX, LEASE_MS } from '@platen/operator/limit.ts'
import type { ChaosRig, OperatorProcess } from './rig.ts'

export interface Fault {
  readonly name: string
  readonly run: (rig: ChaosRig) => Promise<void>
}

const SECOND_MS = 1000

/** By what they have in common. */
const CLASSES: readonly (readonly [Fault, ...Fault[]])[] = [
  [{ name: 'nothing', run: async () => undefined }],
  [
    { name: 'leader killed', run: async ({ leader }) => (await leader()).process.kill() },
    { name: 'both killed', run: ({ operators }) => each(operators, ({ process }) => process.kill()) },
    { name: 'leader stopped', run: async ({ leader }) => void (await (await leader()).process.stop()) },
    { name: 'both stopped', run: ({ operators }) => each(operators, ({ process }) => process.stop()) },
  ],
  [{ name: 'flush', run: ({ flush }) => flush() }],
  [
    { name: 'flush, leader killed', run: (rig) => both(rig, ({ process }) => process.kill()) },
    { name: 'flush, leader stopped', run: (rig) => both(rig, ({ process }) => process.stop()) },
  ],
  [
    { name: 'leader paused', run: paused },
    { name: 'lease lost', run: (rig) => stalled(rig, 1.3 * LEASE_HELD_MS_MAX) },
  ],
  [
    { name: 'watches reset', run: watchesReset },
    { name: 'watches stalled', run: (rig) => stalled(rig, 5 * SECOND_MS) },
  ],
  [
    { name: 'API server restarted', run: apiServerRestarted },
    { name: 'API server killed', run: apiServerKilled },
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

/** Of the leader: nothing passes, and it is told of nothing. */
async function stalled({ leader }: ChaosRig, ms: number): Promise<void> {
  const { proxy } = await leader()
  proxy.disturb({ kind: 'stall' })
  await sleep(ms)
  proxy.disturb(undefined)
}

/** It is away for longer than a lease lasts. */
async function apiServerRestarted({ kube }: ChaosRig): Promise<void> {
  await kube.stop()
  await sleep(LEASE_MS)
  await kube.start()
}

async function apiServerKilled({ kube }: ChaosRig): Promise<void> {
  await kube.kill()
  await kube.start()
}

async function each(
  operators: readonly OperatorProcess[],
  act: (operator: OperatorProcess) => Promise<unknown>,
): Promise<void> {
  await Promise.all(operators.map(act))
}
