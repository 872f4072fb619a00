/**
 * Our own concurrency class, from which puppeteer-cluster gets its pages. The classes of the library lose a slot or block the whole cluster
 * in three cases: a browser does not start, a context takes more than 5 s, or a relaunch fails. This class cannot fail: a slot is available
 * at once and never needs repair. Failures happen inside the job, and its caller sees them.
 */
import type { TenantId } from '@platen/contract/tenant.ts'
import type { Page } from 'puppeteer'
import type { ClusterOptions } from 'puppeteer-cluster'
import type { PrintDocument } from './document/load.ts'
import { BrowserLost } from './launch.ts'
import type { PrintedDocument } from './page.ts'
import type { PagePool, PageRequest } from './pool.ts'

/** What a job of the cluster gets as its page: a slot. The slot has access to the pages of all tenants and chooses the right one. */
export interface PrintJob {
  /**
   * Prints on a page that only this tenant's documents have used. A document with scripts gets a page of its own. Prints one document at a
   * time.
   *
   * If a document loses its browser, it begins again at once, but only once, in a browser of its own. So another document can cost it only
   * time, and a second failure is known to be its own.
   *
   * Otherwise like `PrintPage.print`, but never throws `BrowserLost`. Resolves or rejects when the slot can print again.
   */
  print(tenant: TenantId, document: PrintDocument, signal: AbortSignal): Promise<PrintedDocument>
}

/** The class to pass to `Cluster.launch`. */
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

    /** The engine owns the browsers and closes them. */
    async close() {}
  }
  // The cluster's type requires its own base class. That class stores two arguments we do not need, and does nothing else.
  return PooledConcurrency as unknown as ConcurrencyClass
}

type ConcurrencyClass = Exclude<ClusterOptions['concurrency'], number>
/** The methods that the cluster calls. */
type Concurrency = Pick<InstanceType<ConcurrencyClass>, 'init' | 'workerInstance' | 'close'>

/** The job behind the page that the cluster gives to a task. */
export function jobOf(page: Page): PrintJob {
  // The cluster passes on what `openJob` returned, unchanged.
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
    /** The cluster listens for a page crash but only logs it. A crash also ends `print`. */
    on: () => {},
  }
  return {
    // The cluster only calls `on` of a page and passes it to the task.
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
