/**
 * The slots of the html engine, on puppeteer-cluster: its workers are the slots, and our concurrency class gives each job a page of the
 * pool ([decision 24](../../../docs/decisions/0024-puppeteer-cluster-is-the-queue-of-slots.md)).
 *
 * - The cluster's own classes lose a slot or block the whole cluster in three cases: a browser does not start, a context takes more than 5
 * s, or a relaunch fails. Ours never fails: if a document gets no page, its caller is told, and the slot takes the next document.
 * - The cluster does not tell its class which job a page is for. So a job belongs to no document: it prints the document for which its page
 *   was taken, and the caller of that document gets the outcome.
 * - The cluster starts at most one job every ten milliseconds, which is as long as a document takes. Here it starts each job at once, which
 *   needs the only patch.
 */
import assert from 'node:assert/strict'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { Page } from 'puppeteer'
import type { Cluster, ClusterOptions } from 'puppeteer-cluster'
import type { PrintDocument } from './document/load.ts'
import { BrowserLost } from './launch.ts'
import type { PrintedDocument, PrintPage } from './page.ts'
import type { PagePool, PageRequest } from './pool.ts'

/** Closing it ends no print and no browser. */
interface PrintCluster extends AsyncDisposable {
  /**
   * Prints when a slot is free, first come, first served, on a page that only this tenant's documents have used. A document with scripts
   * gets a page for itself.
   *
   * A document that loses its browser begins again, once, in a browser of its own. So another document can cost it only time, and it caused
   * a second failure itself.
   *
   * Otherwise like `PrintPage.print`, but never throws `BrowserLost`. Resolves or rejects when the slot can print again, also after an
   * abort.
   */
  print(tenant: TenantId, document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument>
}

/** The longest possible timer. The signal of each document has a deadline. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

export async function openPrintCluster(pool: PagePool, slots: number): Promise<PrintCluster> {
  // Loaded lazily: a process without this engine does not need it.
  const { Cluster } = await import('puppeteer-cluster')
  const waiting = openWaiting(pool)
  const printing = new Map<Page, Printing>()
  const cluster = await Cluster.launch({
    concurrency: concurrencyOf(async () => {
      const taken = await waiting.take()
      const { page } = taken.page
      printing.set(page, taken)
      return {
        resources: { page },
        async close() {
          printing.delete(page)
          await pool.release(taken.page, taken.isSound)
        },
      }
    }),
    maxConcurrency: slots,
    timeout: NO_TIMEOUT_MS,
    puppeteer: {},
  })
  startJobsAtOnce(cluster)

  function queueJob(): void {
    const job: Promise<PrintedDocument> = cluster.execute(async ({ page }: { readonly page: Page }) => {
      // The cluster listens for crashes, once more for each job. A print ends with the crash, and knows its cause.
      page.removeAllListeners('error')
      const taken = printing.get(page)
      assert(taken !== undefined, 'a job has a page that was taken for a document')
      const { document, signal, settle } = taken.print
      settle(job)
      const printed = await taken.page.print(document, signal)
      taken.isSound = true
      return printed
    })
  }

  function print(request: PageRequest, document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument> {
    const { promise, resolve: settle, reject: fail } = Promise.withResolvers<PrintedDocument>()
    if (waiting.add({ request, document, signal, settle, fail })) queueJob()
    return promise
  }

  return {
    async print(tenant, document, signal) {
      const request = { tenant, hasOwnPage: document.isScripted }
      try {
        return await print({ ...request, hasOwnBrowser: false }, document, signal)
      } catch (error) {
        if (!(error instanceof BrowserLost)) throw error
      }
      try {
        return await print({ ...request, hasOwnBrowser: true }, document, signal)
      } catch (error) {
        throw error instanceof BrowserLost ? error.failure : error
      }
    },
    [Symbol.asyncDispose]: () => cluster.close(),
  }
}

/** Makes the cluster look for a job as soon as one is queued or done, not at its next tick. */
function startJobsAtOnce(cluster: Cluster): void {
  // Both are private. `work` sets a timer that calls `doWork`.
  const internals = cluster as unknown as { work(): Promise<void>; doWork(): Promise<void> }
  internals.work = () => internals.doWork()
}

interface Print {
  readonly request: PageRequest
  readonly document: PrintDocument
  readonly signal: AbortSignal
  readonly settle: (job: Promise<PrintedDocument>) => void
  readonly fail: (reason: unknown) => void
}

interface Printing {
  readonly print: Print
  readonly page: PrintPage
  isSound: boolean
}

interface Waiting {
  /** Returns whether the cluster needs one more job. */
  add(print: Print): boolean
  /** Waits for the next document, and for a page for it. Never rejects. */
  take(): Promise<Printing>
}

function openWaiting(pool: PagePool): Waiting {
  const prints: Print[] = []
  /** Jobs that wait for a document. */
  const idle: ((print: Print) => void)[] = []
  /**
   * Jobs without a page, queued ones included, minus documents without one. If a document gets no page, its job takes the next document.
   */
  let spareJobs = 0

  const next = async () => prints.shift() ?? (await new Promise<Print>((resolve) => idle.push(resolve)))
  return {
    add(print) {
      const give = idle.shift()
      if (give === undefined) prints.push(print)
      else give(print)
      if (spareJobs === 0) return true
      spareJobs -= 1
      return false
    },
    async take() {
      for (;;) {
        const print = await next()
        try {
          print.signal.throwIfAborted()
          return { print, page: await pool.acquire(print.request, print.signal), isSound: false }
        } catch (error) {
          spareJobs += 1
          print.fail(error)
        }
      }
    },
  }
}

type ConcurrencyClass = Exclude<ClusterOptions['concurrency'], number>
type Concurrency = Pick<InstanceType<ConcurrencyClass>, 'init' | 'workerInstance' | 'close'>
type JobInstance = Awaited<ReturnType<Concurrency['workerInstance']>>['jobInstance']

function concurrencyOf(jobInstance: JobInstance): ConcurrencyClass {
  class PoolConcurrency implements Concurrency {
    async init() {}

    async workerInstance() {
      return { jobInstance, close: async () => {}, repair: async () => {} }
    }

    async close() {}
  }
  // The library does not export its base class, which only stores two arguments that we do not need.
  return PoolConcurrency as unknown as ConcurrencyClass
}
