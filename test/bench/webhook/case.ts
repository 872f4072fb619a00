/** What delivering webhooks costs beside posting them, and what bad receivers cost the good ones. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { LOOPBACK_ALLOWED } from '../../topology/receiver.ts'
import { contend } from '../child.ts'
import type { Figure } from '../measure.ts'
import { quantile, race } from '../measure.ts'
import { startMeasured, syncRenders } from '../service.ts'
import type { Ports } from './receiver.ts'

/** Deliveries after which V8 compiles little more. At 8,000, that was a tenth of the CPU of our side. */
const WARM_UP = 24_000
const DISPATCHER = 'webhook/dispatcher.ts'

export async function* webhooks(scale: number): AsyncGenerator<Figure> {
  const receiver = fork(new URL('receiver.ts', import.meta.url))
  const [{ good, secure, ca, bad }] = (await once(receiver, 'message')) as [Ports]
  try {
    for (const [scheme, ...where] of [
      ['https', `${secure}`, ca],
      ['http', `${good}`],
    ] as const) {
      await using raw = await contend('webhook/raw.ts', where)
      await using own = await contend(DISPATCHER, ['backlog', ...where])
      const batch = { rows: 0, concurrency: 64, count: Math.ceil(4000 * scale), rounds: 5, warmUp: WARM_UP }
      const [ours, bare] = await race([own, raw], batch)
      const [mine, its] = [ours.documentsPerSecond, bare.documentsPerSecond]
      yield {
        name: `webhooks by ${scheme}, signed and recorded: × raw undici loop`,
        detail: `${mine.toFixed(0)}/s, ${its.toFixed(0)}/s`,
        value: mine / its,
        target: { atLeast: 0.6 },
      }
    }
    await using alone = await contend(DISPATCHER, ['steady', `${good}`])
    await using beside = await contend(DISPATCHER, ['steady', `${good}`, ...bad.map(String)])
    const batch = { rows: 0, concurrency: 1, count: Math.ceil(1000 * scale), rounds: 8 }
    const [quiet, busy] = await race([alone, beside], batch)
    const [before, after] = [quiet, busy].map(({ latenciesMs }) => quantile(latenciesMs, 0.95))
    yield {
      name: 'webhooks to 100 good receivers: p95 beside 20 bad ones ÷ without',
      detail: `${after?.toFixed(1)} ms ÷ ${before?.toFixed(1)} ms`,
      value: (after ?? 0) / (before ?? 0),
      target: { atMost: 1.5 },
    }
    yield await syncBesideWebhooks(bad[0] ?? 0, scale)
  } finally {
    receiver.disconnect()
  }
}

/** What a receiver that never answers does to the sync renders that name it. */
async function syncBesideWebhooks(hanging: number, scale: number): Promise<Figure> {
  await using service = await startMeasured(2, LOOPBACK_ALLOWED)
  const withWebhook = { webhook_url: `http://127.0.0.1:${hanging}/hook` }
  const sides = [syncRenders(service, 'react_pdf', withWebhook), syncRenders(service, 'react_pdf')] as const
  const batch = { rows: 10, concurrency: 2, count: Math.ceil(100 * scale), rounds: 10, warmUp: 400 }
  const [withHook, without] = await race(sides, batch)
  const [after, before] = [withHook, without].map(({ latenciesMs }) => quantile(latenciesMs, 0.95))
  return {
    name: 'sync p95 with a webhook to a receiver that hangs ÷ without',
    detail: `${after?.toFixed(1)} ms ÷ ${before?.toFixed(1)} ms`,
    value: (after ?? 0) / (before ?? 0),
    target: { atMost: 1.1 },
  }
}
