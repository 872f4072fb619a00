/** What is measured, case by case, and what each figure is held against. */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Engine } from '@platen/contract/render-options.ts'
import { schema } from '../fuzz/schema/case.ts'
import { timing } from '../hostile/timing/case.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { ended, render, submit } from '../topology/service.ts'
import { contend } from './child.ts'
import { clusterAcceptance, clusterRenderers, clusterSync } from './cluster/case.ts'
import { directory } from './cluster/directory/case.ts'
import { fairness } from './cluster/fairness.ts'
import { kafkaAway } from './cluster/kafka-away.ts'
import { neighbours } from './cluster/neighbours.ts'
import { operator } from './cluster/operator/case.ts'
import { redisAway } from './cluster/redis-away.ts'
import { scale } from './cluster/scale/case.ts'
import { list } from './cluster/view/list.ts'
import { projection } from './cluster/view/projection.ts'
import { invoiceData, LAST_LINE } from './invoice.ts'
import { type Contender, type Figure, quantile, type Result, race, timed } from './measure.ts'
import { traces } from './raw/trace.ts'
import { CROWDING_LIVE, MEASURED_LIVE, startMeasured, syncRenders } from './service.ts'
import { clusterMemory, embeddedMemory, steadyMemory } from './single/memory/case.ts'
import { slots } from './single/slots.ts'
import { webhooks } from './webhook/case.ts'

type Case = (scale: number) => AsyncGenerator<Figure>

const SLOTS = 2

/**
 * Rows and documents of a batch, which takes a second or a few. V8 goes on compiling what react-pdf runs for hundreds of documents, in
 * either contender, and a service lives for millions: so the first `warmUp` are not measured.
 */
const HTML_BATCHES = [
  { rows: 10, count: 60 },
  { rows: 50, count: 40 },
] as const
const REACT_PDF_BATCHES = [
  { rows: 10, count: 40, warmUp: 1000, atLeast: 1 },
  { rows: 100, count: 12, warmUp: 60, atLeast: 1.4 },
  { rows: 400, count: 4, warmUp: 8, atLeast: 2 },
  { rows: 1600, count: 2, warmUp: SLOTS, atLeast: 10 },
] as const

async function* htmlThroughput(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  await using warm = await contend('raw/html.ts', ['warm'])
  await using fresh = await contend('raw/html.ts', ['fresh'])
  const ours = syncRenders(service, 'html')
  for (const { rows, count } of HTML_BATCHES) {
    for (const concurrency of [1, 2]) {
      const batch = { rows, concurrency, count: Math.ceil(count * scale), rounds: 5, warmUp: 200 }
      const [own, reused, made] = await race([ours, warm, fresh], batch)
      await checkSame([own, reused, made])
      const name = `html ${rows} rows, ${concurrency} at a time`
      yield throughput(`${name}: × warm page`, [own, reused], concurrency === 1 ? 0.65 : 0.75)
      yield throughput(`${name}: × new context`, [own, made], rows === 10 ? 3 : 2)
      if (concurrency === 2) yield cpu(`${name}: CPU × warm page`, [own, reused], 1.4)
      if (concurrency === 1 && rows === 10) yield latency(`${name}: p50 over warm page, ms`, [own, reused])
    }
  }
  const batch = { rows: 500, concurrency: 1, count: Math.ceil(4 * scale), rounds: 3 }
  const [own, reused] = await race([ours, warm], batch)
  await checkSame([own, reused])
  yield throughput('html 500 rows: × warm page', [own, reused], 0.9)
}

async function* reactPdfThroughput(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  await using raw = await contend('raw/react-pdf.ts', [], SLOTS)
  const ours = syncRenders(service, 'react_pdf')
  for (const { rows, count, warmUp, atLeast } of REACT_PDF_BATCHES) {
    const batch = { rows, concurrency: SLOTS, count: Math.max(SLOTS, Math.ceil(count * scale)) }
    const [own, bare] = await race([ours, raw], {
      ...batch,
      rounds: rows > 1000 ? 1 : 5,
      warmUp,
    })
    await checkSame([own, bare])
    yield throughput(`react_pdf ${rows} rows: × renderToBuffer, one a core`, [own, bare], atLeast)
  }
  const single = { rows: 10, concurrency: 1, count: Math.ceil(40 * scale), rounds: 5 }
  const [own, bare] = await race([ours, raw], single)
  yield latency('react_pdf 10 rows: p50 over renderToBuffer, ms', [own, bare])
  const medians: number[] = []
  for (const rows of [800, 3200]) {
    const [measured] = await race([ours], { rows, concurrency: 1, count: 3, rounds: 1, warmUp: 1 })
    medians.push(quantile(measured.latenciesMs, 0.5))
  }
  const [small = Number.NaN, large = Number.NaN] = medians
  const name = 'react_pdf: time of 3200 rows ÷ time of 800'
  yield { name, detail: `${ms(large)} ÷ ${ms(small)}`, value: large / small, target: { atMost: 4.5 } }
}

async function* steadiness(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  for (const engine of ['html', 'react_pdf'] as const) {
    const [own] = await race([syncRenders(service, engine)], {
      rows: 10,
      concurrency: 1,
      count: Math.ceil(1000 * scale),
      rounds: 1,
      warmUp: 300,
    })
    const [p95, worst] = [quantile(own.latenciesMs, 0.95), Math.max(...own.latenciesMs)]
    yield {
      name: `${engine}: worst of ${own.latenciesMs.length} documents ÷ p95`,
      detail: `${ms(worst)} ÷ ${ms(p95)}`,
      value: worst / p95,
      target: { atMost: 2 },
    }
  }
  for (const engine of ['html', 'react_pdf'] as const) yield await crowded(service, engine, scale)
}

/** Sync renders of one tenant while another's async renders wait in their hundreds. */
async function crowded(
  service: Awaited<ReturnType<typeof startMeasured>>,
  engine: Engine,
  scale: number,
): Promise<Figure> {
  const batch = { rows: 10, concurrency: 1, count: Math.ceil(100 * scale), rounds: 1, warmUp: 50 }
  const [solo] = await race([syncRenders(service, engine)], batch)
  const body = { template: 'invoice', engine, data: invoiceData(50) }
  const queued = await Promise.all(Array.from({ length: 500 }, () => submit(service, CROWDING_LIVE, body)))
  const [beside] = await race([syncRenders(service, engine)], { ...batch, warmUp: 1 })
  // The next case must be alone on the machine again.
  for (const id of queued) await ended(service, CROWDING_LIVE, id)
  const [quiet, busy] = [solo, beside].map(({ latenciesMs }) => quantile(latenciesMs, 0.95))
  return {
    name: `${engine}: sync p95 beside 500 queued async renders ÷ alone`,
    detail: `${ms(busy)} ÷ ${ms(quiet)}`,
    value: (busy ?? 0) / (quiet ?? 0),
    target: { atMost: 2 },
  }
}

const run = promisify(execFile)

/** Between a start and a stop. */
const START_REST_MS = 3000

async function* start(): AsyncGenerator<Figure> {
  const imports: number[] = []
  const firsts: number[] = []
  const others: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const importedAt = performance.now()
    await run(process.execPath, ['--input-type=module', '-e', "await import('@react-pdf/renderer')"], {
      cwd: import.meta.dirname,
    })
    imports.push(performance.now() - importedAt)
    const startedAt = performance.now()
    await using service = await startEmbedded({ PLATEN_LOG_LEVEL: 'warn' })
    await renderOne(service)
    firsts.push(performance.now() - startedAt)
    // The last thread to start is warm by then, and has kept what it compiled.
    await sleep(START_REST_MS)
    await service.stop()
    const restartedAt = performance.now()
    await service.start()
    await renderOne(service)
    others.push(performance.now() - restartedAt)
  }
  const [imported, first, later] = [imports, firsts, others].map((times) => quantile(times, 0.5))
  const figure = (which: string, time = Number.NaN) => ({
    name: `${which} of the process to the first PDF ÷ importing @react-pdf/renderer`,
    detail: `${ms(time)} ÷ ${ms(imported)}`,
    value: time / (imported ?? 0),
    target: { atMost: 4 },
  })
  yield figure('first start', first)
  yield figure('later start', later)
}

async function renderOne(service: EmbeddedService): Promise<void> {
  const invoice = { template: 'invoice', data: { number: '1', rows: [] } }
  const answer = await render(service, `service_live_${'A'.repeat(43)}`, invoice)
  if (answer.status !== 200) throw new Error('the first render succeeds')
}

async function* acceptance(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(1)
  const bare = fork(new URL('raw/accept.ts', import.meta.url), { env: { ...process.env, NODE_ENV: 'production' } })
  const [url] = (await once(bare, 'message')) as [string]
  const body = JSON.stringify({ template: 'invoice', mode: 'async', data: invoiceData(10) })
  const headers = { authorization: `Bearer ${MEASURED_LIVE}`, 'content-type': 'application/json' }
  const accept = (base: string) => async () => {
    const answer = await fetch(`${base}/api/v1/render`, { method: 'POST', headers, body })
    if (answer.status !== 202) throw new Error(`${answer.status}: ${await answer.text()}`)
    return new Uint8Array(await answer.arrayBuffer())
  }
  const side = (base: string): Contender => ({
    pids: [],
    run: (batch) => timed(batch, accept(base)),
    [Symbol.asyncDispose]: async () => {},
  })
  const [own, raw] = await race([side(service.url()), side(url)], {
    rows: 10,
    concurrency: 64,
    count: Math.ceil(2000 * scale),
    rounds: 5,
  })
  bare.disconnect()
  yield {
    ...throughput('async acceptance, durable, × bare Fastify route', [own, raw], 0.5),
    detail: `${own.documentsPerSecond.toFixed(0)}/s, ${raw.documentsPerSecond.toFixed(0)}/s`,
  }
}

export const CASES = {
  html: htmlThroughput,
  slots,
  react_pdf: reactPdfThroughput,
  steadiness,
  start,
  acceptance,
  webhooks,
  fairness,
  neighbours,
  'kafka-away': kafkaAway,
  'cluster-sync': clusterSync,
  'cluster-acceptance': clusterAcceptance,
  'cluster-renderers': clusterRenderers,
  'cluster-directory': directory,
  operator,
  list,
  projection,
  'redis-away': redisAway,
  scale,
  'memory-embedded': embeddedMemory,
  'memory-steady': steadyMemory,
  'memory-cluster': clusterMemory,
  schema,
  traces,
  timing,
} as const satisfies Record<string, Case>

function throughput(name: string, [own, raw]: readonly [Result, Result], atLeast: number): Figure {
  const value = own.documentsPerSecond / raw.documentsPerSecond
  return {
    name,
    detail: `${own.documentsPerSecond.toFixed(1)}/s, ${raw.documentsPerSecond.toFixed(1)}/s`,
    value,
    target: { atLeast },
  }
}

function cpu(name: string, [own, raw]: readonly [Result, Result], atMost: number): Figure {
  const detail = `${ms(own.cpuMsPerDocument)}, ${ms(raw.cpuMsPerDocument)}`
  return { name, detail, value: own.cpuMsPerDocument / raw.cpuMsPerDocument, target: { atMost } }
}

/** How much later the middle document is there than without the service. */
function latency(name: string, [own, raw]: readonly [Result, Result]): Figure {
  const [mine, bare] = [own, raw].map(({ latenciesMs }) => quantile(latenciesMs, 0.5))
  return { name, detail: `${ms(mine)} − ${ms(bare)}`, value: (mine ?? 0) - (bare ?? 0), target: { atMost: 8 } }
}

function ms(value: number | undefined): string {
  return `${(value ?? Number.NaN).toFixed(value !== undefined && value < 100 ? 1 : 0)} ms`
}

/** Whoever is faster for having left something out would not be faster: every side has as many pages and all rows. */
async function checkSame(results: readonly Result[]): Promise<void> {
  const facts = await Promise.all(results.map(({ sample }) => inspectPdf(sample)))
  for (const { text } of facts) {
    if (!text.includes(LAST_LINE)) throw new Error('a measured document is not whole')
  }
  const [first, ...others] = facts.map(({ text }) => (text.match(/Item \d+/g) ?? []).length)
  if (others.some((rows) => rows !== first)) throw new Error('the measured documents have different rows')
}
