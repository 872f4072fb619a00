/**
 * Where manifests are among the files. The manifest `manifest/<id>.json` is the file `manifest-by-hour/<hour>/<id>.json`; the hour is that
 * in which the id was issued. So a start that looks for young manifests reads a few folders, not the names of all manifests, and no folder
 * grows without end. Every other key is the path of its file.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_PREFIX } from '@platen/contract/domain/render.ts'
import { issuedAt, parseRenderId } from '@platen/contract/domain/render-id.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { isErrno, NOT_THERE } from './durable-folder.ts'

export const MANIFEST_FOLDER = 'manifest-by-hour/'
const EXTENSION = '.json'

export function pathOfKey(key: string): string {
  const name = key.slice(MANIFEST_PREFIX.length)
  const hour = key.startsWith(MANIFEST_PREFIX) ? hourOfFile(name) : undefined
  return hour === undefined ? key : `${MANIFEST_FOLDER}${hour}/${name}`
}

export function keyOfPath(path: string): string {
  const [hour, name = '', ...others] = path.slice(MANIFEST_FOLDER.length).split('/')
  const isManifest = path.startsWith(MANIFEST_FOLDER) && others.length === 0 && hourOfFile(name) === hour
  return isManifest ? MANIFEST_PREFIX + name : path
}

/** Lists the keys of manifests whose render was accepted at `since` or later, and some of the hour before. */
export async function* manifestsSince(bucket: string, since: Instant): AsyncGenerator<string> {
  const hours = await namesIn(join(bucket, MANIFEST_FOLDER))
  for (const hour of hours.filter((hour) => hour >= hourOf(since))) {
    for (const name of await namesIn(join(bucket, MANIFEST_FOLDER, hour))) {
      if (hourOfFile(name) === hour) yield MANIFEST_PREFIX + name
    }
  }
}

/** In UTC: `2026-11-26T08`. */
function hourOf(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, '2026-11-26T08'.length)
}

/** Returns undefined if the name is not that of a manifest. */
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
