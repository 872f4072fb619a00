import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/**
 * The environment of a thread: nothing of the service's own, which code of tenants must not see. If this process has a compile cache,
 * threads get it in no other way, and half of their start is compiling.
 */
export function threadEnv(): Readonly<Record<string, string>> {
  const cache = getCompileCacheDir()
  // Node creates a folder for its own version inside the one it is given.
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
}
