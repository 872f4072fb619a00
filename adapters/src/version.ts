import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/** Returns the version of the installed code, such as `1.4.0`. All packages have the same one. */
export function installedVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  assert(isManifest && typeof manifest.version === 'string', 'a package has a version')
  return manifest.version
}
