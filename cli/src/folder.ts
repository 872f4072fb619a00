/** Reads the current state of a folder of manifests. Its resources have no identity yet. */
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import type { ConditionReason, Resource } from '@platen/contract/domain/resource.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { EMPTY_FOLDER, type FolderState, readFolder, withoutDocuments } from '@platen/settings/manifest/folder.ts'
import { identify } from '@platen/settings/manifest/identity.ts'
import type { ManifestDocument } from '@platen/settings/manifest/text/parse.ts'
import { type Diagnostic, UsageError } from './diagnostic/diagnostic.ts'
import type { Locations } from './diagnostic/location.ts'

/**
 * The function reads the folder again at each call, but parses only changed files. It throws `UsageError` when the folder cannot be listed.
 */
export function folderReader(dir: string): () => Promise<FolderState> {
  const read = resourceReader()
  let last = EMPTY_FOLDER
  return async () => {
    try {
      last = await readFolder(dir, withoutDocuments(last), { read })
      return last
    } catch (cause) {
      if (!isErrno(cause)) throw cause
      throw new UsageError(`the folder ${dir} cannot be read (${cause.code})`, { cause })
    }
  }
}

/** As if all resources were new. */
export function resourcesOf(
  documents: readonly ManifestDocument[],
  { clock, ids }: { clock: Clock; ids: Ids },
): readonly Resource[] {
  return identify({ documents, known: {}, isComplete: false, now: clock.now() }, ids).resources
}

export function manifestDiagnostics(
  { files, faults }: FolderState,
  locations: Locations,
  dir: string,
): readonly Diagnostic[] {
  if (files.size === 0) return [{ file: dir, message: 'the folder contains no *.yaml', isWarning: false }]
  return faults.map((fault) => ({
    ...locations.ofFault(fault),
    ...(fault.place !== undefined && { resource: fault.place }),
    ...(fault.path !== undefined && { subject: fault.path }),
    message: fault.message,
    isWarning: false,
  }))
}

/** The field of each reason. Other reasons refer to the whole resource. */
const FIELDS: Partial<Record<ConditionReason, string>> = {
  TenantNotFound: '/spec/tenantRef/name',
  TenantNotReady: '/spec/tenantRef/name',
  CodeTaken: '/spec/code',
  KeyTaken: '/spec/secretName',
  TooManyApiKeys: '/spec/tenantRef/name',
  TooManyTemplates: '/spec/tenantRef/name',
  PrefixTaken: '/spec/storage/prefix',
  PlanNotFound: '/spec/planRef/name',
  PlanNotReady: '/spec/planRef/name',
  InvalidLimits: '/spec',
  InvalidEffectiveLimits: '/spec/overrides',
  SecretMissing: '/spec/webhookSecretRef',
  AssetsTooLarge: '/spec/assets',
  EngineNotInPlan: '/spec/html',
  JavaScriptNotInPlan: '/spec/html/javascriptEnabled',
}

export function conditionDiagnostic(
  resource: Resource,
  { reason, message }: { reason: ConditionReason; message: string },
  locations: Locations,
): Diagnostic {
  const label = labelOf(resource)
  return {
    ...locations.ofField(label, FIELDS[reason] ?? ''),
    resource: label,
    subject: reason,
    message,
    isWarning: false,
  }
}
