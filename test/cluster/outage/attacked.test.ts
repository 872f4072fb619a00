/** A cluster without Redis while one of its tenants means harm: the others are served, and what was accepted is rendered. */
import { expect, test } from 'vitest'
import { NEIGHBOUR_LIVE, openAttacker } from '../../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../../hostile/neighbour/corpus.ts'
import { bothTenants, letter, SLOTS } from '../../hostile/neighbour/neighbour.ts'
import { SEED, seeded, shuffled } from '../../run/form.ts'
import { startTestCluster } from '../../topology/cluster/test-cluster.ts'
import { startRedis } from '../../topology/server/redis.ts'
import { ended, render, submit } from '../../topology/service.ts'

const AT_ONCE = 4
const ROUNDS = 5

test(`a neighbour is served while Redis is wedged (seed ${SEED})`, async () => {
  const attacks = shuffled(ATTACKS, seeded(SEED))
    .filter(({ isByResources = false }) => !isByResources)
    .slice(0, AT_ONCE)
  await using redis = await startRedis()
  await using cluster = await startTestCluster({
    redis,
    manifests: bothTenants(),
    engines: ['react_pdf', 'html'],
    settings: { PLATEN_CONCURRENCY: `${SLOTS}` },
  })
  const service = cluster.at(0)
  // What every template takes to be in force was waited for by `publish`.
  expect((await render(service, NEIGHBOUR_LIVE, letter('first'))).status).toBe(200)
  await using attacker = openAttacker({ ...service, manifestsDir: cluster.manifestsDir })
  const attacking = Promise.all(attacks.map(({ begin }) => begin(attacker)))
  const [statuses, ids]: [number[], string[]] = [[], []]
  redis.pause()
  for (let round = 0; round < ROUNDS; round++)
    for (const engine of ['react_pdf', 'html'] as const) {
      const body = { ...letter(`${round}`), engine }
      statuses.push((await render(service, NEIGHBOUR_LIVE, body)).status)
      ids.push(await submit(service, NEIGHBOUR_LIVE, body))
    }
  redis.resume()
  await attacking
  const records = await Promise.all(ids.map((id) => ended(service, NEIGHBOUR_LIVE, id)))
  const seen = { statuses: new Set(statuses), states: new Set(records.map(({ status }) => status)) }
  expect(seen, attacks.map(({ name }) => name).join(' + ')).toEqual({
    statuses: new Set([200]),
    states: new Set(['succeeded']),
  })
})
