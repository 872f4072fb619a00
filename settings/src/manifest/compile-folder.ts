/** Compiles the documents of a folder as the operator compiles those of a cluster, and runs the publish checks of their templates. */

import { NAMESPACE_DEFAULT, type Resource, type TemplateResource, type Uid } from '@platen/contract/domain/resource.ts'
import type { CheckRequest } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS, type TemplateDigest } from '@platen/contract/domain/tenant.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openCompilation } from '../compilation/compilation.ts'
import { type Compiled, compiledBy } from '../compilation/compile.ts'
import type { InForceBefore } from '../compilation/state.ts'
import type { FoundKeys } from '../compile/api-key.ts'
import { byAge, type CompileResult } from '../compile/compile-result.ts'
import type { ConfigMaps } from '../compile/source.ts'
import { type CheckFaults, digestSource, type PreparedSource } from '../compile/template.ts'
import type { AccountRefusals } from '../compile/tenant/account.ts'
import type { FoundSecrets, Reseal } from '../compile/tenant.ts'
import { type StoredSources, sourcesOf } from '../publish/store-source.ts'
import type { FolderChecks, WantedCheck } from './folder-checks.ts'
import type { ManifestDocument } from './text/parse.ts'

/** Of manifests, templates and, unless a tenant names another, PDFs. */
export const SERVICE_BUCKET = 'platen'

interface FolderInput {
  readonly documents: readonly ManifestDocument[]
  /** With their identities. */
  readonly resources: readonly Resource[]
  readonly foundKeys: FoundKeys
  readonly webhookSecrets: FoundSecrets
  readonly accountRefusals?: AccountRefusals
  /** Absent = everything is sealed with one key. */
  readonly reseal?: Reseal
  /** For PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  readonly previous: InForceBefore
  readonly known: CheckFaults
  readonly checks: Pick<FolderChecks, 'answer'>
  readonly checkWaitMs: number
  readonly clock: Pick<Clock, 'now'>
}

interface CompiledFolder {
  readonly compiled: Compiled
  /** Of the templates in force, but not of last good versions of broken templates. To be stored before publishing. */
  readonly sources: StoredSources
  /** All known answers about the folder. */
  readonly answers: CheckFaults
  /** To remember. The others are not final: another try may succeed. */
  readonly finalAnswers: CheckFaults
  readonly isWaiting: boolean
}

/** Uses the checks answered in time. Templates without a tenant are not checked. Rejects only when `signal` aborts. */
export async function compileFolder(input: FolderInput, signal: AbortSignal): Promise<CompiledFolder> {
  const { documents, resources, previous, serviceBucket, clock } = input
  const configMaps = configMapsOf(documents)
  const { prepared, readable } = readSources(resources, configMaps)
  const here = new Set(readable.map(({ checkKey }) => checkKey))
  const answers = new Map([...input.known].filter(([key]) => here.has(key)))
  const facts = { ...input, configMaps, prepared, checks: answers }
  const compilation = openCompilation({ facts, defaults: DEFAULT_LIMITS, serviceBucket, previous })
  const update = (changed: readonly Resource[]) =>
    compilation.update(
      changed.map((resource) => ({ uid: resource.metadata.uid, resource })),
      clock.now(),
    )
  update(resources)
  const resultOf = ({ template }: ReadTemplate) => compilation.results.templates.get(template.metadata.uid)
  const wanted = new Map(
    readable.flatMap((each): readonly (readonly [string, WantedCheck])[] => {
      const { checkKey, template, request } = each
      const result = resultOf(each)
      return result && isUnchecked(result) ? [[checkKey, { tenant: template.spec.tenantRef.name, request }]] : []
    }),
  )
  const found = await input.checks.answer(wanted, input.checkWaitMs, signal)
  for (const [key, { faults }] of found) answers.set(key, faults)
  update(readable.flatMap(({ checkKey, template }) => (found.has(checkKey) ? [template] : [])))
  const inForce = readable.filter((each) => resultOf(each)?.settings?.digest === each.digest)
  const stored = inForce.map((each) => sourcesOf(each.template, each))
  return {
    compiled: compiledBy(compilation),
    sources: {
      sources: new Map(stored.flatMap(({ sources }) => [...sources])),
      assets: new Map(stored.flatMap(({ assets }) => [...assets])),
    },
    answers,
    finalAnswers: new Map([...answers].filter(([key]) => found.get(key)?.isFinal !== false)),
    isWaiting: found.size < wanted.size,
  }
}

interface ReadTemplate {
  readonly template: TemplateResource
  readonly digest: TemplateDigest
  readonly checkKey: string
  readonly request: CheckRequest
}

/** The oldest first: they are checked in this order. */
function readSources(resources: readonly Resource[], configMaps: ConfigMaps) {
  const prepared = new Map<Uid, PreparedSource>()
  const readable: ReadTemplate[] = []
  for (const template of resources.toSorted(byAge)) {
    if (template.kind !== 'Template') continue
    const { digested, request } = digestSource(template, configMaps)
    const { uid, generation } = template.metadata
    prepared.set(uid, { ...digested, generation })
    if ('digest' in digested && request !== undefined) readable.push({ template, ...digested, request })
  }
  return { prepared, readable }
}

export function isUnchecked({ conditions }: Pick<CompileResult<Resource, unknown>, 'conditions'>): boolean {
  return conditions.some(({ reason }) => reason === 'NotChecked')
}

/** By `namespace/name`. */
export function configMapsOf(documents: readonly ManifestDocument[]): ConfigMaps {
  const configMaps = new Map<string, NonNullable<ReturnType<ConfigMaps['get']>>>()
  for (const { written } of documents) {
    if (written.kind !== 'ConfigMap') continue
    const { name, namespace = NAMESPACE_DEFAULT } = written.metadata
    const { data, binaryData } = written
    configMaps.set(`${namespace}/${name}`, { ...(data && { data }), ...(binaryData && { binaryData }) })
  }
  return configMaps
}
