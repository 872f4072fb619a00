/** What a tenant with little to do has of one that has queued two thousand renders: its own times, beside those it has alone. */
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { startKafka } from '../../topology/server/kafka.ts'
import { ended, submit, type TestedService } from '../../topology/service.ts'
import { invoiceData } from '../invoice.ts'
import type { Figure } from '../measure.ts'
import { quantile, race } from '../measure.ts'
import { CROWDING_LIVE, MEASURED_LIVE, startMeasured, syncRenders } from '../service.ts'
import { startMeasuredCluster } from './case.ts'

const SLOTS = 2
/** Of the default plan. */
const FAIR_SHARE = 4
const QUEUED = 2000
const WARM_UP = 200
/** Single renders, one after the other. */
const SINGLES = 40
const SYNCS = 200

const BODY = { template: 'invoice', engine: 'react_pdf', data: invoiceData(10) }

/** On both topologies, one after the other. */
export async function* fairness(scale: number): AsyncGenerator<Figure> {
  {
    await using embedded = await startMeasured(SLOTS, { PLATEN_CHROMIUM: 'none' })
    yield* measured('embedded', embedded, scale)
  }
  await using kafka = await startKafka({ isMeasured: true })
  await using cluster = await startMeasuredCluster(kafka, SLOTS)
  yield* measured('cluster', cluster, scale)
}

async function* measured(topology: string, service: TestedService, scale: number): AsyncGenerator<Figure> {
  const [singles, syncs] = [Math.ceil(SINGLES * scale), Math.ceil(SYNCS * scale)]
  const batch = { rows: 10, count: syncs, concurrency: 1, rounds: 1 }
  const [alone] = await race([syncRenders(service, 'react_pdf')], { ...batch, warmUp: WARM_UP })
  const solo = (await some(service, singles)).map(durationOf)

  const queued = await Promise.all(
    Array.from({ length: Math.ceil(QUEUED * scale) }, () => submit(service, CROWDING_LIVE, BODY)),
  )
  const behind = await some(service, singles)
  const [beside] = await race([syncRenders(service, 'react_pdf')], { ...batch, warmUp: 1 })
  const crowd: StatusRecord[] = []
  for (const id of queued) crowd.push(await ended(service, CROWDING_LIVE, id))

  const name = (what: string) => `${topology}, ${queued.length} queued by another: ${what}`
  const [soloMs, behindMs] = [quantile(solo, 0.5), quantile(behind.map(durationOf), 0.95)]
  yield {
    name: name('p95 of a single async render ÷ (3 alone + 4)'),
    detail: `${behindMs.toFixed(0)} ÷ (${3 + FAIR_SHARE} × ${soloMs.toFixed(0)}) ms`,
    value: behindMs / ((3 + FAIR_SHARE) * soloMs),
    target: { atMost: 1 },
  }
  const ahead = Math.max(...behind.map((single) => endedWhile(crowd, single)))
  yield {
    name: name('most of its renders that end before a single one'),
    detail: `of ${singles} singles; see docs/operations.md for the bound`,
    value: ahead,
    target: { atMost: boundOf(FAIR_SHARE) },
  }
  const [quietMs, busyMs] = [alone, beside].map(({ latenciesMs }) => quantile(latenciesMs, 0.95))
  yield {
    name: name('sync p95 ÷ alone'),
    detail: `${busyMs?.toFixed(1)} ÷ ${quietMs?.toFixed(1)} ms`,
    value: (busyMs ?? 0) / (quietMs ?? 0),
    target: { atMost: 2 },
  }
}

/** Single renders of the measured tenant, each submitted when the last has ended. */
async function some(service: TestedService, count: number): Promise<readonly StatusRecord[]> {
  const records: StatusRecord[] = []
  while (records.length < count) {
    records.push(await ended(service, MEASURED_LIVE, await submit(service, MEASURED_LIVE, BODY)))
  }
  return records
}

/** From acceptance to the PDF, as the service says. */
function durationOf({ created_at: begin, finished_at: end = '' }: StatusRecord): number {
  return Date.parse(end) - Date.parse(begin)
}

/** How many of others have ended between the acceptance of one and its end. */
function endedWhile(
  others: readonly StatusRecord[],
  { created_at: begin, finished_at: end = '' }: StatusRecord,
): number {
  return others.filter(({ finished_at = '' }) => finished_at > begin && finished_at <= end).length
}

/** In hand when it comes, those of the async lane before it, what the bulk lane is given meanwhile, and those that are quicker than it beside it. */
function boundOf(asyncAhead: number): number {
  return SLOTS + asyncAhead + SLOTS + Math.floor(asyncAhead / 4) + SLOTS
}
