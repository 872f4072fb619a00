/**
 * What a document waits until it has a slot of the html engine, beside the queue of puppeteer-cluster as it comes and beside no queue. No
 * browser runs: a document is a sleep as long as a small one takes, so a busy machine falls on all alike.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { openPrintCluster } from '@platen/renderer/browser/concurrency.ts'
import type { PrintDocument } from '@platen/renderer/browser/document/load.ts'
import type { PrintedDocument, PrintPage } from '@platen/renderer/browser/page.ts'
import { EventEmitter, type Page, type PageEvents } from 'puppeteer'
import { Cluster, type ClusterOptions } from 'puppeteer-cluster'
import { NEVER } from '../../fixture/build.ts'
import { type Contender, type Figure, quantile, race, timed } from '../measure.ts'

/** An invoice of ten rows on a warm page. */
const DOCUMENT_MS = 15
const PDF = new Uint8Array()

export async function* slots(scale: number): AsyncGenerator<Figure> {
  for (const concurrency of [1, 2, 8]) {
    await using ours = await onOurCluster(concurrency)
    await using stock = await onStockCluster(concurrency)
    const batch = { rows: 0, concurrency, count: Math.ceil(200 * scale), rounds: 3, warmUp: 10 }
    const [own, queued, bare] = await race([ours, stock, contender(document)], batch)
    const [mine, theirs, none] = [own, queued, bare].map(({ latenciesMs }) => quantile(latenciesMs, 0.5))
    const name = `slots, ${concurrency} at a time:`
    const detail = `${mine?.toFixed(1)}, ${theirs?.toFixed(1)}, ${none?.toFixed(1)} ms at the median`
    const ratio = (other: typeof own) => own.documentsPerSecond / other.documentsPerSecond
    yield { name: `${name} × queue of puppeteer-cluster`, detail, value: ratio(queued), target: { atLeast: 1.05 } }
    yield { name: `${name} × no queue`, detail, value: ratio(bare), target: { atLeast: 0.85 } }
  }
}

async function document(): Promise<Uint8Array> {
  await sleep(DOCUMENT_MS)
  return PDF
}

function contender(task: () => Promise<Uint8Array>, close = async () => {}): Contender {
  return { pids: [], run: (batch) => timed(batch, task), [Symbol.asyncDispose]: close }
}

async function onOurCluster(slotsCount: number): Promise<Contender> {
  // The parts of a page that are used.
  const page = (): Partial<PrintPage> => ({
    page: new EventEmitter<PageEvents>() as Page,
    print: async () => ({ pdf: await document() }) as PrintedDocument,
  })
  const cluster = await openPrintCluster(
    { acquire: async () => page() as PrintPage, release: async () => {} },
    slotsCount,
  )
  const printed = { isScripted: false } as PrintDocument
  const print = async () => (await cluster.print('acme' as TenantId, printed, NEVER)).pdf
  return contender(print, async () => await cluster[Symbol.asyncDispose]())
}

async function onStockCluster(maxConcurrency: number): Promise<Contender> {
  const done = async () => {}
  const job = {
    jobInstance: async () => ({ resources: { page: { on() {} } }, close: done }),
    close: done,
    repair: done,
  }
  class Slots {
    init = done
    close = done
    workerInstance = async () => job
  }
  const concurrency = Slots as unknown as Exclude<ClusterOptions['concurrency'], number>
  const cluster = await Cluster.launch({ concurrency, maxConcurrency, puppeteer: {} })
  return contender(
    () => cluster.execute(document),
    () => cluster.close(),
  )
}
