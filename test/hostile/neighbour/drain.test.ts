/** A service that stops while one of its tenants means harm. */
import { expect, test } from 'vitest'
import { SEED, seeded, shuffled } from '../../run/form.ts'
import { poll } from '../../time/poll.ts'
import { startEmbedded } from '../../topology/embedded.ts'
import { ended, render } from '../../topology/service.ts'
import { NEIGHBOUR_LIVE, openAttacker } from './attacker.ts'
import { ATTACKS } from './corpus.ts'
import { bothTenants, inForce, letter, SLOTS } from './neighbour.ts'

const AT_ONCE = 4
const RENDERS_MIN = 10

test(`what a neighbour is answered while the service stops is kept (seed ${SEED})`, async () => {
  const attacks = shuffled(ATTACKS, seeded(SEED)).slice(0, AT_ONCE)
  await using service = await startEmbedded({ PLATEN_RENDER_SLOTS: `${SLOTS}` }, bothTenants())
  await inForce(service)
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
  await poll(() => ids.length).until((count) => count >= RENDERS_MIN)
  const code = await service.stop()
  stopping.abort()
  await Promise.all([...calls, attacking])
  await service.start()
  const records = await Promise.all(ids.map((id) => ended(service, NEIGHBOUR_LIVE, id)))
  const seen = { code, statuses: new Set(statuses), states: new Set(records.map(({ status }) => status)) }
  expect(seen, attacks.map(({ name }) => name).join(' + ')).toEqual({
    code: 0,
    statuses: new Set([200, 202, ...(statuses.includes(503) ? [503] : [])]),
    states: new Set(['succeeded']),
  })
})
