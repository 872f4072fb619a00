import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/**
 * The environment of a thread has nothing of the service's own, which code of tenants must not see. Only through it do threads get the
 * compile cache of this process, and half of their start is compiling.
 */
export function threadEnv(): Readonly<Record<string, string>> {
  const cache = getCompileCacheDir()
  // Node creates a folder for its own version inside the given one.
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
}
