/**
 * Where manifests are among the files. The manifest `manifest/<id>.json` is the file `manifest-by-hour/<hour>/<id>.json`, in the folder of
 * the hour in which its id was issued. So a start that looks for young manifests reads the names in a few folders, and not all names that
 * are kept, and no folder grows with the number of renders. The id alone determines the folder. Every other key is the path of its file.
 */
import { renameSync } from 'node:fs'
import { mkdir, opendir, readdir, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Instant } from '@platen/contract/brand.ts'
import { MANIFEST_PREFIX } from '@platen/contract/render.ts'
import { issuedAt, parseRenderId } from '@platen/contract/render-id.ts'
import { flushFolder, isErrno, NOT_THERE } from './durable-folder.ts'

export const MANIFEST_FOLDER = 'manifest-by-hour/'
const EXTENSION = '.json'

/** Names of a folder that are read at once. Reading them is a trip to another thread, and Node makes it for each 32 of millions. */
const NAMES_AT_ONCE = 1024

/** Returns the path of an object below its bucket. */
export function pathOfKey(key: string): string {
  const name = key.slice(MANIFEST_PREFIX.length)
  const hour = key.startsWith(MANIFEST_PREFIX) ? hourOfFile(name) : undefined
  return hour === undefined ? key : `${MANIFEST_FOLDER}${hour}/${name}`
}

/** Returns the key of the object at a path below its bucket. */
export function keyOfPath(path: string): string {
  const [hour, name = '', ...others] = path.slice(MANIFEST_FOLDER.length).split('/')
  const isManifest = path.startsWith(MANIFEST_FOLDER) && others.length === 0 && hourOfFile(name) === hour
  return isManifest ? MANIFEST_PREFIX + name : path
}

/** Lists the keys of the manifests of a bucket whose render was accepted at `since` or later, and some of the hour before. */
export async function* manifestsSince(bucket: string, since: Instant): AsyncGenerator<string> {
  const hours = await namesIn(join(bucket, MANIFEST_FOLDER))
  for (const hour of hours.filter((hour) => hour >= hourOf(since))) {
    for (const name of await namesIn(join(bucket, MANIFEST_FOLDER, hour))) {
      if (hourOfFile(name) === hour) yield MANIFEST_PREFIX + name
    }
  }
}

/**
 * Moves the manifests of a bucket that a version before these folders has left. A kill in between does no harm: what was not moved is
 * moved at the next start.
 */
export async function moveOlderManifests(bucket: string): Promise<void> {
  const older = join(bucket, MANIFEST_PREFIX)
  const folders = new Set<string>()
  try {
    for await (const { name } of await opendir(older, { bufferSize: NAMES_AT_ONCE })) {
      if (hourOfFile(name) === undefined) continue
      const path = join(bucket, pathOfKey(MANIFEST_PREFIX + name))
      if (!folders.has(dirname(path))) await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      folders.add(dirname(path))
      // There may be millions, and with a promise each takes half as much CPU again.
      renameSync(join(older, name), path)
    }
    // Each is durable where it is now before the folder where it was is removed.
    for (const folder of [...folders, join(bucket, MANIFEST_FOLDER), bucket]) await flushFolder(folder)
    await rmdir(older)
  } catch (cause) {
    if (!isErrno(cause, 'ENOTEMPTY', ...NOT_THERE)) throw cause
  }
}

/** In UTC: `2026-11-26T08`. */
function hourOf(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, '2026-11-26T08'.length)
}

/** The hour of a file that is named as a manifest is. */
function hourOfFile(name: string): string | undefined {
  const id = name.endsWith(EXTENSION) ? parseRenderId(name.slice(0, -EXTENSION.length)) : undefined
  return id && hourOf(issuedAt(id))
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (cause) {
    if (isErrno(cause, ...NOT_THERE)) return []
    throw cause
  }
}
