/**
 * Publishes a folder of manifests to a cluster, compiled as in the embedded service. Sources and assets go to the artifact store, then all
 * settings are published in Redis at once. A refused resource keeps its last good state, so that one mistake does not block the others. The
 * output and the exit code report it.
 */
import { Fenced } from '@platen/adapters/redis/directory/publish/write.ts'
import type { RedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import type { Variables } from '@platen/adapters/setting/setting.ts'
import { NewerFormat } from '@platen/contract/domain/format.ts'
import { DIRECTORY_REPAIR_MS } from '@platen/contract/domain/limit.ts'
import { ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { openTemplateChecker } from '@platen/renderer/engine/template-checker.ts'
import { isUnchecked } from '@platen/settings/manifest/compile-folder.ts'
import { openFolderChecks } from '@platen/settings/manifest/folder-checks.ts'
import { openManifests } from '@platen/settings/manifest/follow.ts'
import { MANIFEST_CHECKS_LATER_MS } from '@platen/settings/manifest/limit.ts'
import type { Review } from '@platen/settings/manifest/load.ts'
import { folderDiagnostics } from './check.ts'
import { byLocation, count, formatDiagnostics, withoutControls } from './diagnostic/diagnostic.ts'
import { locationsIn } from './diagnostic/location.ts'
import { formatCounts, formatDifferences, formatReaders } from './publish/summary.ts'
import { openTarget } from './publish/target.ts'
import type { RendererPorts } from './renderer.ts'

const SECOND_MS = 1000

/** How long a publisher waits until every process enforces what it published, and how often it asks. Usually milliseconds are enough. */
export const DIRECTORY_ENFORCED_MS_MAX = 10 * SECOND_MS
const DIRECTORY_ENFORCED_POLL_MS = 50

export interface PublishOptions {
  readonly dir: string
  readonly isWatching: boolean
}

export interface PublishPorts extends RendererPorts {
  readonly variables: Variables
  readonly print: (text: string) => void
  /** Errors that are not faults of the folder. */
  readonly printError: (text: string) => void
}

/**
 * With `isWatching`, follows the folder until `signal` aborts. Resolves with whether the whole folder is published. Throws `FileUnfit` or
 * `ConfigError`; rejects with the signal's reason during the first publish.
 */
export async function publishFolder(
  options: PublishOptions,
  ports: PublishPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, print, printError } = ports
  try {
    await using target = await openTarget(ports, signal)
    await using checker = openTemplateChecker({ clock })
    using checks = openFolderChecks(checker, clock)
    const { publisher } = target
    const printer = printerOf(options, { ...ports, publisher })
    const given = { ...ports, ...target, ...options, ...printer, checks, log: folderLog(ports) }
    const isFatal = (error: unknown) => error instanceof Fenced
    await using folder = await openManifests({ ...given, checkWaitMs: PATIENCE_MS, isFatal }, signal)
    if (!options.isWatching) return printer.faults() === 0
    print(`watching ${options.dir}; Ctrl-C ends it\n`)
    await Promise.race([folder.over, keepRepaired(publisher, clock, signal)])
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isOutsideError(error)) throw error
    printError(`platen: ${withoutControls(error.message)}\n`)
    return false
  }
}

/** An error of Redis, of the artifact store, by another publisher or by a newer version, not of the folder or of this program. */
function isOutsideError(error: unknown): error is Error {
  return [Unavailable, ArtifactStoreUnfit, Fenced, NewerFormat].some((kind) => error instanceof kind)
}

function printerOf(
  { dir }: PublishOptions,
  { publisher, print, clock }: PublishPorts & { readonly publisher: RedisPublisher },
) {
  let lines: readonly string[] = []
  let counts = ''
  let isNew = false
  let faults = 0
  return {
    faults: () => faults,
    review(reviewed: Review) {
      faults = printReview(dir, reviewed, print)
      const { compiled } = reviewed
      lines = formatDifferences(publisher.differences(compiled.snapshot), compiled)
      counts = formatCounts(compiled)
      isNew = !publisher.isPublished(compiled.snapshot)
    },
    async onPublished(revision: number, signal: AbortSignal) {
      for (const line of lines) print(`${line}\n`)
      const verb = isNew ? 'published' : 'nothing has changed since'
      const enforced = formatReaders(await waitForReaders(publisher, clock, signal))
      print(`${verb} revision ${revision}: ${counts}; ${enforced}\n`)
    },
  }
}

/** Publishes again what Redis has lost. Throws `Fenced`. */
async function keepRepaired(publisher: RedisPublisher, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(DIRECTORY_REPAIR_MS, signal)
      await publisher.repair(signal)
    } catch (error) {
      // Redis is away. The next round tries again.
      if (!signal.aborted && !(error instanceof Unavailable)) throw error
    }
  }
}

/** The first publish waits for all checks. Later ones do not wait for a slow check: its template is published after it. */
const PATIENCE_MS = { first: Number.POSITIVE_INFINITY, later: MANIFEST_CHECKS_LATER_MS }

/** Returns the number of faults. */
function printReview(dir: string, { folder, compiled, checks }: Review, print: (text: string) => void): number {
  const locations = locationsIn(folder, dir)
  const diagnostics = folderDiagnostics({ folder, dir, compiled, answers: checks, locations }).toSorted(byLocation)
  for (const line of formatDiagnostics(diagnostics)) print(`${line}\n`)
  const unchecked = [...compiled.templates.values()].filter(isUnchecked).length
  if (unchecked > 0) print(`${count(unchecked, 'template')} still to be checked\n`)
  const faults = diagnostics.filter(({ isWarning }) => !isWarning).length
  if (faults > 0) print(`${count(faults, 'fault')}: refused resources keep their last good state, if they have one\n`)
  return faults
}

/** Waits at most `DIRECTORY_ENFORCED_MS_MAX` until every API process enforces what was published. */
async function waitForReaders(publisher: RedisPublisher, clock: Clock, signal: AbortSignal) {
  const begunAt = clock.monotonic()
  for (;;) {
    const readers = await publisher.readers(signal)
    const isOver = clock.monotonic() - begunAt >= DIRECTORY_ENFORCED_MS_MAX
    if (readers.enforcing === readers.all || isOver) return readers
    await clock.sleep(DIRECTORY_ENFORCED_POLL_MS, signal)
  }
}

/** Prints only generated keys and secrets, and errors. Faults of the folder are printed as diagnostics. */
function folderLog({ print, log }: PublishPorts): Log {
  const trouble = (fields: object, message: string) => {
    if ('err' in fields) log.error(fields, message)
  }
  return {
    ...log,
    info(fields, message) {
      if ('resource' in fields && 'file' in fields && message.endsWith('generated'))
        print(`${withoutControls(`${String(fields.resource)}: ${message}: ${String(fields.file)}`)}\n`)
    },
    warn: trouble,
    error: trouble,
  }
}
