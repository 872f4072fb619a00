/**
 * Reads the settings of a process repeatedly, so that a changed file (a secret, a CA, a certificate) takes effect without a restart. The
 * environment of a process never changes, so only files can. If a file is wrong, the last good settings stay in force. Files are compared
 * by content: the kubelet replaces a whole folder by a symbolic link, which a file watcher misses.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { SETTING_FILES_READ_MS } from './limit.ts'
import { ConfigError, type Settings, type Variables } from './setting.ts'

interface FollowedSettings<Config> extends AsyncDisposable {
  /** The same object until a setting changes. */
  latest(): Config
  /** The wall time of the last change, or of the start. */
  since(): number
  /** Were the files wrong when they were read last? */
  isRefused(): boolean
}

interface FollowPorts {
  readonly clock: Clock
  readonly log: Log
}

/** Reads the settings every `SETTING_FILES_READ_MS` until the disposal. Throws `ConfigError` if they are wrong at first. */
export function followSettings<Config>(
  { read }: Settings<Config>,
  variables: Variables,
  { clock, log }: FollowPorts,
): FollowedSettings<Config> {
  let latest = read(variables)
  let since = clock.now()
  let refusal: string | undefined
  const closing = new AbortController()
  const readAgain = () => {
    try {
      const next = read(variables)
      if (refusal !== undefined) log.info({}, 'setting files are right again')
      refusal = undefined
      // Two files that belong together, such as a name and a password, may have been read before and after their change.
      if (isDeepStrictEqual(next, latest) || !isDeepStrictEqual(next, read(variables))) return
      latest = next
      since = clock.now()
      log.info({}, 'changed setting files took effect')
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      if (refusal !== error.message)
        log.warn({ err: error }, 'changed setting files refused, the last good ones stay in force')
      refusal = error.message
    }
  }
  const run = async () => {
    for (;;) {
      await clock.sleep(SETTING_FILES_READ_MS, closing.signal)
      readAgain()
    }
  }
  const running = run().catch((err: unknown) => {
    if (!closing.signal.aborted) log.error({ err }, 'setting files are no longer read')
  })
  return {
    latest: () => latest,
    since: () => since,
    isRefused: () => refusal !== undefined,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await running
    },
  }
}
