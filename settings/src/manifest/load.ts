/**
 * Loads a folder of manifests once, in all steps: read, identify, find keys, check, compile, store, publish, report. The same folder gives
 * the same settings.
 */

import { apiKeySpecDefaults } from '@platen/contract/domain/crd/api-key.ts'
import type { ApiKeyResource, Resource, Uid } from '@platen/contract/domain/resource.ts'
import { ENVIRONMENT_VALUES } from '@platen/contract/domain/resource-value.ts'
import { resealWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DirectoryPublisher } from '@platen/contract/port/directory.ts'
import { type ReadResource, resourceReader } from '@platen/contract/schema/resource/reader.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { SealKeys } from '@platen/lib/seal.ts'
import { type Compiled, NO_PREVIOUS } from '../compilation/compile.ts'
import type { InForceBefore } from '../compilation/state.ts'
import type { FoundKey, FoundKeys } from '../compile/api-key.ts'
import type { CheckFaults } from '../compile/template.ts'
import { publishSettings } from '../publish/publish-settings.ts'
import { type StoredSources, storeSources } from '../publish/store-source.ts'
import { loadOrCreateApiKey } from '../secrets.ts'
import { compileFolder } from './compile-folder.ts'
import { findErasedAccounts, keepDeletions, orderErasures } from './deletion.ts'
import { EMPTY_FOLDER, type FolderState, readFolder } from './folder.ts'
import type { FolderChecks } from './folder-checks.ts'
import { type Identities, identify, loadIdentities, storeIdentities } from './identity.ts'
import { loadLastGood, storeLastGood } from './last-good.ts'
import { type ReportedResults, report } from './report.ts'
import type { ReadAhead } from './text/read-ahead.ts'
import { beginRotations, secretFinder, setAsideSecretFiles } from './webhook-secret.ts'

export interface LoadOptions {
  /** The folder of YAML files. */
  readonly dir: string
  /** For generated keys and identities. */
  readonly dataDir: string
  /** Start of the prefix of generated keys and secrets. */
  readonly brand: string
  /** The first seals webhook secrets before they are stored or published. */
  readonly sealKeys: SealKeys
  /** Of template sources, and of PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  readonly checks: FolderChecks
  /** How long the first load and each later one wait for checks. */
  readonly checkWaitMs: { readonly first: number; readonly later: number }
  readonly artifacts: ArtifactStore
  readonly publisher: DirectoryPublisher
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Parses large changes in a thread; absent = nothing else needs this thread. */
  readonly readAhead?: ReadAhead
  /** Called before publishing. */
  readonly review?: (look: Review) => void
  /** Called after the first load, and when another revision is published. */
  readonly onPublished?: (revision: number, signal: AbortSignal) => Promise<void>
}

export interface Review {
  readonly folder: FolderState
  readonly compiled: Compiled
  readonly checks: CheckFaults
}

/** Passed from one load to the next. */
export interface LoadState {
  readonly folder: FolderState
  readonly checks: CheckFaults
  /** Valid as long as the folder does not change. */
  readonly answers: CheckFaults
  /** Whether checks of templates are still running. */
  readonly isWaiting: boolean
  /** At the last report. */
  readonly reported: ReportedResults
  /** What was in force, possibly before a restart. */
  readonly previous: InForceBefore
  /** Stored by the last load; absent at first. */
  readonly sources?: StoredSources
  /** Absent at first. */
  readonly revision?: number
  /** What is published; absent at first. */
  readonly compiled?: Compiled
}

/** See `makeLoader`. */
export type Load = (state: LoadState, signal: AbortSignal) => Promise<LoadState>

/**
 * Returns the state after the last load of the folder, and the function that loads again. Throws `FileUnfit` if the data folder cannot be
 * used.
 */
export async function openLoader(options: LoadOptions): Promise<{ readonly state: LoadState; readonly load: Load }> {
  const { dataDir, log } = options
  const read = resourceReader()
  const load = makeLoader(options, read, await loadIdentities(dataDir))
  const kept = await loadLastGood(options, read)
  if (kept === 'damaged') log.warn({ dataDir }, 'last good settings unreadable, refused resources have no settings')
  const nothing = { folder: EMPTY_FOLDER, previous: NO_PREVIOUS, checks: new Map() }
  const last = kept === undefined || kept === 'damaged' ? nothing : kept
  return { state: { ...last, answers: last.checks, isWaiting: false, reported: new Map() }, load }
}

/**
 * The loading function runs all steps, and rejects for nothing that a resource contains. Checks that are still running are left to the next
 * load.
 */
function makeLoader(options: LoadOptions, read: ReadResource, known: Identities): Load {
  const {
    dir,
    dataDir,
    publisher,
    clock,
    ids,
    log,
    review,
    onPublished,
    readAhead,
    sealKeys,
    checkWaitMs: waitMs,
  } = options
  const findSecrets = secretFinder(options)
  // On disk, even if the load that wrote them failed later.
  let kept = known
  const keep = async (identities: Identities) => {
    if (identities !== kept) await storeIdentities(dataDir, identities)
    kept = identities
  }
  return async (state, signal) => {
    // The first load serves no caller yet, so a thread would only delay it.
    const reader = { read, readAhead: state.compiled && readAhead }
    const folder = await readFolder(dir, state.folder, reader)
    const isUnchanged = state.compiled !== undefined && isSameFolder(folder, state.folder)
    if (isUnchanged && !state.isWaiting) return { ...state, folder }
    const { documents } = folder
    const isComplete = folder.faults.length === 0
    const { resources, identities } = identify({ documents, known: kept, isComplete, now: clock.now() }, ids)
    await setAsideSecretFiles(dataDir, { before: kept, after: identities })
    // Before anything is published under these identities.
    const deletable = keepDeletions(resources, identities, options.serviceBucket)
    await orderErasures({ before: kept, after: identities }, options, signal)
    await keep(beginRotations(resources, deletable, options))
    const secrets = await findSecrets({ documents, resources, identities: kept })
    await keep(secrets.identities)
    const foundKeys = await findKeys(options, resources)
    const reseal = (sealed: string, account: string) => resealWebhookSecret(sealed, { account, keys: sealKeys })
    const { previous } = state
    const accountRefusals = await findErasedAccounts(resources, { previous, store: options }, signal)
    const found = { foundKeys, webhookSecrets: secrets.found, accountRefusals, reseal }
    const checkWaitMs = state.compiled === undefined ? waitMs.first : waitMs.later
    const known = isUnchanged ? state.answers : state.checks
    const given = { documents, resources, ...found, previous, known, checkWaitMs }
    const { compiled, sources, answers, finalAnswers, isWaiting } = await compileFolder(
      { ...options, ...given },
      signal,
    )
    review?.({ folder, compiled, checks: finalAnswers })
    await storeSources(options, notStored(sources, state.sources), signal)
    const revision = await publishSettings(publisher, compiled.snapshot, signal)
    if (revision !== state.revision) await onPublished?.(revision, signal)
    const reported = report(log, { folder, compiled, revision, before: state })
    // It is in force anyway: only the last good state after a restart is lost.
    await storeLastGood(options, { folder, previous: compiled, checks: finalAnswers }).catch((err: unknown) =>
      log.warn({ err }, 'last good settings not saved'),
    )
    return {
      folder,
      sources,
      revision,
      checks: finalAnswers,
      answers,
      isWaiting,
      reported,
      compiled,
      previous: compiled,
    }
  }
}

/** Leaves out what the last load has stored. */
function notStored({ sources, assets }: StoredSources, stored: StoredSources | undefined): StoredSources {
  return {
    sources: new Map([...sources].filter(([digest]) => stored?.sources.has(digest) !== true)),
    assets: new Map([...assets].filter(([digest]) => stored?.assets.has(digest) !== true)),
  }
}

/** Whether the files have the same bytes. An unreadable file counts as changed, so that it is tried again. */
function isSameFolder(one: FolderState, other: FolderState): boolean {
  return one.files.size === other.files.size && [...one.files].every(([name, file]) => other.files.get(name) === file)
}

/** Hashes of the keys in the data folder; missing keys are generated. A key that cannot be read or written is missing in the result. */
async function findKeys(options: LoadOptions, resources: readonly Resource[]): Promise<FoundKeys> {
  const { dataDir, brand, ids, log } = options
  const found = new Map<Uid, FoundKey>()
  for (const { metadata, spec } of resources.filter(
    (resource): resource is ApiKeyResource => resource.kind === 'ApiKey',
  )) {
    if (spec.secretName === undefined) continue
    const resource = `ApiKey ${metadata.namespace}/${metadata.name}`
    const { environment = apiKeySpecDefaults.environment, secretName } = spec
    try {
      const place = { dataDir, namespace: metadata.namespace, secretName }
      const { hash, path, isNew } = await loadOrCreateApiKey(
        { ...place, brand, environment: ENVIRONMENT_VALUES[environment] },
        ids,
      )
      found.set(metadata.uid, { hash })
      if (isNew) log.info({ resource, file: path }, 'api key generated')
    } catch (err) {
      log.warn({ resource, err }, 'api key unreadable')
    }
  }
  return found
}
