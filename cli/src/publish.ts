/**
 * Publishes a folder of manifests to a cluster. The same code as in the embedded service compiles it. Sources and assets go to the artifact
 * store, then all settings are published in Redis at once. A refused resource keeps its last good state, so that one mistake does not block
 * the others. The output and the exit code report that something was refused.
 */
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import { Fenced } from '@platen/adapters/redis/directory/publish/write.ts'
import type { RedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import type { Variables } from '@platen/adapters/setting/setting.ts'
import { DIRECTORY_REPAIR_MS } from '@platen/contract/limit.ts'
import { ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceFirst } from '@platen/contract/race.ts'
import { spawnThreadFor } from '@platen/renderer/engine/thread/start.ts'
import { openThreadPool } from '@platen/renderer/engine/thread-pool.ts'
import { isUnchecked } from '@platen/settings/manifest/compile-folder.ts'
import { type FolderWatch, isManifest, watchFolder } from '@platen/settings/manifest/folder.ts'
import { type FolderChecks, openOwnChecks } from '@platen/settings/manifest/folder-checks.ts'
import { MANIFEST_CHECKS_LATER_MS } from '@platen/settings/manifest/limit.ts'
import { openLoader, type Review } from '@platen/settings/manifest/load.ts'
import { openCheckThreads } from '@platen/settings/publish/check-threads.ts'
import { CHECKS_AT_ONCE } from '@platen/settings/publish/limit.ts'
import { folderDiagnostics } from './check.ts'
import { byLocation, count, formatDiagnostics, UsageError, withoutControls } from './diagnostic/diagnostic.ts'
import { locationsIn } from './diagnostic/location.ts'
import { formatCounts, formatDifferences, formatReaders } from './publish/summary.ts'
import { openTarget, type Target } from './publish/target.ts'
import type { RendererPorts } from './renderer.ts'

const SECOND_MS = 1000

/** How long a publisher waits until every process enforces what it published, and how often it asks. This usually takes milliseconds. */
export const DIRECTORY_ENFORCED_MS_MAX = 10 * SECOND_MS
const DIRECTORY_ENFORCED_POLL_MS = 50

export interface PublishOptions {
  readonly dir: string
  /** Is the folder watched after the first publish? */
  readonly isWatching: boolean
}

export interface PublishPorts extends RendererPorts {
  readonly variables: Variables
  readonly print: (text: string) => void
  /** Prints errors that are not faults of the folder. */
  readonly printError: (text: string) => void
}

/**
 * Publishes a folder and, with `isWatching`, follows it until `signal` aborts. Resolves with whether all of the folder is published. Throws
 * `UsageError` or `ConfigError`; rejects with the signal's reason during the first publish.
 */
export async function publishFolder(
  options: PublishOptions,
  ports: PublishPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const { printError } = ports
  try {
    await using target = await openTarget(ports.variables, ports, signal)
    const { clock } = ports
    // These threads check templates. They render nothing.
    const open = () => openThreadPool({ size: CHECKS_AT_ONCE, clock, spawn: spawnThreadFor(['check']) })
    await using threads = openCheckThreads({ open, clock })
    using checks = openOwnChecks(threads.check, clock)
    // Opened before anything is read, so that no change is missed.
    using watch = options.isWatching ? followedFolder(options.dir, { clock, checks }) : undefined
    const publish = await openPublish(options, { ...ports, target, checks })
    const isPublished = await publish(signal)
    if (watch === undefined) return isPublished
    ports.print(`watching ${options.dir}; Ctrl-C ends it\n`)
    await keepPublished({ ...ports, publisher: target.publisher, watch, publish }, signal)
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isOutsideError(error)) throw error
    printError(`platen: ${withoutControls(error.message)}\n`)
    return false
  }
}

/** Is it an error of Redis, of the artifact store or of another publisher, and not of the folder or of this program? */
function isOutsideError(error: unknown): error is Error {
  return error instanceof Unavailable || error instanceof ArtifactStoreUnfit || error instanceof Fenced
}

type Publish = (signal: AbortSignal) => Promise<boolean>

interface OpenPublishPorts extends PublishPorts {
  readonly target: Target
  readonly checks: FolderChecks
}

/**
 * Returns a function that publishes the current state of the folder. It resolves with false, after printing why, when something in the
 * folder was refused.
 */
async function openPublish({ dir }: PublishOptions, ports: OpenPublishPorts): Promise<Publish> {
  const { target, print, clock } = ports
  const { publisher } = target
  let reviewed: Review | undefined
  let faults = 0
  const review = (reviewedFolder: Review) => {
    reviewed = reviewedFolder
    faults = printReview(dir, reviewedFolder, print)
  }
  const publish = async (snapshot: Review['compiled']['snapshot'], signal: AbortSignal) => {
    const differences = publisher.differences(snapshot)
    const isNew = differences.length > 0 || publisher.revision() === 0
    if (isNew) await publisher.publish({ ...snapshot, revision: publisher.nextRevision() }, signal)
    if (reviewed === undefined) return
    print(
      formatDifferences(differences, reviewed.compiled)
        .map((line) => `${line}\n`)
        .join(''),
    )
    const verb = isNew ? 'published' : 'nothing has changed since'
    const enforced = formatReaders(await waitForReaders(publisher, clock, signal))
    print(`${verb} revision ${publisher.revision()}: ${formatCounts(reviewed.compiled)}; ${enforced}\n`)
  }
  const log = folderLog(ports)
  const { state: last, load } = await openLoader({
    ...ports,
    ...target,
    dir,
    log,
    review,
    publisher: { publish },
    checkWaitMs: PATIENCE_MS,
  }).catch(throwUsageError)
  let state = last
  return async (signal) => {
    try {
      state = await load(state, signal)
      return faults === 0
    } catch (error) {
      throw isErrno(error)
        ? new UsageError(`the folder ${dir} cannot be read (${error.code})`, { cause: error })
        : error
    }
  }
}

/** The first publish waits for all checks. While the folder is watched, a template whose check takes long is published after its check. */
const PATIENCE_MS = { first: Number.POSITIVE_INFINITY, later: MANIFEST_CHECKS_LATER_MS }

/** Everything that `openLoader` throws is about the data folder. */
function throwUsageError(cause: unknown): never {
  throw cause instanceof Error ? new UsageError(cause.message, { cause }) : cause
}

/** Prints the diagnostics of a folder. Returns the number of faults. */
function printReview(dir: string, { folder, compiled, checks }: Review, print: (text: string) => void): number {
  const locations = locationsIn(folder, dir)
  const diagnostics = folderDiagnostics({ folder, dir, compiled, answers: checks, locations }).toSorted(byLocation)
  print(
    formatDiagnostics(diagnostics)
      .map((line) => `${line}\n`)
      .join(''),
  )
  const unchecked = [...compiled.templates.values()].filter(isUnchecked).length
  if (unchecked > 0) print(`${count(unchecked, 'template')} still to be checked\n`)
  const faults = diagnostics.filter(({ isWarning }) => !isWarning).length
  if (faults > 0) print(`${count(faults, 'fault')}: refused resources keep their last good state, if they have one\n`)
  return faults
}

/** Waits until every API process enforces what was published, at most `DIRECTORY_ENFORCED_MS_MAX`. */
async function waitForReaders(publisher: RedisPublisher, clock: Clock, signal: AbortSignal) {
  const begunAt = clock.monotonic()
  for (;;) {
    const readers = await publisher.readers(signal)
    const isOver = clock.monotonic() - begunAt >= DIRECTORY_ENFORCED_MS_MAX
    if (readers.enforcing === readers.all || isOver) return readers
    await clock.sleep(DIRECTORY_ENFORCED_POLL_MS, signal)
  }
}

/** Prints what was generated in the data folder, and errors. Faults of the folder are printed as diagnostics, with their locations. */
function folderLog({ print, printError }: PublishPorts): Log {
  const nothing = () => undefined
  const trouble = (fields: object, message: string) => {
    if ('err' in fields && fields.err instanceof Error)
      printError(`platen: ${withoutControls(`${message}: ${fields.err.message}`)}\n`)
  }
  return {
    debug: nothing,
    info(fields, message) {
      if ('resource' in fields && 'file' in fields && message.endsWith('generated'))
        print(`${withoutControls(`${String(fields.resource)}: ${message}: ${String(fields.file)}`)}\n`)
    },
    warn: trouble,
    error: trouble,
  }
}

interface KeepPublishedPorts extends PublishPorts {
  readonly publisher: RedisPublisher
  readonly watch: FollowedFolder
  readonly publish: Publish
}

/** Publishes after each change, and again when Redis has lost the published revision, until the signal aborts. Throws `Fenced`. */
async function keepPublished(ports: KeepPublishedPorts, signal: AbortSignal): Promise<void> {
  const { publisher, watch, publish, print, printError } = ports
  let isFailing = false
  while (!signal.aborted) {
    const isChanged = await watch.changed(signal).catch(() => false)
    try {
      // Comes first, because it finds the number that the next revision must exceed.
      if (await publisher.repair(signal)) print(`published revision ${publisher.revision()} again: Redis had lost it\n`)
      if (isChanged || isFailing) await publish(signal)
      isFailing = false
    } catch (error) {
      if (signal.aborted) return
      const isPassing = error instanceof Unavailable || error instanceof UsageError
      if (!isPassing) throw error
      // The next round tries again. Printed once.
      if (!isFailing) printError(`platen: ${withoutControls(error.message)}\n`)
      isFailing = true
    }
  }
}

interface FollowedFolder extends Disposable {
  /** Waits for a change or for the answer of a check. Resolves with false when Redis is due for a check first. */
  changed(signal: AbortSignal): Promise<boolean>
}

/** Starts to follow a folder. Throws `UsageError` when it does not exist. */
function followedFolder(
  dir: string,
  { clock, checks }: { readonly clock: Clock; readonly checks: FolderChecks },
): FollowedFolder {
  const begin = (): FolderWatch => watchFolder(dir, clock, { isOfInterest: isManifest, isPersistent: true })
  let watch: FolderWatch | undefined
  try {
    watch = begin()
  } catch (cause) {
    throw isErrno(cause) ? new UsageError(`the folder ${dir} cannot be watched (${cause.code})`, { cause }) : cause
  }
  return {
    async changed(signal) {
      let isChanged = watch === undefined
      const settled = async (until: AbortSignal) => {
        await watch?.changed(until)
        isChanged = true
      }
      const answered = async (until: AbortSignal) => {
        await checks.answered(until)
        isChanged = true
      }
      const due = (until: AbortSignal) => clock.sleep(DIRECTORY_REPAIR_MS, until)
      await raceFirst(watch === undefined ? [due] : [settled, answered, due], signal)
      if (!isChanged) return false
      // A check may answer while somebody is changing the folder.
      if (watch?.hasChanged()) await watch.changed(signal)
      watch?.[Symbol.dispose]()
      try {
        watch = begin()
      } catch {
        // The folder is gone. Its return counts as a change.
        watch = undefined
      }
      return true
    },
    [Symbol.dispose]: () => watch?.[Symbol.dispose](),
  }
}
