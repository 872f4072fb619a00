/** How quickly callers are refused while Kafka does not answer, and that renders are taken again when it does. */
import { setTimeout as sleep } from 'node:timers/promises'
import { poll } from '../../time/poll.ts'
import { type KafkaServer, startKafka } from '../../topology/server/kafka.ts'
import { ended, render, submit, type TestedService } from '../../topology/service.ts'
import { invoiceData } from '../invoice.ts'
import type { Figure } from '../measure.ts'
import { quantile } from '../measure.ts'
import { CROWDING_LIVE, MEASURED_LIVE } from '../service.ts'
import { startMeasuredCluster } from './case.ts'

const AWAY_MS = 60_000
const REQUESTS_PER_SECOND = 20
/** What callers are promised. */
const REFUSED_MS_MAX = 2000

const BODY = { template: 'invoice', engine: 'react_pdf', data: invoiceData(10) }

/** A minute of each way to be away, under requests that come one after the other whatever became of those before them. */
export async function* kafkaAway(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using service = await startMeasuredCluster(kafka, 1)
  yield* measured('killed', { kafka, service, awayMs: AWAY_MS * scale })
  yield* measured('paused', { kafka, service, awayMs: AWAY_MS * scale })
}

interface Setting {
  readonly kafka: KafkaServer
  readonly service: TestedService
  readonly awayMs: number
}

async function* measured(how: 'killed' | 'paused', { kafka, service, awayMs }: Setting): AsyncGenerator<Figure> {
  const accepted = await Promise.all(Array.from({ length: 50 }, () => submit(service, CROWDING_LIVE, BODY)))
  if (how === 'killed') await kafka.kill()
  else kafka.pause()
  const answers = await askFor(service, awayMs)
  if (how === 'killed') await kafka.start()
  else kafka.resume()
  const backAt = performance.now()
  await poll(() => render(service, MEASURED_LIVE, { ...BODY, mode: 'async' })).until(({ status }) => status === 202)
  const againMs = performance.now() - backAt
  for (const id of accepted) await ended(service, CROWDING_LIVE, id)

  for (const mode of ['async', 'sync'] as const) {
    const refused = answers.filter((each) => each.mode === mode && each.status === 503).map(({ ms }) => ms)
    const others = answers.filter((each) => each.mode === mode && each.status !== 503).length
    const [p50, p95, worst] = [quantile(refused, 0.5), quantile(refused, 0.95), Math.max(...refused)]
    yield {
      name: `Kafka ${how} for ${awayMs / 1000} s: slowest refusal of ${mode} renders, ms`,
      detail: `p50 ${p50.toFixed(0)}, p95 ${p95.toFixed(0)} ms of ${refused.length}; answered otherwise: ${others}`,
      value: worst,
      target: { atMost: REFUSED_MS_MAX },
    }
  }
  yield {
    name: `Kafka ${how}: from its return to the first 202, ms`,
    detail: `${accepted.length} accepted before were rendered after`,
    value: againMs,
    target: { atMost: 10_000 },
  }
}

interface Answer {
  readonly mode: 'async' | 'sync'
  readonly status: number
  readonly ms: number
}

async function askFor(service: TestedService, forMs: number): Promise<readonly Answer[]> {
  const count = Math.ceil((forMs / 1000) * REQUESTS_PER_SECOND)
  const asked: Promise<Answer>[] = []
  while (asked.length < count) {
    asked.push(ask(service, asked.length % 4 === 0 ? 'sync' : 'async'))
    await sleep(1000 / REQUESTS_PER_SECOND)
  }
  return await Promise.all(asked)
}

async function ask(service: TestedService, mode: Answer['mode']): Promise<Answer> {
  const askedAt = performance.now()
  const { status } = await render(service, MEASURED_LIVE, { ...BODY, mode })
  return { mode, status, ms: performance.now() - askedAt }
}
