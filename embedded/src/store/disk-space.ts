/**
 * Whether the disk has room for what is accepted. Without it a render could be made and not be kept, and would hold its slot until
 * there is room again; so nothing new is taken in before it comes to that.
 */
import { statfs } from 'node:fs/promises'
import { DISK_CHECK_EVERY_MS, DISK_FREE_BYTES_MIN } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'

export interface DiskSpace extends AsyncDisposable {
  /** As it was found last. */
  isSufficient(): boolean
}

export interface DiskSpaceOptions {
  /** A folder on the disk in question. */
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
}

/** Looks now and from time to time until it is closed. A folder that cannot be looked at has no room. */
export async function watchDiskSpace({ folder, clock, log }: DiskSpaceOptions): Promise<DiskSpace> {
  const closing = new AbortController()
  let isThere = true
  const look = async () => {
    const bytes = await freeBytes(folder)
    const wasSufficient = isThere
    isThere = bytes >= DISK_FREE_BYTES_MIN
    if (wasSufficient && !isThere) log.error({ bytes, bytesMin: DISK_FREE_BYTES_MIN }, 'disk full, renders refused')
    if (!wasSufficient && isThere) log.info({ bytes }, 'disk space sufficient again')
  }
  const watch = async () => {
    while (!closing.signal.aborted) {
      await clock.sleep(DISK_CHECK_EVERY_MS, closing.signal).catch(() => undefined)
      await look()
    }
  }
  await look()
  const ended = watch()
  return {
    isSufficient: () => isThere,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await ended
    },
  }
}

/** What an ordinary process may still write there. */
async function freeBytes(folder: string): Promise<number> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
}
