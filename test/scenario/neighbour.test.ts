/**
 * A well-behaved tenant beside one that means harm: its renders all end well, none waits for a crowd, and a key
 * that it takes back is refused. `make hostile` tries every attack, one after the other; else some of them are tried, four at once.
 */
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import type { Attack } from '../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../hostile/neighbour/corpus.ts'
import { beside, bothTenants, inForce, SLOTS, watchBeside } from '../hostile/neighbour/neighbour.ts'
import { IS_LONG, SEED, seeded, shuffled } from '../run/form.ts'
import type { TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const AT_ONCE = IS_LONG ? 1 : 4
/** On each topology: on both together a third of the corpus. */
const TRIALS = 7
/** How often each attack is begun; `make hostile TIMES=10` begins it ten times. */
const TIMES = Number(process.env['TIMES'] ?? 1)

process.stdout.write(`the seed is ${SEED}; again with SEED=${SEED}\n`)

const applies = ({ isByResources = false }: Attack) => inject('topology') === 'embedded' || !isByResources
const chosen = shuffled(ATTACKS.filter(applies), seeded(SEED))

interface Trial {
  readonly name: string
  /** None where it is not one for this topology. */
  readonly attacks: readonly Attack[]
}

/** In the long form each attack is a trial of its own; else the seed chooses those of each. */
function trials(): readonly Trial[] {
  if (IS_LONG) return ATTACKS.map((attack) => ({ name: attack.name, attacks: [attack].filter(applies) }))
  return Array.from({ length: TRIALS }, (_, at) => ({
    name: `attacks of the seed, trial ${at + 1}`,
    attacks: chosen.slice(at * AT_ONCE, (at + 1) * AT_ONCE),
  }))
}

let service: TestedService
beforeAll(async () => {
  service = await startService({ PLATEN_RENDER_SLOTS: `${SLOTS}` }, bothTenants())
  await inForce(service)
})
afterAll(() => service[Symbol.asyncDispose]())

describe('beside a tenant that means harm, a neighbour is served, and what it takes back is taken back', () => {
  test.for(trials().map((trial) => [trial.name, trial] as const))('%s', async ([, { attacks }], { skip }) => {
    const [first] = attacks
    if (first === undefined) return skip('what attacks by resources is for who reads manifests by itself')
    for (let time = 0; time < TIMES; time++)
      await watchBeside(service, attacks, `spare-${ATTACKS.indexOf(first)}-${time}`).catch(beside(attacks))
  })
})
