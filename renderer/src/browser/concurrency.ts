/**
 * The slots of the html engine, on puppeteer-cluster: its workers are the slots, and its queue holds the documents that wait for one. Two
 * parts of it are replaced ([decision 24](../../../docs/decisions/0024-puppeteer-cluster-is-the-queue-of-slots.md)):
 *
 * - Its concurrency classes lose a slot or block the whole cluster in three cases: a browser does not start, a context takes more than 5 s,
 *   or a relaunch fails. Ours cannot fail: a slot is available at once and never needs repair. Failures happen inside the job, and its
 *   caller sees them.
 * - It starts at most one job every ten milliseconds, which is as long as a document takes. Here it starts each job at once.
 */
import type { TenantId } from '@platen/contract/tenant.ts'
import type { Page } from 'puppeteer'
import type { Cluster, ClusterOptions } from 'puppeteer-cluster'
import type { PrintDocument } from './document/load.ts'
import { BrowserLost } from './launch.ts'
import type { PrintedDocument } from './page.ts'
import type { PagePool, PageRequest } from './pool.ts'

/** Closing it ends no print and no browser. */
export interface PrintCluster extends AsyncDisposable {
  /**
   * Prints when a slot is free, first come, first served, on a page that only this tenant's documents have used. A document with scripts
   * gets a page of its own.
   *
   * If a document loses its browser, it begins again at once, but only once, in a browser of its own. So another document can cost it only
   * time, and a second failure is known to be its own.
   *
   * Otherwise like `PrintPage.print`, but never throws `BrowserLost`. Resolves or rejects when the slot can print again, also after an abort.
   */
  print(tenant: TenantId, document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument>
}

/** The longest possible timer. The cluster's own timeout would end a job but not its work. The signal of a print ends both. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Opens a cluster that prints `slots` documents at a time on the pages of a pool. */
export async function openPrintCluster(pool: PagePool, slots: number): Promise<PrintCluster> {
  // Loaded here, because a process without this engine does not need it.
  const { Cluster } = await import('puppeteer-cluster')
  const cluster = await Cluster.launch({
    concurrency: SlotConcurrency as unknown as ConcurrencyClass,
    maxConcurrency: slots,
    timeout: NO_TIMEOUT_MS,
    // The pool launches the browsers.
    puppeteer: {},
  })
  startJobsAtOnce(cluster)
  return {
    print: (tenant, document, signal) =>
      cluster.execute(async () => {
        signal.throwIfAborted()
        return await printDocument(pool, { tenant, document, signal })
      }),
    [Symbol.asyncDispose]: () => cluster.close(),
  }
}

/** Makes the cluster look for a job whenever one is queued or done, and not at its next tick. */
function startJobsAtOnce(cluster: Cluster): void {
  // Both are private. `work` sets a timer that calls `doWork`.
  const internals = cluster as unknown as { work(): Promise<void>; doWork(): Promise<void> }
  internals.work = () => internals.doWork()
}

type ConcurrencyClass = Exclude<ClusterOptions['concurrency'], number>
/** The methods that the cluster calls. */
type Concurrency = Pick<InstanceType<ConcurrencyClass>, 'init' | 'workerInstance' | 'close'>

/** The cluster only calls `on` of a page, for crashes, which it logs. A crash also ends the print. */
const NO_PAGE = { on: () => {} } as unknown as Page

/**
 * Gives each job a slot and no page: the job takes the right one from the pool. The cluster's type requires its own base class, which stores
 * two arguments that we do not need, and does nothing else.
 */
class SlotConcurrency implements Concurrency {
  async init() {}

  async workerInstance() {
    return {
      jobInstance: async () => ({ resources: { page: NO_PAGE }, close: async () => {} }),
      close: async () => {},
      repair: async () => {},
    }
  }

  async close() {}
}

interface Print {
  readonly tenant: TenantId
  readonly document: PrintDocument
  readonly signal: AbortSignal
}

async function printDocument(pool: PagePool, print: Print): Promise<PrintedDocument> {
  const request = { tenant: print.tenant, hasOwnPage: print.document.isScripted }
  try {
    return await printOn(pool, { ...request, hasOwnBrowser: false }, print)
  } catch (error) {
    if (!(error instanceof BrowserLost)) throw error
  }
  try {
    return await printOn(pool, { ...request, hasOwnBrowser: true }, print)
  } catch (error) {
    throw error instanceof BrowserLost ? error.failure : error
  }
}

async function printOn(pool: PagePool, request: PageRequest, { document, signal }: Print): Promise<PrintedDocument> {
  const page = await pool.acquire(request, signal)
  let isSound = false
  try {
    const printed = await page.print(document, signal)
    isSound = true
    return printed
  } finally {
    await pool.release(page, isSound)
  }
}
