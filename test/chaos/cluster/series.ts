/** Runs groups of faults, one trial for each group, and formats a table of the results. */

import { seeded, shuffled } from '../../run/form.ts'
import { DEPLOYABLES, openRig, type Rig } from './rig/rig.ts'
import { watchSignal } from './signal/watch.ts'
import { type Deed, GROUPS, type Ground, type Group } from './trial/fault.ts'
import { PROMISES, type PromiseId, type Violation } from './trial/judge.ts'
import { beginTrial } from './trial/trial.ts'

export interface Row {
  readonly group: string
  readonly seed: number
  readonly faults: number
  /** Number of renders whose id a caller has received. */
  readonly renders: number
  /** Answers to callers: 200 and 202, 503, and broken connections. */
  readonly answers: { readonly well: number; readonly refused: number; readonly broken: number }
  readonly violations: readonly Violation[]
  /** Faults that their metric or the condition of their alert does not show, and what is wrong. */
  readonly silent: readonly string[]
  readonly seconds: number
}

export interface Attempt {
  readonly rig: Rig
  readonly seed: number
  readonly signal: AbortSignal
  readonly patienceMs?: number
  /** Called for each fault, after the service has recovered. */
  readonly onFault?: (fault: Deed, seconds: number) => void
}

export function openRigFor({ copies }: Pick<Group, 'copies'>, trials?: number): Promise<Rig> {
  return openRig({ copies, ...(trials !== undefined && { trials }) })
}

/** Runs a trial with all faults, in an order that the seed decides. Returns the verdict. */
export async function tryFaults(
  { name, faults }: { readonly name: string; readonly faults: readonly Deed[] },
  attempt: Attempt,
): Promise<Row> {
  const { seed, onFault, ...ground } = attempt
  const random = seeded(seed)
  const begunAt = performance.now()
  const trial = await beginTrial({ ...ground, random })
  const silent: string[] = []
  for (const fault of shuffled(faults, random)) {
    const from = performance.now()
    const fails = await signalFault(fault, { ...ground, trial, random })
    if (fails !== undefined) silent.push(`${fault.name}: ${fails}`)
    onFault?.(fault, (performance.now() - from) / 1000)
  }
  const violations = await trial.verdict()
  const { exchanges } = trial.load
  const count = (isCounted: (status: number) => boolean) => exchanges.filter(({ status }) => isCounted(status)).length
  return {
    group: name,
    seed,
    faults: faults.length,
    renders: trial.load.issued().length,
    answers: {
      well: count((status) => status === 200 || status === 202),
      refused: count((status) => status === 503),
      broken: count((status) => status === 0),
    },
    violations,
    silent,
    seconds: (performance.now() - begunAt) / 1000,
  }
}

/** Runs a fault. Returns what is wrong with the signal that shows it; undefined if it shows it as it should. */
async function signalFault({ signal, run }: Deed, ground: Omit<Ground, 'noticed'>): Promise<string | undefined> {
  if (signal === undefined) {
    await run({ ...ground, noticed: async () => undefined })
    return undefined
  }
  const processes = DEPLOYABLES.flatMap((name) => ground.rig.processes(name))
  await using watch = await watchSignal(signal, processes)
  await run({ ...ground, noticed: watch.noticed })
  return await watch.verdict()
}

/** Returns the groups whose names start with one of these words. Without names it returns all groups. */
export function groupsNamed(names: readonly string[]): readonly Group[] {
  const isMeant = ({ name }: Group) => names.some((wanted) => `${name} `.startsWith(`${wanted} `))
  return names.length === 0 ? GROUPS : GROUPS.filter(isMeant)
}

export function tableOf(rows: readonly Row[]): string {
  const ids = Object.keys(PROMISES)
  const heads = ['group', 'seed', 'faults', 'renders', 'well', '503', 'broken', ...ids, 'seconds']
  const lines = rows.map(({ group, seed, faults, renders, answers, violations, seconds }) => [
    group,
    `${seed}`,
    `${faults}`,
    `${renders}`,
    `${answers.well}`,
    `${answers.refused}`,
    `${answers.broken}`,
    ...ids.map((id) => markOf(violations.filter(({ promise }) => promise === id).length)),
    seconds.toFixed(0),
  ])
  const widths = heads.map((head, at) => Math.max(head.length, ...lines.map((line) => line[at]?.length ?? 0)))
  const joined = (cells: readonly string[]) => cells.map((cell, at) => pad(cell, widths[at] ?? 0, at === 0)).join('  ')
  const meaning = (Object.entries(PROMISES) as [PromiseId, string][]).map(([id, text]) => `${id}  ${text}`)
  return [joined(heads), ...lines.map(joined), '', ...meaning].join('\n')
}

function markOf(violations: number): string {
  return violations === 0 ? 'ok' : `${violations}`
}

function pad(cell: string, width: number, isLeft: boolean): string {
  return isLeft ? cell.padEnd(width) : cell.padStart(width)
}
