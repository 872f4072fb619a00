/**
 * The short form of `make chaos`: for each step of a render it kills the process that takes the step. Of the other faults it tries one of
 * each kind, chosen at random, and at least one of each signal. The long form tries all faults, and kills every other process at each step,
 * too. The seed is printed; `SEED=` makes the same choices again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shared } from '../../fixture/lifetime.ts'
import { SEED, seeded, shuffled } from '../../run/form.ts'
import { SERVERS } from './rig/rig.ts'
import { openRigFor, type Row, tableOf, tryFaults } from './series.ts'
import { type Fault, GROUPS, type Group, killAt } from './trial/fault.ts'
import { STEPS } from './trial/step.ts'

const random = seeded(SEED)
const rows: Row[] = []

function groupNamed(name: string): Group {
  const group = GROUPS.find((each) => each.name === name)
  if (group === undefined) throw new RangeError(`no group is called ${name}`)
  return group
}

/** The broken promises in words: an assertion alone prints only how many there are. */
function told({ violations }: Row): string {
  return violations.map(({ promise, what }) => `${promise}: ${what}`).join('\n')
}

function some(faults: readonly Fault[], count: number): readonly Fault[] {
  return shuffled(faults, random).slice(0, count)
}

/** One fault of each signal. */
function oneOfEach(faults: readonly Fault[]): readonly Fault[] {
  return [...Map.groupBy(faults, ({ signal }) => signal).values()].flatMap((each) => some(each, 1))
}

const [RESETS = [], LOSSES = []] = ['reset', 'lost'].map((end) =>
  groupNamed('network').faults.filter(({ name }) => name.endsWith(end)),
)
const STANDING_STILL = groupNamed('stop').faults.filter(({ signal }) => signal === 'a process stands still')
/** A server that is killed and one that stands still are seen in the same way, and many kills would be chosen for each stop. */
const AWAY = SERVERS.flatMap((server) => [
  ...some(groupNamed(`kill ${server}`).faults, 1),
  ...groupNamed('stop').faults.filter(({ name }) => name.startsWith(`stop ${server} `)),
])

/** One trial for each group. */
const SINGLE: readonly Pick<Group, 'name' | 'faults'>[] = [
  { name: 'kill', faults: STEPS.map((step) => killAt(step, step.actor)) },
  { name: 'stop', faults: some(STANDING_STILL, 1) },
  { name: 'away', faults: oneOfEach(AWAY) },
  { name: 'network', faults: [...oneOfEach(RESETS), ...some(LOSSES, 1)] },
  groupNamed('flush'),
  groupNamed('s3'),
  { name: 'clock', faults: some(groupNamed('clock').faults, 1) },
]

const ROLLING = { name: 'roll', faults: groupNamed('roll').faults.slice(0, 1) }

const rig = shared(() => openRigFor({ copies: 2 }, SINGLE.length + 1))
afterAll(() => void process.stdout.write(`seed ${SEED}\n${tableOf(rows)}\n`))

describe('two processes of each deployable', () => {
  test(`all promises are kept while they are restarted one after the other (seed ${SEED})`, async ({ signal }) => {
    const row = await tryFaults(ROLLING, { rig: rig(), seed: SEED, signal })
    rows.push(row)
    expect(row.violations, told(row)).toEqual([])
    expect(row.silent).toEqual([])
  })
})

describe('one process of each deployable', () => {
  beforeAll(() => rig().keepFirst())

  test.for(SINGLE)(`all promises are kept under: $name (seed ${SEED})`, async (group, { signal }) => {
    const row = await tryFaults(group, { rig: rig(), seed: SEED, signal })
    rows.push(row)
    expect(row.violations, told(row)).toEqual([])
    expect(row.silent).toEqual([])
  })
})
