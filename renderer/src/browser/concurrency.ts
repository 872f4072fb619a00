/**
 * How puppeteer-cluster gets its pages: our own concurrency class. The ones it brings lose a slot, or wedge the whole cluster,
 * when a browser does not start, a context takes over 5 s, or a relaunch fails. In this one there is nothing to fail: a slot is
 * at hand at once and never in need of repair, and what can go wrong goes wrong inside the job, whose caller is told.
 */
import type { TenantId } from '@platen/contract/tenant.ts'
import type { Page } from 'puppeteer'
import type { ClusterOptions } from 'puppeteer-cluster'
import type { PrintDocument } from './document/load.ts'
import { BrowserLost } from './launch.ts'
import type { PrintedDocument } from './page.ts'
import type { PagePool, PageRequest } from './pool.ts'

/** What a job of the cluster gets for a page: a slot, which knows pages of all tenants and says itself whose it takes. */
export interface PrintJob {
  /**
   * Prints on a page only this tenant's documents have been on, and one with scripts on a page of its own; one document at a
   * time. A document that loses its browser is begun again at once, and once, in a browser of its own: so what another does costs
   * it time alone, and what it does itself is known for its own doing. As `PrintPage.print`, without `BrowserLost`, and resolves or
   * rejects when the slot can print again.
   */
  print(tenant: TenantId, document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument>
}

/** The class to give to `Cluster.launch`. */
export function pooledConcurrency(pool: PagePool): ConcurrencyClass {
  class PooledConcurrency implements Concurrency {
    async init() {}

    async workerInstance() {
      return {
        jobInstance: async () => openJob(pool),
        close: async () => {},
        repair: async () => {},
      }
    }

    /** The browsers belong to the engine, which closes them. */
    async close() {}
  }
  // The cluster's type asks for its own base class, which keeps two arguments that are of no use here, and does nothing.
  return PooledConcurrency as unknown as ConcurrencyClass
}

type ConcurrencyClass = Exclude<ClusterOptions['concurrency'], number>
/** What the cluster calls. */
type Concurrency = Pick<InstanceType<ConcurrencyClass>, 'init' | 'workerInstance' | 'close'>

/** The job behind the page a task of the cluster is given. */
export function jobOf(page: Page): PrintJob {
  // The cluster hands on what `openJob` gave it, untouched.
  return page as unknown as PrintJob
}

function openJob(pool: PagePool) {
  const job = {
    async print(tenant: TenantId, document: PrintDocument, signal: AbortSignal) {
      const request = { tenant, hasOwnPage: document.isScripted }
      try {
        return await printOn(pool, { ...request, hasOwnBrowser: false }, { document, signal })
      } catch (error) {
        if (!(error instanceof BrowserLost)) throw error
      }
      try {
        return await printOn(pool, { ...request, hasOwnBrowser: true }, { document, signal })
      } catch (error) {
        throw error instanceof BrowserLost ? error.failure : error
      }
    },
    /** The cluster listens for a page's crash, and only takes note of it. `print` ends by it. */
    on: () => {},
  }
  return {
    // All the cluster does with a page is to call `on` and to hand it to the task.
    resources: { page: job as unknown as Page },
    close: async () => {},
  }
}

async function printOn(
  pool: PagePool,
  request: PageRequest,
  { document, signal }: { document: PrintDocument; signal: AbortSignal },
): Promise<PrintedDocument> {
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
