/** What callers of a cluster see of it that Redis is away: the same requests with Redis, without it, and with one that is wedged. */
import { setTimeout as sleep } from 'node:timers/promises'
import { REDIS_RECENTLY_DOWN_MS } from '@platen/adapters/redis/limit.ts'
import { poll } from '../../time/poll.ts'
import { startKafka } from '../../topology/server/kafka.ts'
import { ended, type RenderAnswer, render, request, submit } from '../../topology/service.ts'
import { invoiceData } from '../invoice.ts'
import type { Figure } from '../measure.ts'
import { quantile } from '../measure.ts'
import { MEASURED_LIVE } from '../service.ts'
import { startMeasuredCluster } from './case.ts'

const ROUNDS = 3
const WARM_UP = 20
/** API processes, of which one is asked: the limit that it states says whether Redis has decided. */
const REPLICAS = 2

const STATES = ['there', 'down', 'wedged'] as const
const CALLS = ['async', 'sync', 'get'] as const
type State = (typeof STATES)[number]
type Call = (typeof CALLS)[number]

export async function* redisAway(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using service = await startMeasuredCluster(kafka, 1, { apis: REPLICAS })
  const { redis } = service
  const invoice = { template: 'invoice', engine: 'react_pdf', data: invoiceData(10) }
  const finished = await submit(service, MEASURED_LIVE, invoice)
  await ended(service, MEASURED_LIVE, finished)
  const post = (mode: string) => render(service, MEASURED_LIVE, { ...invoice, mode })
  const calls: Readonly<Record<Call, () => Promise<RenderAnswer>>> = {
    async: () => post('async'),
    sync: () => post('sync'),
    get: () => request(service, { key: MEASURED_LIVE, path: `/api/v1/render/${finished}` }),
  }
  const limitOf = async () => Number((await post('sync')).headers.get('x-ratelimit-limit'))
  const whole = await limitOf()
  const moves: Readonly<Record<State, { enter: () => unknown; leave: () => unknown }>> = {
    there: { enter: () => undefined, leave: () => undefined },
    down: { enter: () => redis.kill(), leave: () => redis.start() },
    wedged: { enter: () => redis.pause(), leave: () => redis.resume() },
  }
  const latencies = new Map<string, number[]>()
  const count = Math.ceil(100 * scale)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const state of STATES) {
      await moves[state].enter()
      await poll(limitOf).until((limit) => limit === (state === 'there' ? whole : whole / REPLICAS))
      for (let i = 0; i < WARM_UP; i += 1) await post('sync')
      for (const call of CALLS) {
        const known = latencies.get(`${call} ${state}`) ?? []
        latencies.set(`${call} ${state}`, known.concat(await timesOf(calls[call], count)))
        // What was accepted is not to be in the way of what is measured next.
        if (call === 'async') await ended(service, MEASURED_LIVE, await submit(service, MEASURED_LIVE, invoice))
      }
      await moves[state].leave()
      await poll(limitOf).until((limit) => limit === whole)
      // For so long outcomes are looked for in S3, too.
      if (state !== 'there') await sleep(REDIS_RECENTLY_DOWN_MS)
    }
  }
  for (const call of CALLS) for (const state of ['down', 'wedged'] as const) yield figureOf(latencies, call, state)
}

async function timesOf(ask: () => Promise<RenderAnswer>, count: number): Promise<readonly number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i += 1) {
    const begunAt = performance.now()
    const { status, body } = await ask()
    times.push(performance.now() - begunAt)
    if (status >= 300) throw new Error(`${status}: ${Buffer.from(body).toString()}`)
  }
  return times
}

/** A sync answer that comes by S3 waits until its PDF and its manifest are stored; of the others nothing is to be seen. */
const P50_AT_MOST: Readonly<Record<Call, number>> = { async: 1.2, sync: 2, get: 1.2 }

function figureOf(latencies: ReadonlyMap<string, readonly number[]>, call: Call, state: State): Figure {
  const [without = [], beside = []] = [latencies.get(`${call} ${state}`), latencies.get(`${call} there`)]
  const [p50, p95] = [0.5, 0.95].map((share) => [quantile(without, share), quantile(beside, share)] as const)
  const [mine = Number.NaN, its = Number.NaN] = p50 ?? []
  const spelled = (pair: readonly number[] | undefined) => (pair ?? []).map((ms) => ms.toFixed(1)).join(' and ')
  return {
    name: `${call === 'get' ? 'GET' : `POST ${call}`} with Redis ${state}: p50 × that with Redis`,
    detail: `p50 ${spelled(p50)} ms, p95 ${spelled(p95)} ms`,
    value: mine / its,
    target: { atMost: P50_AT_MOST[call] },
  }
}
