/** That the watch beside an attacker can fail: each of these defences taken out, the corpus sees it. In the short form a third of them, by the seed. */
import { describe, expect, test } from 'vitest'
import { type Mutant, mutantOptions } from '../../chaos/cluster/rig/mutant.ts'
import { third } from '../../run/form.ts'
import { startEmbedded } from '../../topology/embedded.ts'
import { ATTACKS } from './corpus.ts'
import { bothTenants, inForce, SLOTS, watchBeside } from './neighbour.ts'

interface Case {
  readonly mutant: Mutant
  /** Its name in the corpus. */
  readonly attack: string
  /** What the neighbour feels of it. */
  readonly sees: RegExp
}

const CASES: readonly Case[] = [
  {
    mutant: {
      name: 'gives a tenant all of the async lane',
      file: '/contract/src/port/limiter-state.ts',
      find: "outstanding(account, engine) < limits.asyncFairShare ? 'async' : 'bulk'",
      replace: "'async'",
    },
    attack: 'two hundred async renders',
    sees: /^expected \d+ to be less than/,
  },
  {
    mutant: {
      name: 'serves sync renders first come, first served',
      file: '/renderer/src/worker/sync-queue.ts',
      find: 'const { tenant } = queued.record',
      replace: "const tenant = 'everybody'",
    },
    attack: 'forty sync renders',
    sees: /^expected \d+ to be less than/,
  },
  {
    mutant: {
      name: 'takes a key that another tenant has',
      file: '/settings/src/compile/api-key.ts',
      find: 'const owner = hash === undefined ? undefined : owners.get(hash)',
      replace: 'const owner = undefined',
    },
    attack: "somebody else's key, declared as its own",
    sees: /404/,
  },
  {
    mutant: {
      name: 'has no room for bodies by key',
      file: '/api/src/body/body-budget.ts',
      find: 'if (taken.get(key) + more > BODIES_OF_ONE_KEY_BYTES_MAX) throw tooMuch()',
      replace: '',
    },
    attack: 'requests that never end',
    sees: /503/,
  },
  {
    mutant: {
      name: 'counts what is refused of all keys as one',
      file: '/api/src/traffic/throttle.ts',
      find: 'openTokenBuckets({ perMinute, namesMax: CALLERS_COUNTED_MAX, clock })',
      replace: `(({ waitMs, take }) => ({ waitMs: (_, tokens) => waitMs('', tokens), take: (_, tokens) => take('', tokens) }))(
        openTokenBuckets({ perMinute, namesMax: CALLERS_COUNTED_MAX, clock }),
      )`,
    },
    attack: 'a thousand requests that are refused',
    sees: /429/,
  },
]

describe('the corpus sees a service that', () => {
  test.for(third(CASES).map((each) => [each.mutant.name, each] as const))(
    '%s',
    async ([, { mutant, attack, sees }]) => {
      const attacks = ATTACKS.filter(({ name }) => name === attack)
      expect(attacks).toHaveLength(1)
      await using service = await startEmbedded(
        { PLATEN_RENDER_SLOTS: `${SLOTS}`, ...mutantOptions(mutant) },
        bothTenants(),
      )
      await inForce(service)
      await expect(watchBeside(service, attacks, 'spare')).rejects.toThrow(sees)
    },
  )
})
