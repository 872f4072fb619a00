/** Renders a preview again whenever its files change. A fault in one round is printed, and the next change starts the next round. */
import { basename, dirname } from 'node:path'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type FolderWatch, isManifest, watchFolder } from '@platen/settings/manifest/folder.ts'
import { MANIFEST_RETRY_MS } from '@platen/settings/manifest/limit.ts'
import { UsageError } from './diagnostic/diagnostic.ts'
import type { Previewer, PreviewOptions } from './preview.ts'

interface WatchPorts {
  readonly previewer: Previewer
  readonly clock: Clock
  readonly print: (text: string) => void
}

/**
 * Follows the manifests and the data until `signal` aborts. A change ends a running render, so that nobody waits for the deadline of a loop
 * that is already corrected. Throws `UsageError` when the first round does.
 */
export async function watchPreview(
  options: PreviewOptions,
  { previewer, clock, print }: WatchPorts,
  signal: AbortSignal,
): Promise<void> {
  let isFirst = true
  while (!signal.aborted) {
    // Opened before anything is read, so that no change is missed.
    using change = isFirst
      ? nextChange(watchAll(options, clock), signal)
      : await waitForNextChange(options, clock, signal)
    const ended = AbortSignal.any([signal, change.happened])
    try {
      const { text } = await previewer.render(ended)
      print(isFirst ? `${text}watching ${options.dir}; Ctrl-C ends it\n` : text)
      isFirst = false
    } catch (error) {
      if (ended.aborted) continue
      if (isFirst || !(error instanceof UsageError)) throw error
      print(`platen: ${error.message}\n`)
    }
    await change.settled
  }
}

interface FolderChange extends Disposable {
  /** Aborts when files have changed and then stayed the same for a moment. */
  readonly happened: AbortSignal
  /** Resolves when `happened` aborts, or when the change is disposed of. */
  readonly settled: Promise<void>
}

function nextChange(watches: readonly FolderWatch[], signal: AbortSignal): FolderChange {
  const [closing, happened] = [new AbortController(), new AbortController()]
  const ended = AbortSignal.any([signal, closing.signal])
  const settled = Promise.race(watches.map((watch) => watch.changed(ended))).then(
    () => happened.abort(new Error('the files have changed')),
    (error: unknown) => {
      if (!ended.aborted) throw error
    },
  )
  return {
    happened: happened.signal,
    settled,
    [Symbol.dispose]() {
      closing.abort()
      for (const watch of watches) watch[Symbol.dispose]()
    },
  }
}

/** Throws `UsageError` when a folder cannot be watched. */
function watchAll({ dir, data }: PreviewOptions, clock: Clock): readonly FolderWatch[] {
  const watches: FolderWatch[] = []
  const watch = (folder: string, isOfInterest: (name: string) => boolean) => {
    try {
      watches.push(watchFolder(folder, clock, { isOfInterest, isPersistent: true }))
    } catch (cause) {
      for (const watch of watches) watch[Symbol.dispose]()
      throw isErrno(cause) ? new UsageError(`the folder ${folder} cannot be watched (${cause.code})`, { cause }) : cause
    }
  }
  watch(dir, isManifest)
  // The folder, not the file, because editors replace the file with a new one.
  if (data !== undefined && data !== '-') watch(dirname(data), (name) => name === basename(data))
  return watches
}

/** If a folder is missing, its return counts as a change. */
async function waitForNextChange(options: PreviewOptions, clock: Clock, signal: AbortSignal): Promise<FolderChange> {
  for (;;) {
    try {
      return nextChange(watchAll(options, clock), signal)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      await clock.sleep(MANIFEST_RETRY_MS, signal).catch(() => undefined)
      if (signal.aborted) return nextChange([], signal)
    }
  }
}
