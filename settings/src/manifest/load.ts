/**
 * One look at a folder of manifests, the whole way: read, identify, find keys, check, compile, store, publish, report. The same
 * folder gives the same settings.
 */
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DirectoryPublisher } from '@platen/contract/port/directory.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { ApiKeyResource, Resource, Uid } from '@platen/contract/resource.ts'
import { type ReadResource, resourceReader } from '@platen/contract/schema/resource/reader.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import type { FoundKey, FoundKeys } from '../compile/api-key.ts'
import { type Compiled, NO_PREVIOUS, type Previous } from '../compile/compile.ts'
import type { CheckFaults } from '../compile/template.ts'
import { type StoredSources, storeSources } from '../publish/store-source.ts'
import { loadOrCreateApiKey } from '../secrets.ts'
import { compileFolder } from './compile-folder.ts'
import { EMPTY_FOLDER, type FolderState, readFolder } from './folder.ts'
import type { FolderChecks } from './folder-checks.ts'
import { type Identities, identify, loadIdentities, storeIdentities } from './identity.ts'
import { loadLastGood, storeLastGood } from './last-good.ts'
import { type ReportedResults, report } from './report.ts'
import type { ReadAhead } from './text/read-ahead.ts'
import { beginRotations, secretFinder, setAsideSecretFiles } from './webhook-secret.ts'

/** What loading a folder takes. */
export interface LoadOptions {
  /** The folder of YAML files. */
  readonly dir: string
  /** Where generated keys and identities are kept. */
  readonly dataDir: string
  /** Opens the prefix of generated keys and secrets. */
  readonly brand: string
  /** Seals webhook secrets wherever they go. */
  readonly sealKey: SealKey
  /** Where template sources go, and the PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  readonly checks: FolderChecks
  /** How long the first look, and each after it, waits for checks, in milliseconds. */
  readonly checkWaitMs: { readonly first: number; readonly later: number }
  readonly artifacts: ArtifactStore
  readonly publisher: DirectoryPublisher
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Reads large changes of the folder in a thread; absent = nobody else waits for this one. */
  readonly readAhead?: ReadAhead
  /** Told of what is about to be published. */
  readonly review?: (look: Review) => void
}

export interface Review {
  readonly folder: FolderState
  readonly compiled: Compiled
  readonly checks: CheckFaults
}

/** What one look at the folder leaves to the next. */
export interface LoadState {
  readonly folder: FolderState
  /** Answers that need not be asked for again. */
  readonly checks: CheckFaults
  /** All answers, which hold as long as the folder is the same. */
  readonly answers: CheckFaults
  /** Are there templates whose check is under way? */
  readonly isWaiting: boolean
  /** What resources came to when they were reported last. */
  readonly reported: ReportedResults
  /** What was in force, be it before a restart. */
  readonly previous: Previous
  /** What is published; absent at first. */
  readonly compiled?: Compiled
}

/** One look; see `makeLoader`. */
export type Load = (state: LoadState, signal: AbortSignal) => Promise<LoadState>

/**
 * What was in force when the folder was last looked at, and how to look again. Throws an `Error` for the operator when the data
 * folder cannot be used.
 */
export async function openLoader(options: LoadOptions): Promise<{ readonly state: LoadState; readonly load: Load }> {
  const { dataDir, log } = options
  const read = resourceReader()
  const load = makeLoader(options, read, await loadIdentities(dataDir))
  const kept = await loadLastGood(dataDir, read)
  if (kept === 'damaged') log.warn({ dataDir }, 'last good settings unreadable, what is refused now has none')
  const nothing = { folder: EMPTY_FOLDER, previous: NO_PREVIOUS, checks: new Map() }
  const last = kept === undefined || kept === 'damaged' ? nothing : kept
  return { state: { ...last, answers: last.checks, isWaiting: false, reported: new Map() }, load }
}

/**
 * Makes what takes one look at the folder after another. A look goes the whole way and rejects for nothing that a resource says; what
 * it has not come to it leaves to the next.
 */
function makeLoader(options: LoadOptions, read: ReadResource, known: Identities): Load {
  const { dir, dataDir, publisher, clock, ids, log, review, readAhead, checkWaitMs: waitMs } = options
  const findSecrets = secretFinder(options)
  // As they stand on the disk, be it by a look that failed later.
  let kept = known
  const keep = async (identities: Identities) => {
    if (identities !== kept) await storeIdentities(dataDir, identities)
    kept = identities
  }
  return async (state, signal) => {
    // Before the first look is over nobody is served, and a thread would only come later.
    const reader = { read, readAhead: state.compiled && readAhead }
    const folder = await readFolder(dir, state.folder, reader)
    const isUnchanged = state.compiled !== undefined && isSameFolder(folder, state.folder)
    if (isUnchanged && !state.isWaiting) return { ...state, folder }
    const { documents } = folder
    const isComplete = folder.faults.length === 0
    const { resources, identities } = identify({ documents, known: kept, isComplete, now: clock.now() }, ids)
    await setAsideSecretFiles(dataDir, { before: kept, after: identities })
    // Before anything is published under them.
    await keep(beginRotations(resources, identities, options))
    const secrets = await findSecrets({ documents, resources, identities: kept })
    await keep(secrets.identities)
    const foundKeys = await findKeys(options, resources)
    const found = { foundKeys, webhookSecrets: secrets.found }
    const checkWaitMs = state.compiled === undefined ? waitMs.first : waitMs.later
    const known = isUnchanged ? state.answers : state.checks
    const given = { documents, resources, ...found, previous: state.previous, known, checkWaitMs }
    const { compiled, answers, finalAnswers, isWaiting } = await compileFolder({ ...options, ...given }, signal)
    review?.({ folder, compiled, checks: finalAnswers })
    await storeSources(options, notStored(compiled, state.compiled), signal)
    if (compiled.snapshot.revision !== state.compiled?.snapshot.revision)
      await publisher.publish(compiled.snapshot, signal)
    const reported = report(log, { folder, compiled, before: state })
    // It is in force all the same; what is lost is a comfort after a restart.
    await storeLastGood(dataDir, { folder, previous: compiled, checks: finalAnswers }).catch((err: unknown) =>
      log.warn({ err }, 'last good settings not saved'),
    )
    return { folder, checks: finalAnswers, answers, isWaiting, reported, compiled, previous: compiled }
  }
}

/** What renderers will need of the templates, but for what was stored at the last look. */
function notStored({ sources, assets }: StoredSources, stored: StoredSources | undefined): StoredSources {
  return {
    sources: new Map([...sources].filter(([digest]) => stored?.sources.has(digest) !== true)),
    assets: new Map([...assets].filter(([digest]) => stored?.assets.has(digest) !== true)),
  }
}

/** The same files with the same bytes. A file that could not be read counts as changed, being worth another try. */
function isSameFolder(one: FolderState, other: FolderState): boolean {
  return one.files.size === other.files.size && [...one.files].every(([name, file]) => other.files.get(name) === file)
}

/** The hash of every key that stands in the data folder, made there at first. A key that cannot be had is missing in the answer. */
async function findKeys(options: LoadOptions, resources: readonly Resource[]): Promise<FoundKeys> {
  const { dataDir, brand, ids, log } = options
  const found = new Map<Uid, FoundKey>()
  for (const { metadata, spec } of resources.filter(
    (resource): resource is ApiKeyResource => resource.kind === 'ApiKey',
  )) {
    if (spec.secretName === undefined) continue
    const resource = `ApiKey ${metadata.namespace}/${metadata.name}`
    const { environment = 'live', secretName } = spec
    try {
      const file = { dataDir, namespace: metadata.namespace, secretName, brand, environment }
      const { hash, path, isNew } = await loadOrCreateApiKey(file, ids)
      found.set(metadata.uid, { hash })
      if (isNew) log.info({ resource, file: path }, 'api key generated')
    } catch (err) {
      log.warn({ resource, err }, 'api key unreadable')
    }
  }
  return found
}
