/**
 * Control flow of the embedded service: a folder of YAML instead of a cluster. Each load of the folder runs all stages: read, identify,
 * find keys, check, compile, store, publish, report. The same folder gives the same settings. No content of the folder can stop the
 * service: faults are logged, and the last good settings stay in force.
 */
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import { raceFirst } from '@platen/contract/race.ts'
import { type FolderWatch, watchFolder } from '@platen/settings/manifest/folder.ts'
import { MANIFEST_RETRY_MS } from '@platen/settings/manifest/limit.ts'
import { type Load, type LoadOptions, type LoadState, openLoader } from '@platen/settings/manifest/load.ts'

/**
 * Publishes the folder, then follows its changes until `signal` aborts or the result is disposed of. Resolves after the first publish, even
 * when no resource is good. Throws an `Error` for the operator when the folder cannot be read or the data folder cannot be used, and passes
 * on errors of publishing.
 */
export async function openManifests(options: LoadOptions, signal: AbortSignal): Promise<AsyncDisposable> {
  const closing = new AbortController()
  const either = AbortSignal.any([signal, closing.signal])
  const { state: last, load } = await openLoader(options)
  const watch = tryWatch(options)
  try {
    const state = await firstLoad(options, () => load(last, either))
    const following = follow({ ...options, load, state, watch }, either)
    return {
      async [Symbol.asyncDispose]() {
        closing.abort()
        await following
      },
    }
  } catch (cause) {
    watch?.[Symbol.dispose]()
    throw cause
  }
}

async function firstLoad({ dir, log }: LoadOptions, load: () => Promise<LoadState>): Promise<LoadState> {
  const state = await load().catch((cause: unknown) => {
    throw isErrno(cause, 'ENOENT', 'ENOTDIR', 'EACCES')
      ? new Error(`the folder of manifests ${dir} cannot be read (${cause.code})`, { cause })
      : cause
  })
  if (state.compiled?.snapshot.tenants.size === 0) log.error({ dir }, 'no tenant ready, every request is refused')
  return state
}

/** Without a watch (no such folder, or no more watches available) the folder is read again every `MANIFEST_RETRY_MS`. */
function tryWatch({ dir, clock }: LoadOptions): FolderWatch | undefined {
  try {
    return watchFolder(dir, clock)
  } catch {
    return undefined
  }
}

interface FollowOptions extends LoadOptions {
  readonly load: Load
  readonly state: LoadState
  readonly watch: FolderWatch | undefined
}

/** Loads after each change, one at a time, until the signal aborts. Never rejects. */
async function follow(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { load, checks, clock, log, dir } = options
  let { state, watch } = options
  let isFailing = false
  while (!signal.aborted) {
    try {
      const changed = (until: AbortSignal) => watch?.changed(until) ?? clock.sleep(MANIFEST_RETRY_MS, until)
      await raceFirst([changed, (until) => checks.answered(until)], signal)
      // A check may answer while somebody is changing the folder.
      if (watch?.hasChanged()) await watch.changed(signal)
      watch?.[Symbol.dispose]()
      watch = tryWatch(options)
      state = await load(state, signal)
      isFailing = false
    } catch (err) {
      // The clock triggers the next try, because the next change may be far away. Logged once.
      watch?.[Symbol.dispose]()
      watch = undefined
      if (signal.aborted || isFailing) continue
      isFailing = true
      log.error({ err, dir }, 'manifests not published, last good settings stay in force')
    }
  }
  watch?.[Symbol.dispose]()
}
