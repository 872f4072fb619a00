/** A cluster without Redis while one of its tenants means harm: the others are served, and what was accepted is rendered. */
import { expect, test } from 'vitest'
import { createClient } from '../../../client/src/client.ts'
import { NEIGHBOUR_LIVE, openAttacker } from '../../hostile/neighbour/attacker.ts'
import { ATTACKS } from '../../hostile/neighbour/corpus.ts'
import { beside, bothTenants, letter, SLOTS } from '../../hostile/neighbour/neighbour.ts'
import { SEED, seeded, shuffled } from '../../run/form.ts'
import { startTestCluster } from '../../topology/cluster/test-cluster.ts'
import { startRedis } from '../../topology/server/redis.ts'

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
    settings: { PLATEN_RENDER_SLOTS: `${SLOTS}` },
  })
  const service = cluster.at(0)
  // It sends a render again that is refused for a while: a machine that stalls for a second may refuse one.
  const neighbour = createClient({ baseUrl: service.url(), apiKey: NEIGHBOUR_LIVE })
  // What every template takes to be in force was waited for by `publish`.
  await neighbour.render(letter('first'))
  await using attacker = openAttacker({ ...service, manifestsDir: cluster.manifestsDir })
  const attacking = Promise.all(attacks.map(({ begin }) => begin(attacker)))
  redis.pause()
  const ids: string[] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const engine of ['react_pdf', 'html'] as const) {
      const input = { ...letter(`${round}`), engine }
      const { pdf } = await neighbour.render(input).catch(beside(attacks))
      expect(Buffer.from(pdf).toString('latin1', 0, 5)).toBe('%PDF-')
      ids.push((await neighbour.renderAsync(input).catch(beside(attacks))).renderId)
    }
  redis.resume()
  await attacking
  const records = await Promise.all(ids.map((id) => neighbour.waitForRender(id).catch(beside(attacks))))
  expect(records.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'))
})
