/**
 * Operators under faults, held against a model: random sequences of what people declare, rotate and edit, while operators are killed,
 * stopped and cut off, Redis is emptied and the API server restarted. When all is quiet, what is in force is what `compile` makes of what
 * etcd holds, and every Secret holds what is in force, or its owner says that it does not.
 * The seed is printed; `SEED=` makes the same sequences again (not their timing, which is the machine's), and `ROUNDS=` more of them.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IS_LONG, SEED, seeded, shuffled } from '../../run/form.ts'
import { poll } from '../../time/poll.ts'
import { FAULTS, type Fault, someFaults } from './fault.ts'
import { faultsIn } from './judge.ts'
import { measureRevocations, type Revocations } from './revocation.ts'
import { type ChaosRig, startChaosRig } from './rig.ts'
import { lineOf, openRounds, summaryOf } from './round.ts'

/** The short form has one fault of each class. In one round nothing breaks. */
const faultsOf = (random: () => number) => shuffled([undefined, ...(IS_LONG ? FAULTS : someFaults(random))], random)
const rounds = Number(process.env['ROUNDS'] ?? faultsOf(seeded(SEED)).length)
/** In each round. */
const SEQUENCES = IS_LONG ? 22 : 4
/** As promised; where the machine is busy the API server answers late, and what is measured then is left out. */
const REVOKED_MS_MAX = 2000
const SECOND_MS = 1000

const stack = new AsyncDisposableStack()
let rig: ChaosRig
let revocations: Revocations
beforeAll(async () => {
  rig = stack.use(await startChaosRig())
  revocations = stack.use(measureRevocations({ settings: () => rig.rig.directory(), ask: rig.ask }))
})
afterAll(() => stack.disposeAsync())

test(`what is in force is what is declared, whatever befalls (seed ${SEED})`, {
  timeout: rounds * 120 * SECOND_MS,
}, async ({ signal }) => {
  const random = seeded(SEED)
  const run = openRounds({ rig, revocations, seed: SEED, sequences: SEQUENCES })
  const silent: string[] = []
  try {
    for (let round = 0, faults: readonly (Fault | undefined)[] = []; round < rounds; round++) {
      if (faults.length === 0) faults = faultsOf(random)
      const [fault, ...others] = faults
      faults = others
      const row = await run.round(fault, signal)
      process.stdout.write(`${lineOf(row)}\n`)
      if (row.silent !== undefined) silent.push(`${row.fault}: ${row.silent}`)
    }
    await run.audited()
  } finally {
    process.stdout.write(`seed ${SEED}: ${run.sequences()} sequences; ${summaryOf(revocations)}\n`)
  }
  expect(silent).toEqual([])
  expect(run.sequences()).toBe(rounds * SEQUENCES)
  expect(revocations.measured.filter(({ ms }) => ms > REVOKED_MS_MAX)).toEqual([])
})

test('an operator that forgets the tenants of a plan is found out', { timeout: 300 * SECOND_MS }, async ({
  signal,
}) => {
  await rig.mutate({
    name: 'compiles a plan without its tenants',
    file: '/settings/src/compilation/compilation.ts',
    find: 'for (const name of names) for (const uid of relations.tenantsOf(name)) uids.add(uid)',
    replace: '',
  })
  await rig.led(signal)
  const [plan, tenant] = [
    { kind: 'Plan', name: 'forgetful' },
    { kind: 'Tenant', name: 'forgotten' },
  ] as const
  const { resources } = rig
  let renderLimitMonthly = 1
  await resources.untilPropagated(plan, await resources.create(plan, { renderLimitMonthly }), signal)
  const spec = { planRef: { name: plan.name } }
  await resources.untilPropagated(tenant, await resources.create(tenant, spec), signal)
  const change = async () => {
    renderLimitMonthly++
    await resources.untilPropagated(plan, await resources.patch(plan, { renderLimitMonthly }), signal)
    return await faultsIn(rig)
  }
  // A tenant that is looked at for another reason has what it is to have.
  await poll(change).until((faults) => faults.join().includes(`tenant ${tenant.name} is`))
})
