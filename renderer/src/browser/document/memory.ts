/**
 * The memory of the pages. V8 bounds the heap of their scripts, and nothing bounds what is beside it: canvases, buffers, workers,
 * the document itself and its layout fill gigabytes in a second. So whoever makes a document looks at the processes of its browser
 * once it takes long, and ends the one that has outgrown its limit. Most documents are done before anybody looks.
 *
 * What a process has is read from `/proc`. Where there is none, as on macOS, only V8's limit holds.
 */
import { readFileSync } from 'node:fs'
import { ServiceError } from '@platen/contract/error.ts'
import { BROWSER_OWN_MEMORY_BYTES_MAX, PAGE_MEMORY_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { RunningBrowser } from '../launch.ts'

export interface PageMemory {
  /** Looks at the processes of a browser until `over`, and then rejects. A page's is killed, and the browser where it has itself grown too large. */
  watch(running: RunningBrowser, over: AbortSignal): Promise<never>
  /** Why a page has crashed just now: `template_error` when it was too large, else `render_crashed`. */
  causeOfCrash(): ServiceError
}

/** Documents done by then are not looked at. */
const LOOK_AFTER_MS = 200
/** What a page fills between two looks is beside its limit: some 250 MiB. */
const LOOK_EVERY_MS = 100

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

  async function look(running: RunningBrowser): Promise<void> {
    for (const [pid, at] of largeAt) if (clock.monotonic() - at > CRASH_MS_MAX) largeAt.delete(pid)
    for (const { id, type } of await running.processes()) {
      const bytes = residentBytes(id)
      if (type === 'renderer') {
        if (bytes > LARGE_BYTES) largeAt.set(id, clock.monotonic())
        if (bytes > PAGE_MEMORY_BYTES_MAX) kill(id)
      } else if (bytes > BROWSER_OWN_MEMORY_BYTES_MAX) {
        // What scripts keep in the browser's own processes, such as blobs, cannot be told by page.
        return await running.kill()
      }
    }
  }

  return {
    async watch(running, over) {
      await clock.sleep(LOOK_AFTER_MS, over)
      for (;;) {
        await look(running)
        await clock.sleep(LOOK_EVERY_MS, over)
      }
    },
    causeOfCrash() {
      // The dead have no memory, also before they are buried.
      const dead = [...largeAt.keys()].find((pid) => residentBytes(pid) === 0)
      if (dead === undefined) return new ServiceError('render_crashed', 'the page crashed while it rendered')
      largeAt.delete(dead)
      const limit = `${PAGE_MEMORY_BYTES_MAX / 2 ** 20} MiB`
      return new ServiceError('template_error', `the document needs more than ${limit} of memory in the browser`)
    },
  }
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
