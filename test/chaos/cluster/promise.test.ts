/**
 * The short form of `make chaos`: each step of a render with the death of who takes it, and of the other faults some by chance. The long
 * form has the death of everybody else at each step. The seed is printed; `SEED=` makes the same choices again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Rig } from './rig/rig.ts'
import { openRigFor, type Row, shuffled, tableOf, tryFaults } from './series.ts'
import { type Fault, GROUPS, type Group, killAt } from './trial/fault.ts'
import { seeded } from './trial/random.ts'
import { STEPS } from './trial/step.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const random = seeded(seed)
const rows: Row[] = []

function groupNamed(name: string): Group {
  const group = GROUPS.find((each) => each.name === name)
  if (group === undefined) throw new RangeError(`no group is called ${name}`)
  return group
}

function some(faults: readonly Fault[], count: number): readonly Fault[] {
  return shuffled(faults, random).slice(0, count)
}

/** One trial each. */
const SINGLE: readonly Pick<Group, 'name' | 'faults'>[] = [
  { name: 'kill', faults: STEPS.map((step) => killAt(step, step.actor)) },
  { name: 'stop', faults: some(groupNamed('stop').faults, 2) },
  { name: 'network', faults: some(groupNamed('network').faults, 5) },
  groupNamed('flush'),
  groupNamed('s3'),
  { name: 'clock', faults: some(groupNamed('clock').faults, 2) },
]

const ROLLING = { name: 'roll', faults: groupNamed('roll').faults.slice(0, 1) }

afterAll(() => void process.stdout.write(`seed ${seed}\n${tableOf(rows)}\n`))

describe('one process of each deployable', () => {
  let rig: Rig
  beforeAll(async () => {
    rig = await openRigFor({ copies: 1 }, SINGLE.length)
  })
  afterAll(() => rig[Symbol.asyncDispose]())

  test.for(SINGLE)(`all promises are kept under: $name (seed ${seed})`, async (group, { signal }) => {
    const row = await tryFaults(group, { rig, seed, signal })
    rows.push(row)
    expect(row.violations).toEqual([])
  })
})

describe('two processes of each deployable', () => {
  let rig: Rig
  beforeAll(async () => {
    rig = await openRigFor({ copies: 2 }, 1)
  })
  afterAll(() => rig[Symbol.asyncDispose]())

  test(`all promises are kept while they are restarted one after the other (seed ${seed})`, async ({ signal }) => {
    const row = await tryFaults(ROLLING, { rig, seed, signal })
    rows.push(row)
    expect(row.violations).toEqual([])
  })
})
