/** Metric of the build: which version and commit a process runs. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metrics } from '../registry.ts'

/** The folder of this package. The Dockerfiles write the commit into it. */
const PACKAGE = new URL('../../..', import.meta.url).pathname
/** A commit of Git, with a mark if files were changed since. */
const COMMIT = /^[0-9a-f]{7,64}(-dirty)?$/

/** Registers the gauge. `folder` holds `package.json` and, in an image, `commit`. Call once per `metrics`. */
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
    .set({ version: versionIn(folder), commit: commitIn(folder), deployable }, 1)
}

/** All packages have the same version. */
function versionIn(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  assert(isManifest && typeof manifest.version === 'string', 'a package has a version')
  return manifest.version
}

function commitIn(folder: string): string {
  try {
    const commit = readFileSync(join(folder, 'commit'), 'utf8').trim()
    return COMMIT.test(commit) ? commit : 'unknown'
  } catch {
    return 'unknown'
  }
}
