/** Tests sync callers that disconnect: slot and quota are free long before the render's deadline. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SYNC_SLOTS } from '@platen/contract/domain/limit.ts'
import { describe, expect, test } from 'vitest'
import { html, key, LETTER_TSX, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { ended, published, render, request } from '../topology/service.ts'

const FRUGAL = `service_live_${'F'.repeat(43)}`
/** Tenants that hold one slot each, because no tenant may use all slots for its sync renders. */
const HOLDERS = Array.from({ length: SYNC_SLOTS + 1 }, (_, at) => ({
  name: `holder-${at}`,
  secret: `service_live_${String(at).repeat(43)}`,
}))

const LETTER_HTML = '<p>A letter<script>while ({{ isEndless }});</script>'

const LIMITS = {
  htmlEngineEnabled: true,
  javascriptEnabled: true,
  htmlEngineRenderMultiplier: 1,
  renderTimeoutSeconds: 120,
}
const RESOURCES = [
  // With a quota of one, the next render shows whether the quota was given back.
  plan('frugal', { ...LIMITS, renderLimitMonthly: 1 }),
  plan('lavish', { ...LIMITS, renderLimitMonthly: 1000 }),
  ...[{ name: 'frugal', secret: FRUGAL }, ...HOLDERS].flatMap(({ name, secret }) => [
    tenant(name, secret === FRUGAL ? 'frugal' : 'lavish'),
    key(name, 'live', secret),
    template(name, 'letter', { ...tsx(LETTER_TSX), html: { ...html(LETTER_HTML).html, javascriptEnabled: true } }),
  ]),
]

async function aService(): Promise<EmbeddedService> {
  const service = await startEmbedded({ PLATEN_RENDER_SLOTS: '1', PLATEN_LOG_LEVEL: 'debug' })
  await writeFile(join(service.manifestsDir, 'departure.yaml'), manifestOf(RESOURCES))
  for (const secret of [FRUGAL, ...HOLDERS.map((holder) => holder.secret)]) await published(service, secret, 'letter')
  return service
}

/** Starts a sync render that never ends. `leave` disconnects its caller. */
function endless(service: EmbeddedService, secret: string, engine: string) {
  const controller = new AbortController()
  const body = { template: 'letter', engine, data: { isEndless: true } }
  const answer = request(service, { key: secret, body, signal: controller.signal }).catch(() => undefined)
  return { answer, leave: () => controller.abort() }
}

/** Counts how often the log contains these words. */
function timesLogged(service: EmbeddedService, words: string): number {
  return service.log().split(words).length - 1
}

/** Waits until the log contains the words `lines` times. */
async function logged(service: EmbeddedService, words: string, lines: number): Promise<void> {
  await poll(() => timesLogged(service, words)).until((count) => count === lines)
}

/** Starts sync renders that hold `slots` slots, each of another tenant. */
async function occupy(service: EmbeddedService, slots: number, engine: string) {
  const renders = HOLDERS.slice(0, slots).map(({ secret }) => endless(service, secret, engine))
  await logged(service, 'render started', slots)
  return renders
}

describe.for(['react_pdf', 'html'])('in %s', (engine) => {
  test('a caller that leaves in the middle of its render frees slot and quota', async () => {
    await using service = await aService()
    const others = await occupy(service, SYNC_SLOTS, engine)
    const { answer, leave } = endless(service, FRUGAL, engine)
    await logged(service, 'render started', SYNC_SLOTS + 1)
    leave()
    await answer
    // Its quota is one render, and it held the last slot. Without the quota the next render is refused; without the slot it never starts.
    const next = () => render(service, FRUGAL, { template: 'letter', engine, data: { isEndless: false } })
    const { status } = await poll(next).until((answered) => answered.status !== 402)
    expect(status).toBe(200)
    expect(service.log()).toContain('"code":"canceled"')
    for (const other of others) other.leave()
    await Promise.all(others.map((other) => other.answer))
  })

  test('a caller that leaves the queue frees its quota before its turn comes', async () => {
    await using service = await aService()
    const others = await occupy(service, SYNC_SLOTS + 1, engine)
    const second = endless(service, FRUGAL, engine)
    await logged(service, 'render queued', SYNC_SLOTS + 2)
    const order = { template: 'letter', engine, data: { isEndless: false }, mode: 'async' }
    const ask = () => render(service, FRUGAL, order)
    expect((await ask()).status).toBe(402)
    second.leave()
    const accepted = await poll(ask).until(({ status }) => status === 202)
    expect(timesLogged(service, 'render started')).toBe(SYNC_SLOTS + 1)
    for (const other of others) other.leave()
    const id = String(accepted.json()['render_id'])
    expect(await ended(service, FRUGAL, id)).toMatchObject({ status: 'succeeded' })
    await Promise.all([...others, second].map(({ answer }) => answer))
  })
})
