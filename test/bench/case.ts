/** What is measured, case by case, and what each figure is held against. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { schema } from '../fuzz/schema/case.ts'
import { timing } from '../hostile/timing/case.ts'
import { peers } from '../peer/case.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { contend } from './child.ts'
import { clusterAcceptance, clusterSync } from './cluster/case.ts'
import { directory } from './cluster/directory/case.ts'
import { fairness } from './cluster/fairness.ts'
import { kafkaAway } from './cluster/kafka-away.ts'
import { neighbours } from './cluster/neighbours.ts'
import { operator } from './cluster/operator/case.ts'
import { redisAway } from './cluster/redis-away.ts'
import { scale } from './cluster/scale/case.ts'
import { eightRenderers, twoRenderers } from './cluster/scale/held/case.ts'
import { list } from './cluster/view/list.ts'
import { projection } from './cluster/view/projection.ts'
import { LAST_LINE } from './invoice.ts'
import { type Contender, type Figure, quantile, type Result, race } from './measure.ts'
import { traces } from './raw/trace.ts'
import { acceptances, startMeasured, syncRenders } from './service.ts'
import { GROWTH } from './single/growth/case.ts'
import { clusterMemory, embeddedMemory, steadyMemory } from './single/memory/case.ts'
import { slots } from './single/slots.ts'
import { podStart, start } from './single/start.ts'
import { firstRenders, steadiness } from './single/steadiness.ts'
import { webhooks } from './webhook/case.ts'
import { clusterWebhooks } from './webhook/cluster.ts'

type Case = (scale: number) => AsyncGenerator<Figure>

const SLOTS = 2

/**
 * Rows and documents of a batch, which takes a second or a few. V8 goes on compiling what react-pdf runs for hundreds of documents, in
 * either contender, and a service lives for millions: so the first `warmUp` are not measured.
 */
const HTML_BATCHES = [
  { rows: 10, count: 60, atLeast: [0.8, 0.85] },
  { rows: 50, count: 40, atLeast: [0.85, 0.9] },
] as const
const REACT_PDF_BATCHES = [
  { rows: 10, count: 40, warmUp: 1000, atLeast: 0.8 },
  { rows: 50, count: 16, warmUp: 120, atLeast: 1.2 },
  { rows: 500, count: 4, warmUp: 8, atLeast: 2 },
  { rows: 1600, count: 2, warmUp: SLOTS, atLeast: 5 },
] as const

async function* htmlThroughput(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  await using warm = await contend('raw/html.ts', ['warm'])
  await using fresh = await contend('raw/html.ts', ['fresh'])
  const ours = syncRenders(service, 'html')
  for (const { rows, count, atLeast } of HTML_BATCHES) {
    for (const [at, ofWarm] of atLeast.entries()) {
      const concurrency = at + 1
      const batch = { rows, concurrency, count: Math.ceil(count * scale), rounds: 5, warmUp: 200 }
      const [own, reused, made] = await race([ours, warm, fresh], batch)
      await checkSame([own, reused, made])
      const name = `html ${rows} rows, ${concurrency} at a time`
      yield throughput(`${name}: × warm page`, [own, reused], ofWarm)
      yield throughput(`${name}: × new context`, [own, made], rows === 10 ? 3 : 2)
      if (concurrency === 2) yield cpu(`${name}: CPU × warm page`, [own, reused], 1.25)
      if (concurrency === 1 && rows === 10) yield latency(`${name}: p50 over warm page, ms`, [own, reused], 5)
    }
  }
  // A page collects its garbage once in a few of these, so the figure of a dozen is that of where the collections fell.
  const batch = { rows: 500, concurrency: 1, count: Math.ceil(3 * scale), rounds: 15, warmUp: 10 }
  const [own, reused] = await race([ours, warm], batch)
  await checkSame([own, reused])
  yield throughput('html 500 rows: × warm page', [own, reused], 0.97)
}

async function* reactPdfThroughput(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(SLOTS)
  await using raw = await contend('raw/react-pdf.ts', [], SLOTS)
  await using fast = await contend('raw/react-pdf.ts', ['fast'], SLOTS)
  const ours = syncRenders(service, 'react_pdf')
  for (const { rows, count, warmUp, atLeast } of REACT_PDF_BATCHES) {
    const batch = { rows, concurrency: SLOTS, count: Math.max(SLOTS, Math.ceil(count * scale)) }
    const [own, bare, quick] = await race([ours, raw, fast], {
      ...batch,
      rounds: rows > 1000 ? 1 : 5,
      warmUp,
    })
    await checkSame([own, bare, quick])
    yield throughput(`react_pdf ${rows} rows: × renderToBuffer, one a core`, [own, bare], atLeast)
    yield throughput(`react_pdf ${rows} rows: × renderToBuffer with its fast pagination`, [own, quick], 0.8)
  }
  const single = { rows: 10, concurrency: 1, count: Math.ceil(40 * scale), rounds: 5 }
  const [own, bare] = await race([ours, raw], single)
  yield latency('react_pdf 10 rows: p50 over renderToBuffer, ms', [own, bare], 8)
  yield await timeByRows(ours)
}

/**
 * In turns, so that a moment in which the machine is slower falls on both sizes. Each begins after a document of 3200 rows, and makes as many
 * rows, so that as much garbage is collected in its time. Two documents of 800 rows did without a collection in the heap that the large one
 * before them had grown, while the large one paid for its growth: the ratio was 4.8 where it is 3.9 now. The first round is not measured.
 */
async function timeByRows(ours: Contender): Promise<Figure> {
  const times = { small: new Array<number>(), large: new Array<number>() }
  const [small, large] = [
    { rows: 800, concurrency: 1, count: 4 },
    { rows: 3200, concurrency: 1, count: 1 },
  ]
  for (let round = 0; round <= SIZE_ROUNDS; round += 1) {
    await ours.run(large)
    const one = await ours.run(large)
    const four = await ours.run(small)
    if (round === 0) continue
    times.large.push(one.elapsedMs)
    times.small.push(four.elapsedMs / small.count)
  }
  const [ofSmall, ofLarge] = [quantile(times.small, 0.5), quantile(times.large, 0.5)]
  const name = 'react_pdf: time of 3200 rows ÷ time of 800'
  return { name, detail: `${ms(ofLarge)} ÷ ${ms(ofSmall)}`, value: ofLarge / ofSmall, target: { atMost: 4.2 } }
}

/** With three rounds, the ratio was 3.9 in one run and 4.8 in the next. */
const SIZE_ROUNDS = 7

async function* acceptance(scale: number): AsyncGenerator<Figure> {
  await using service = await startMeasured(1)
  const bare = fork(new URL('raw/accept.ts', import.meta.url), { env: { ...process.env, NODE_ENV: 'production' } })
  const [url] = (await once(bare, 'message')) as [string]
  const batch = { rows: 10, concurrency: 64, count: Math.ceil(2000 * scale), rounds: 5 }
  const [own, raw] = await race([acceptances(service), acceptances({ url: () => url })], batch)
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
  'first-render': firstRenders,
  start,
  'start-renderer': podStart,
  acceptance,
  webhooks,
  'webhooks-cluster': clusterWebhooks,
  fairness,
  neighbours,
  'kafka-away': kafkaAway,
  'cluster-sync': clusterSync,
  'cluster-acceptance': clusterAcceptance,
  'cluster-renderers-two': twoRenderers,
  'cluster-renderers-eight': eightRenderers,
  'cluster-directory': directory,
  operator,
  ...GROWTH,
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
  peers,
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
function latency(name: string, [own, raw]: readonly [Result, Result], atMost: number): Figure {
  const [mine, bare] = [own, raw].map(({ latenciesMs }) => quantile(latenciesMs, 0.5))
  return { name, detail: `${ms(mine)} − ${ms(bare)}`, value: (mine ?? 0) - (bare ?? 0), target: { atMost } }
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
