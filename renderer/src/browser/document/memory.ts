/**
 * The memory of the pages. V8 bounds the heap of their scripts, and nothing bounds what is beside it: canvases, buffers, workers,
 * the document itself and its layout fill gigabytes in a second. So whoever makes a document looks at the processes of its browser
 * once it takes long, ends a page that has outgrown its limit, and leaves a browser that has. Most documents are done before anybody looks.
 *
 * What a process has is read from `/proc`. Where there is none, as on macOS, only V8's limit holds.
 */
import { readFileSync } from 'node:fs'
import { ServiceError } from '@platen/contract/error.ts'
import { BROWSER_OWN_MEMORY_BYTES_MAX, PAGE_MEMORY_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { BrowserLost, type RunningBrowser } from '../launch.ts'
import type { PrintDocument } from './load.ts'

export interface PageMemory {
  /**
   * Looks at the processes of a document's browser until `over`, and then rejects. A page's that is too large is killed; with
   * `BrowserLost` it rejects when the browser has itself grown too large, and the document is to leave it.
   */
  watch(running: RunningBrowser, document: Pick<PrintDocument, 'isScripted'>, over: AbortSignal): Promise<never>
  /** Why a page has crashed just now: `template_error` when it was too large, else `render_crashed`. */
  causeOfCrash(): ServiceError
}

/** Documents done by then are not looked at. */
const CHECK_AFTER_MS = 200
/** What a page fills between two looks is beside its limit: some 250 MiB. */
const CHECK_EVERY_MS = 100

/**
 * What is kept in the browser's own processes cannot be told by page. It is scripts that fill them, with blobs, and what a page has
 * there goes with it: so documents with scripts leave first, and the others only where it was none of those.
 */
const SCRIPTED_FIRST_MS = 2_000

/**
 * A page seen this large that then crashes has crashed of its size. It may do so before a look finds it above its limit, as V8
 * has a limit of its own, and not everything in a page can be refused memory and live.
 */
const LARGE_BYTES = PAGE_MEMORY_BYTES_MAX / 2

/** How long after it was seen large a page may be told to have crashed: it gives back its gigabytes before. */
const CRASH_MS_MAX = 10_000

/** Linux counts memory in pages of this size on every machine Chromium runs on. */
const MEMORY_PAGE_BYTES = 4096

/** Opens the watch over the pages of any number of browsers. */
export function openPageMemory(clock: Clock): PageMemory {
  /** When which pages were last seen large, by process: nothing says whose process is whose. */
  const largeAt = new Map<number, number>()

  /** Is a process too large that is no page's? */
  async function checkProcesses(running: RunningBrowser): Promise<boolean> {
    for (const [pid, at] of largeAt) if (clock.monotonic() - at > CRASH_MS_MAX) largeAt.delete(pid)
    let isOvergrown = false
    for (const { id, type } of await running.processes()) {
      const bytes = residentBytes(id)
      if (type !== 'renderer') isOvergrown ||= bytes > BROWSER_OWN_MEMORY_BYTES_MAX
      else if (bytes > LARGE_BYTES) {
        largeAt.set(id, clock.monotonic())
        if (bytes > PAGE_MEMORY_BYTES_MAX) kill(id)
      }
    }
    return isOvergrown
  }

  return {
    async watch(running, { isScripted }, over) {
      const toleratedMs = isScripted ? 0 : SCRIPTED_FIRST_MS
      let overgrownAt: number | undefined
      await clock.sleep(CHECK_AFTER_MS, over)
      for (;;) {
        const isOvergrown = await checkProcesses(running)
        const now = clock.monotonic()
        overgrownAt = isOvergrown ? (overgrownAt ?? now) : undefined
        if (overgrownAt !== undefined && now - overgrownAt >= toleratedMs) throw new BrowserLost(tooLarge(OWN))
        await clock.sleep(CHECK_EVERY_MS, over)
      }
    },
    causeOfCrash() {
      // The dead have no memory, also before they are buried.
      const dead = [...largeAt.keys()].find((pid) => residentBytes(pid) === 0)
      if (dead === undefined) return new ServiceError('render_crashed', 'the page crashed while it rendered')
      largeAt.delete(dead)
      return tooLarge(`${PAGE_MEMORY_BYTES_MAX / 2 ** 20} MiB of memory in the browser`)
    },
  }
}

const OWN = `${BROWSER_OWN_MEMORY_BYTES_MAX / 2 ** 20} MiB of memory in the browser beside its page`

function tooLarge(what: string): ServiceError {
  return new ServiceError('template_error', `the document needs more than ${what}`)
}

/** What a process has in memory; 0 when it has gone, or cannot be known. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * MEMORY_PAGE_BYTES
  } catch {
    return 0
  }
}

/** It may have ended by itself since. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
