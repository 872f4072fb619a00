/** Rounds, in each of which a number of sequences go on at once while one thing breaks; and what came of them, in words. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import { watchSignal } from '../../chaos/cluster/signal/watch.ts'
import { seeded } from '../../run/form.ts'
import type { Fault } from './fault.ts'
import { untilSettled } from './judge.ts'
import type { Revocations } from './revocation.ts'
import type { ChaosRig } from './rig.ts'
import { aSequence, type Sequence } from './sequence.ts'

export interface Row {
  readonly fault: string
  /** What was declared, changed and removed. */
  readonly steps: number
  /** How many of them the API server refused, or was not there for. */
  readonly refused: number
  readonly seconds: number
  /** What is wrong with the signal that shows the fault; absent if nothing is. */
  readonly silent?: string
}

export interface Rounds {
  /**
   * Lets sequences begin, others end, and those that have ended go; resolves when all is settled. Throws with what is not, and what was done
   * before. Nothing breaks if no fault is given.
   */
  readonly round: (fault: Fault | undefined, signal: AbortSignal) => Promise<Row>
  /** Resolves when it was found out as well whose Secrets were edited. */
  readonly audited: () => Promise<void>
  readonly sequences: () => number
}

/** More than there are of them. */
const SEED_STEP = 100_000
/** Of each sequence in each round. */
const STEPS = 4
/** Between two steps of a sequence, at most. */
const PAUSE_MS_MAX = 400

export interface RoundOptions {
  readonly rig: ChaosRig
  readonly revocations: Revocations
  readonly seed: number
  /** How many begin in a round; each goes on in the next. */
  readonly sequences: number
}

export function openRounds({ rig, revocations, seed, sequences }: RoundOptions): Rounds {
  // Of no sequence: which of them asks first is chance.
  const pauses = seeded(seed)
  const deeds = { edited: new Set<string>(), ended: new Map<string, readonly KeyHash[]>() }
  let count = 0
  let [young, old]: [readonly Sequence[], readonly Sequence[]] = [[], []]
  const settled = async (when: string) => {
    await untilSettled(rig, deeds).catch((error: unknown) => {
      throw new Error(`${when}: ${String(error)}`, { cause: historyOf([...young, ...old], String(error)) })
    })
  }
  return {
    sequences: () => count,
    async audited() {
      deeds.edited.clear()
      await settled('with what was edited')
    },
    async round(fault, signal) {
      const begunAt = performance.now()
      const ending = old
      old = young
      young = Array.from({ length: sequences }, () => {
        const name = `s${++count}`
        return aSequence({ name, rig, revocations, deeds, random: seeded(seed * SEED_STEP + count) })
      })
      const all = [...young, ...old, ...ending]
      const before = countsOf(all)
      // Half of them while something breaks, the others when nothing keeps an operator from it.
      const [soon, late] = [ending.slice(sequences / 2), ending.slice(0, sequences / 2)]
      const beginMs = pauses() * STEPS * PAUSE_MS_MAX
      const injecting = sleep(beginMs).then(() => fault && inject(fault, { rig, revocations, signal }))
      await Promise.all([
        ...young.map((sequence) => sequence.begin().then(() => walk(sequence, pauses))),
        ...old.map((sequence) => walk(sequence, pauses)),
        ...soon.map((sequence) => sequence.clear()),
        injecting,
      ])
      await Promise.all(late.map((sequence) => sequence.clear()))
      const { name = 'nothing' } = fault ?? {}
      await settled(`after ${name}`)
      const { steps, refused } = countsOf(all)
      const seconds = (performance.now() - begunAt) / 1000
      const silent = await injecting
      const counts = { steps: steps - before.steps, refused: refused - before.refused }
      return { fault: name, ...counts, seconds, ...(silent !== undefined && { silent }) }
    },
  }
}

async function walk({ step }: Sequence, pauses: () => number): Promise<void> {
  for (let steps = 0; steps < STEPS; steps++) {
    await sleep(pauses() * PAUSE_MS_MAX)
    await step()
  }
}

/** Until it is over, and an operator leads again, nobody is held to time. Returns what is wrong with the signal that shows it. */
async function inject(
  fault: Fault,
  { rig, revocations, signal }: { rig: ChaosRig; revocations: Revocations; signal: AbortSignal },
): Promise<string | undefined> {
  using _ = revocations.disturb()
  const processes = rig.operators.map(({ process }) => process)
  await using watch = await watchSignal(fault.signal, processes)
  await fault.run(rig, watch)
  const silent = await watch.verdict()
  await rig.led(signal)
  return silent
}

function countsOf(sequences: readonly Sequence[]): Pick<Row, 'steps' | 'refused'> {
  const history = sequences.flatMap((sequence) => sequence.history)
  return { steps: history.length, refused: history.filter((what) => what.includes('Error: ')).length }
}

/** What was done in the sequences that an error names. */
function historyOf(sequences: readonly Sequence[], error: string): readonly string[] {
  const named = sequences.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(error))
  return named.flatMap(({ name, history }) => history.map((what) => `${name}: ${what}`))
}

export function lineOf({ fault, steps, refused, seconds }: Row): string {
  const counts = `${steps} steps, ${refused} of them refused`
  return `${seconds.toFixed(1).padStart(6)} s  ${fault.padEnd(22)}  ${counts}`
}

/** How long keys outlived their revocation. */
export function summaryOf({ measured, voided }: Pick<Revocations, 'measured' | 'voided'>): string {
  const sorted = measured.map(({ ms }) => ms).sort((one, other) => one - other)
  const at = (share: number) => `${Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)} ms`
  const figures = `${at(0.5)} (median), ${at(0.99)} (p99), ${at(1)} (slowest)`
  return `${sorted.length} revocations enforced after ${figures}; ${voided()} not counted, as the machine was busy`
}
