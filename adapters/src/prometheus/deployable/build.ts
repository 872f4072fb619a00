import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installedVersion } from '../../version.ts'
import type { Metrics } from '../registry.ts'

/** The Dockerfile writes the commit into this folder. */
const PACKAGE = new URL('../../..', import.meta.url).pathname
const COMMIT = /^[0-9a-f]{7,64}(-dirty)?$/

/** In an image, `folder` holds the file `commit`. */
export function gaugeBuild(
  metrics: Metrics,
  { deployable, folder = PACKAGE }: { readonly deployable: string; readonly folder?: string },
): void {
  metrics
    .gauge(
      'platen_build_info',
      'Always 1; the labels name the version, the commit (`unknown` outside of an image) and the deployable.',
      { version: [], commit: [], deployable: [] },
    )
    .set({ version: installedVersion(), commit: commitIn(folder), deployable }, 1)
}

function commitIn(folder: string): string {
  try {
    const commit = readFileSync(join(folder, 'commit'), 'utf8').trim()
    return COMMIT.test(commit) ? commit : 'unknown'
  } catch {
    return 'unknown'
  }
}
