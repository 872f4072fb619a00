/**
 * Tests a Chromium that fails to start for longer than the longest render deadline: the answers to callers, and the fate of waiting
 * renders.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { expect, test } from 'vitest'
import { aFolder } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { ended, render, statusOf, submit } from '../topology/service.ts'

test('without a browser that starts html is refused, react_pdf works, and what was accepted ends when it does start', async () => {
  const folder = aFolder()
  const executable = join(folder, 'chromium')
  writeFileSync(executable, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  await using service = await startEmbedded({ PLATEN_CHROMIUM: executable, PLATEN_METRICS_PORT: '0' })
  const order = { template: 'invoice', data: invoice(1), engine: 'html' }
  const readiness = async () => {
    const answer = await fetch(`${service.probesUrl()}/readyz`)
    return { status: answer.status, body: await answer.text() }
  }
  const id = await submit(service, ACME_LIVE, order)

  const answer = await poll(readiness).until(({ body }) => body.includes('"html":"broken"'))
  expect(answer).toEqual({ status: 200, body: expect.stringContaining('"react_pdf":"running"') })
  const refusal = await render(service, ACME_LIVE, order)
  expect([refusal.status, refusal.json()]).toMatchObject([503, { error: { code: 'RENDER_UNAVAILABLE' } }])
  expect((await render(service, ACME_LIVE, { ...order, engine: 'react_pdf' })).status).toBe(200)
  // Twice the deadline of its plan has passed, and it has used none of its three attempts.
  expect((await statusOf(service, ACME_LIVE, id)).status).toBe('queued')

  writeFileSync(executable, `#!/bin/sh\nexec ${await findChromium({})} "$@"\n`)
  expect(await ended(service, ACME_LIVE, id)).toMatchObject({ status: 'succeeded' })
  expect((await render(service, ACME_LIVE, order)).status).toBe(200)
  expect((await readiness()).body).toContain('"html":"running"')
  expect(await service.stop()).toBe(0)
})
