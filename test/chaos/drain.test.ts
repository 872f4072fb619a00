/** Tests a stop of the embedded service while renders under way need longer than the drain time. */
import { expect, test } from 'vitest'
import { key, LETTER_TSX, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { ended, reaches, render, submit } from '../topology/service.ts'

const LIVE = `service_live_${'L'.repeat(43)}`
/** Two seconds of a core. */
const LONG = { template: 'letter', data: { rounds: 8_000_000 } }

test('it answers whoever waits 503, ends with 0, and renders the rest when it is started again', async () => {
  const documents = [
    plan('acme', { renderTimeoutSeconds: 120 }),
    tenant('acme', 'acme'),
    key('acme', 'live', LIVE),
    template('acme', 'letter', tsx(LETTER_TSX)),
  ]
  const settings = { PLATEN_CHROMIUM: 'none', PLATEN_DRAIN_SECONDS: '0', PLATEN_LOG_LEVEL: 'debug' }
  await using service = await startEmbedded(settings, manifestOf(documents))
  const id = await submit(service, LIVE, LONG)
  await reaches(service, { key: LIVE, id, states: ['running'] })
  const sync = render(service, LIVE, LONG)
  await poll(() => service.log().split('"msg":"render started"').length - 1).until((begun) => begun === 2)
  expect(await service.stop()).toBe(0)
  const refused = await sync
  expect([refused.status, refused.json()]).toMatchObject([503, { error: { code: 'RENDER_UNAVAILABLE' } }])
  expect(service.log()).not.toContain('drain timeout exceeded')
  await service.start()
  expect((await ended(service, LIVE, id)).status).toBe('succeeded')
})
