/**
 * The memory of the pages. V8 bounds the heap of their scripts, and nothing bounds what is beside it: canvases, buffers, workers,
 * the document itself and its layout fill gigabytes in a second. So whoever makes a document looks at the processes of its browser
 * once it takes long, and ends the one that has outgrown its limit. Most documents are done before anybody looks.
 *
 * What a process has is read from `/proc`. Where there is none, as on macOS, only V8's limit holds.
 */
import { readFile } from 'node:fs/promises'
import { ServiceError } from '@platen/contract/error.ts'
import { BROWSER_OWN_MEMORY_BYTES_MAX, PAGE_MEMORY_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { CDPSession } from 'puppeteer'
import type { RunningBrowser } from '../launch.ts'

export interface PageMemory {
  /** Looks at the processes of a browser until `over`, and then rejects. A page's is killed, and the browser where it has itself grown too large. */
  watch(running: RunningBrowser, over: AbortSignal): Promise<never>
  /** Why a page has crashed just now: `template_error` when it was ended here, else `render_crashed`. */
  causeOfCrash(): ServiceError
}

/** Documents done by then are not looked at. */
const LOOK_AFTER_MS = 200
/** What a page fills between two looks is beside its limit: some 250 MiB. */
const LOOK_EVERY_MS = 100

/** How long after it was killed a page may be told to have crashed: its gigabytes are given back before. */
const CRASH_MS_MAX = 10_000

/** Linux counts memory in pages of this size on every machine Chromium runs on. */
const MEMORY_PAGE_BYTES = 4096

/** Opens the watch over the pages of any number of browsers. */
export function openPageMemory(clock: Clock): PageMemory {
  /** When which processes were killed whose pages are not yet told to have crashed: nothing says whose process is whose. */
  const killedAt = new Map<number, number>()

  function forgetOld(): void {
    for (const [pid, at] of killedAt) if (clock.monotonic() - at > CRASH_MS_MAX) killedAt.delete(pid)
  }

  async function look(running: RunningBrowser, session: CDPSession): Promise<void> {
    forgetOld()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    for (const { id, type } of processInfo) {
      const isPage = type === 'renderer'
      if ((await residentBytes(id)) <= (isPage ? PAGE_MEMORY_BYTES_MAX : BROWSER_OWN_MEMORY_BYTES_MAX)) continue
      // What scripts keep in the browser's own processes, such as blobs, cannot be told by page.
      if (!isPage) return await running.kill()
      // One that is dying may still have its memory.
      if (!killedAt.has(id) && kill(id)) killedAt.set(id, clock.monotonic())
    }
  }

  return {
    async watch(running, over) {
      await clock.sleep(LOOK_AFTER_MS, over)
      const session = await running.browser.target().createCDPSession()
      try {
        for (;;) {
          await look(running, session)
          await clock.sleep(LOOK_EVERY_MS, over)
        }
      } finally {
        session.detach().catch(() => undefined)
      }
    },
    causeOfCrash() {
      forgetOld()
      const [killed] = killedAt.keys()
      if (killed === undefined) return new ServiceError('render_crashed', 'the page crashed while it rendered')
      killedAt.delete(killed)
      const limit = `${PAGE_MEMORY_BYTES_MAX / 2 ** 20} MiB`
      return new ServiceError('template_error', `the document needs more than ${limit} of memory in the browser`)
    },
  }
}

/** What a process has in memory; 0 when it has gone, or cannot be known. */
async function residentBytes(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '0 0')
  return Number(statm.split(' ')[1]) * MEMORY_PAGE_BYTES
}

/** False when the process has ended by itself since. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}
