/**
 * A well-behaved tenant beside one that means harm: its renders all end well, none waits for a crowd, and a key
 * that it takes back is refused. `make hostile` tries every attack, one after the other; else some of them are tried, four at once.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Attack, NEIGHBOUR_LIVE, openAttacker } from '../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../hostile/neighbour/corpus.ts'
import { bothTenants, inForce, letter, SLOTS, watchBeside } from '../hostile/neighbour/neighbour.ts'
import { IS_LONG, SEED, seeded, shuffled } from '../run/form.ts'
import { until } from '../time/until.ts'
import { ended, render, type TestedService } from '../topology/service.ts'
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

/** What a failure was beside. */
const beside = (attacks: readonly Attack[]) => (cause: unknown) => {
  throw new Error(`beside ${attacks.map(({ name }) => name).join(' + ')}`, { cause })
}

describe('beside a tenant that means harm, a neighbour is served, and what it takes back is taken back', () => {
  test.for(trials().map((trial) => [trial.name, trial] as const))('%s', async ([, { attacks }], { skip }) => {
    const [first] = attacks
    if (first === undefined) return skip()
    for (let time = 0; time < TIMES; time++)
      await watchBeside(service, attacks, `spare-${ATTACKS.indexOf(first)}-${time}`).catch(beside(attacks))
  })
})

test.runIf(inject('topology') === 'embedded')(
  'what a neighbour is answered while the service stops is kept, whatever another does then',
  async () => {
    const attacks = chosen.slice(-AT_ONCE)
    await using attacker = openAttacker(service)
    const attacking = Promise.all(attacks.map(({ begin }) => begin(attacker)))
    const [ids, statuses]: [string[], number[]] = [[], []]
    const stopping = new AbortController()
    const call = async (mode: 'sync' | 'async') => {
      while (!stopping.signal.aborted) {
        const answer = await render(service, NEIGHBOUR_LIVE, { ...letter(mode), mode }).catch(() => undefined)
        // Between two requests the connection may have gone.
        if (answer === undefined) return
        statuses.push(answer.status)
        if (answer.status === 202) ids.push(String(answer.json()['render_id']))
        if (answer.status === 503) return
      }
    }
    const calls = (['sync', 'async', 'sync', 'async'] as const).map(call)
    await until(
      async () => ids.length,
      (count) => count >= 10,
    )
    const code = await service.stop()
    stopping.abort()
    await Promise.all([...calls, attacking])
    await service.start()
    const records = await Promise.all(ids.map((id) => ended(service, NEIGHBOUR_LIVE, id)))
    const told = { code, statuses: new Set(statuses), states: new Set(records.map(({ status }) => status)) }
    expect(told, attacks.map(({ name }) => name).join(' + ')).toEqual({
      code: 0,
      statuses: new Set([200, 202, ...(statuses.includes(503) ? [503] : [])]),
      states: new Set(['succeeded']),
    })
  },
)
