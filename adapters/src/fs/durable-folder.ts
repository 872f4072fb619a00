/**
 * Folders that survive power loss. A new name is durable only when the folder that holds it was flushed, and that folder only when
 * its own parent was, so whoever writes into a folder first makes sure of the chain above it.
 */
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface DurableFolders {
  /**
   * Runs `change`, which adds a name to `folder`, and resolves when that name is durable. The folder is made when missing; when
   * it is removed meanwhile, being empty, it is made again and `change` runs again.
   */
  changeIn<T>(folder: string, change: () => Promise<T>): Promise<T>
}

/** How often a folder may disappear under one change before that is an error. */
const TRIES_MAX = 10

/** Folders remembered as durable; forgetting one costs a flush. */
const REMEMBERED_MAX = 10_000

/** What the file system says of a name that is not there, or of one that is a folder where a file is meant or the reverse. */
export const NOT_THERE = ['ENOENT', 'ENOTDIR', 'EISDIR'] as const

/** Folders below `root`, which exists and is durable already. */
export function durableFolders(root: string): DurableFolders {
  // A promise per folder, so that a second writer also waits for the flush that the first one began.
  const made = new Map<string, Promise<void>>()

  const make = async (folder: string) => {
    await ensure(dirname(folder))
    await mkdir(folder, { mode: 0o700 }).catch(ignoring('EEXIST'))
    // Also where the folder was there: the process that made it may have died before this flush.
    await flushFolder(dirname(folder))
  }
  const ensure = async (folder: string): Promise<void> => {
    if (folder === root) return
    if (made.size > REMEMBERED_MAX) made.clear()
    const making = made.get(folder) ?? make(folder)
    made.set(folder, making)
    await making
  }

  return {
    async changeIn(folder, change) {
      for (let tries = 1; ; tries++) {
        try {
          await ensure(folder)
          const result = await change()
          // Where the folder has gone since, so has what was put in it: there is nothing to keep.
          await flushFolder(folder).catch(ignoring('ENOENT'))
          return result
        } catch (cause) {
          // Whatever went wrong, nothing is known of any folder now. That also drops promises that were rejected.
          made.clear()
          if (tries === TRIES_MAX || !isErrno(cause, 'ENOENT')) throw cause
        }
      }
    },
  }
}

/** Makes a folder with all above it, each durable in its parent. */
export async function makeDurableFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let folder = path; folder !== dirname(first); folder = dirname(folder)) await flushFolder(dirname(folder))
}

/** Makes the names in a folder durable. */
export async function flushFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

/** Is this an error of the operating system, and of one of these codes where any are given? */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  const code = error instanceof Error && 'errno' in error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && (codes.length === 0 || codes.includes(code))
}

function ignoring(code: string): (cause: unknown) => void {
  return (cause) => {
    if (!isErrno(cause, code)) throw cause
  }
}
