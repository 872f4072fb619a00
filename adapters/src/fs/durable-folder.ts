/**
 * Folders that survive power loss. A new name is durable only after its folder was flushed, and the folder only after its own parent was.
 * So a writer first makes all parent folders durable.
 */
import { closeSync, fsync, open, openSync, write } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

interface DurableFolders {
  /**
   * Runs `change`, which adds a name to `folder`. Resolves when that name is durable. Creates the folder when missing. If the folder
   * is removed meanwhile because it was empty, creates it again and runs `change` again.
   */
  changeIn<T>(folder: string, change: () => Promise<T>): Promise<T>
}

/** How often a folder may disappear during one change before that is an error. */
const TRIES_MAX = 10

/** Maximum number of folders remembered as durable. Forgetting one costs one flush. */
const REMEMBERED_MAX = 10_000

export const NOT_THERE = ['ENOENT', 'ENOTDIR', 'EISDIR'] as const

/** Manages the folders below `root`, which must exist and be durable. */
export function durableFolders(root: string): DurableFolders {
  // One promise per folder, so that a second writer also waits for the flush that the first one began.
  const made = new Map<string, Promise<void>>()

  const make = async (folder: string) => {
    await ensure(dirname(folder))
    await mkdir(folder, { mode: 0o700 }).catch(ignoring('EEXIST'))
    // Also if the folder existed: the process that created it may have died before this flush.
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
          // If the folder is gone by now, the new name is gone too, and there is nothing to flush.
          await flushFolder(folder).catch(ignoring('ENOENT'))
          return result
        } catch (cause) {
          // After any error no folder is known to be durable. This also drops rejected promises.
          made.clear()
          if (tries === TRIES_MAX || !isErrno(cause, 'ENOENT')) throw cause
        }
      }
    },
  }
}

/** Creates a folder and its parents, each durable in its own parent. */
export async function makeDurableFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let folder = path; folder !== dirname(first); folder = dirname(folder)) await flushFolder(dirname(folder))
}

export async function flushFolder(folder: string): Promise<void> {
  // The caller has just changed a name in it, so the folder is in memory and there is nothing to wait for.
  await withFile(openSync(folder, 'r'), flushOpen)
}

/** Creates a file with these bytes. Resolves when the bytes are durable; the name is not yet. */
export async function createFlushed(path: string, bytes: Uint8Array): Promise<void> {
  await withFile(await openPath(path, 'wx', 0o600), async (file) => {
    for (let at = 0; at < bytes.byteLength; ) at += (await writeOpen(file, bytes, at)).bytesWritten
    await flushOpen(file)
  })
}

/**
 * Not a `FileHandle`: that closes in a thread of the pool, and each trip there costs more than the call. A close after a flush does not
 * block.
 */
async function withFile(file: number, use: (file: number) => Promise<void>): Promise<void> {
  try {
    await use(file)
  } finally {
    closeSync(file)
  }
}

const openPath = promisify<string, string, number, number>(open)
const writeOpen = promisify(write)
const flushOpen = promisify(fsync)

/** If codes are given, the error must have one of them. */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  const code = error instanceof Error && 'errno' in error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && (codes.length === 0 || codes.includes(code))
}

/** Returns a handler for a rejection that throws the error unless it has this code. */
export function ignoring(code: string): (cause: unknown) => void {
  return (cause) => {
    if (!isErrno(cause, code)) throw cause
  }
}
