/**
 * A folder of YAML instead of a cluster, in the embedded service and behind `platen publish`. No content of the folder can stop the
 * service: faults are logged, and the last good settings stay in force.
 */
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import { raceFirst } from '@platen/lib/race.ts'
import { FileUnfit } from '../secrets.ts'
import { type FolderWatch, watchFolder } from './folder.ts'
import { MANIFEST_RETRY_MS } from './limit.ts'
import { type Load, type LoadOptions, type LoadState, openLoader } from './load.ts'

interface FollowOptions extends LoadOptions {
  /** Whether an error ends the following. Absent = none does. */
  readonly isFatal?: (error: unknown) => boolean
}

interface FollowedFolder extends AsyncDisposable {
  /** Resolves when the folder is no longer followed. Rejects with a fatal error. */
  readonly over: Promise<void>
}

/**
 * Publishes the folder, then follows its changes until `signal` aborts or the result is disposed of. Resolves after the first publish, even
 * when no resource is good. Throws `FileUnfit` when the folder cannot be read or the data folder cannot be used, and passes on errors of
 * publishing.
 */
export async function openManifests(options: FollowOptions, signal: AbortSignal): Promise<FollowedFolder> {
  const closing = new AbortController()
  const either = AbortSignal.any([signal, closing.signal])
  const { state: last, load } = await openLoader(options)
  const watch = tryWatch(options)
  try {
    const state = await firstLoad(options, () => load(last, either))
    const over = follow({ ...options, load, state, watch }, either)
    return {
      over,
      async [Symbol.asyncDispose]() {
        closing.abort()
        await over.catch(() => undefined)
      },
    }
  } catch (cause) {
    watch?.[Symbol.dispose]()
    throw cause
  }
}

async function firstLoad({ dir, log }: LoadOptions, load: () => Promise<LoadState>): Promise<LoadState> {
  const state = await load().catch((cause: unknown) => {
    throw isErrno(cause, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG')
      ? new FileUnfit(`the folder of manifests ${dir} cannot be read (${cause.code})`, { cause })
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

interface Following extends FollowOptions {
  readonly load: Load
  readonly state: LoadState
  readonly watch: FolderWatch | undefined
}

/** Loads after each change, one at a time, until the signal aborts. Rejects with a fatal error only. */
async function follow(options: Following, signal: AbortSignal): Promise<void> {
  const { load, checks, clock, log, dir, isFatal } = options
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
      if (signal.aborted) continue
      if (isFatal?.(err) === true) throw err
      if (isFailing) continue
      isFailing = true
      log.error({ err, dir }, 'manifests not published, last good settings stay in force')
    }
  }
  watch?.[Symbol.dispose]()
}
