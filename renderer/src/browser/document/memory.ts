/**
 * Limits the memory of pages. V8 limits the heap of their scripts, but nothing limits the rest: canvases, buffers, workers, the document
 * itself and its layout can fill gigabytes in a second. So when a document takes long, we check the processes of its browser. We kill a
 * page that exceeds its limit. If the browser itself exceeds its own limit, the document leaves it. Most documents end before the first
 * check.
 *
 * Process sizes come from `/proc`. Where there is none, as on macOS, only V8's limit applies.
 */
import { readFileSync } from 'node:fs'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { BrowserLost, type RunningBrowser } from '../launch.ts'
import { PAGE_MEMORY_BYTES_MAX } from '../limit.ts'
import type { PrintDocument } from './load.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Memory of the browser's own processes, without pages: usually 100 MiB, 600 with a thousand frames. Scripts can fill 2 GiB with blobs. */
const BROWSER_OWN_MEMORY_BYTES_MAX = 1024 * MIB

export interface PageMemory {
  /**
   * Checks the processes of a document's browser until `over` aborts, then rejects. Kills the process of a page that is too large. Rejects
   * with `BrowserLost` if the browser itself is too large, so the document must leave it.
   */
  watch(running: RunningBrowser, document: Pick<PrintDocument, 'isScripted'>, over: AbortSignal): Promise<never>
  /** Why a page has just crashed: `template_error` if it was too large, else `render_crashed`. */
  causeOfCrash(): ServiceError
}

/** Documents that end earlier are not checked. */
const CHECK_AFTER_MS = 200
/** Between two checks a page can fill some 250 MiB beyond its limit. */
const CHECK_EVERY_MS = 100

/**
 * Memory in the browser's own processes cannot be assigned to a page. Scripts fill it, with blobs, and it is freed with their page. So
 * documents with scripts leave first. The others leave after this time, if the memory is not freed.
 */
const SCRIPTED_FIRST_MS = 2_000

/**
 * If a page was seen larger than this and then crashes, we count the crash as caused by its size. It can crash before a check sees it above
 * its limit: V8 has its own limit, and a page crashes when some allocations fail.
 */
const LARGE_BYTES = PAGE_MEMORY_BYTES_MAX / 2

/** A crash is reported at most this long after the page was seen large, because the page first frees its gigabytes. */
const CRASH_MS_MAX = 10_000

/** Linux counts memory in pages of this size on every machine Chromium runs on. */
const MEMORY_PAGE_BYTES = 4096

export function openPageMemory(clock: Clock): PageMemory {
  /** By process id: when the process was last seen large. We cannot know which page a process belongs to. */
  const largeAt = new Map<number, number>()

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
      // A dead process has no memory, even before it is reaped.
      const dead = [...largeAt.keys()].find((pid) => residentBytes(pid) === 0)
      if (dead === undefined) return new ServiceError('render_crashed', 'the page crashed while it rendered')
      largeAt.delete(dead)
      return tooLarge(`${PAGE_MEMORY_BYTES_MAX / 2 ** 20} MiB of memory in the browser`)
    },
  }
}

const OWN = `${BROWSER_OWN_MEMORY_BYTES_MAX / 2 ** 20} MiB of memory in the browser outside its page`

function tooLarge(what: string): ServiceError {
  return new ServiceError('template_error', `the document needs more than ${what}`)
}

/** The resident memory of a process. 0 if it has exited or the size cannot be read. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * MEMORY_PAGE_BYTES
  } catch {
    return 0
  }
}

/** The process may have exited by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
