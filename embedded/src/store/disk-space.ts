/**
 * Checks whether the disk has space for new renders. On a full disk a finished render could not be stored, and would hold its slot until
 * space is free. So the service refuses new renders before the disk is full.
 */
import { statfs } from 'node:fs/promises'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { DISK_FREE_BYTES_MIN } from './limit.ts'

const SECOND_MS = 1000
/** How often the free disk space is checked: one system call. */
const DISK_CHECK_EVERY_MS = 2 * SECOND_MS

export interface DiskSpace extends AsyncDisposable {
  isSufficient(): boolean
}

interface DiskSpaceOptions {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
}

/** Checks at once and regularly until it is closed. A folder that cannot be checked counts as full. */
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

/** As for a process without privileges. */
async function freeBytes(folder: string): Promise<number> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
}
