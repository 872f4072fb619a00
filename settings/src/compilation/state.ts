/** The memory of a compilation. */

import type {
  ApiKeyResource,
  PlanResource,
  TemplateResource,
  TenantResource,
  Uid,
} from '@platen/contract/domain/resource.ts'
import type { ApiKey, Limits, Template, Tenant } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { type FoundKeys, requestedHashes } from '../compile/api-key.ts'
import type { InForce } from '../compile/compile-result.ts'
import type { ConfigMaps } from '../compile/source.ts'
import { type CheckFaults, type PreparedSource, qualifiedCodeOf, requestedCodeOf } from '../compile/template.ts'
import type { AccountRefusals } from '../compile/tenant/account.ts'
import { type FoundSecrets, folderOf, foldersAbove, type Reseal, storageOf } from '../compile/tenant.ts'
import { type CompiledKind, openCompiledKind } from './compiled-kind.ts'
import { openRelations, type Relations } from './relation.ts'

/** Facts besides the resources. The maps may change; the caller then reports the resources concerned as changes. */
export interface Facts {
  readonly configMaps: ConfigMaps
  /** Sources that were read before. */
  readonly prepared?: ReadonlyMap<Uid, PreparedSource>
  readonly foundKeys: FoundKeys
  /** A tenant that is missing here keeps its secrets. */
  readonly webhookSecrets: FoundSecrets
  readonly accountRefusals?: AccountRefusals
  /** Absent = everything is sealed with one key. */
  readonly reseal?: Reseal
  /** Whether every process that signs webhooks can open what is sealed with the present key. Absent = it can. */
  readonly areSecretsReadable?: () => boolean
  /** The answers to `checkRequestsOf` these templates. */
  readonly checks: CheckFaults
}

/** Before the first update. */
export interface InForceBefore {
  readonly plans: InForce<Limits>
  readonly tenants: InForce<Tenant>
  readonly templates: InForce<Template>
  readonly apiKeys: InForce<readonly ApiKey[]>
}

export interface CompilationOptions {
  readonly facts: Facts
  /** Apply where a plan does not set them. */
  readonly defaults: Limits
  /** For PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  readonly previous: InForceBefore
}

export interface CompilationState extends Omit<CompilationOptions, 'previous'> {
  readonly relations: Relations
  readonly plans: CompiledKind<PlanResource, Limits>
  readonly tenants: CompiledKind<TenantResource, Tenant>
  readonly templates: CompiledKind<TemplateResource, Template>
  readonly apiKeys: CompiledKind<ApiKeyResource, readonly ApiKey[]>
  /** Templates and ApiKeys within the limits of their tenant, by kind and tenant name. */
  readonly allowed: Map<string, ReadonlySet<Uid>>
  /** When the settings of a resource change without a change of the resource. */
  readonly dueAt: Map<Uid, Instant>
}

export function openCompilationState({ previous, ...options }: CompilationOptions): CompilationState {
  const { facts, serviceBucket } = options
  return {
    ...options,
    relations: openRelations(),
    allowed: new Map(),
    dueAt: new Map(),
    plans: openCompiledKind({ previous: previous.plans, exclusiveNamesOf: () => [] }),
    tenants: openCompiledKind({
      previous: previous.tenants,
      exclusiveNamesOf: (asked, held) => [
        `account ${asked.metadata.account}`,
        ...[storageOf(asked, serviceBucket), ...(held ? [held.storage] : [])].map(folderOf),
      ],
      ancestorsOf: foldersAbove,
    }),
    templates: openCompiledKind({
      previous: previous.templates,
      exclusiveNamesOf: (asked, held) => [requestedCodeOf(asked), ...(held ? [qualifiedCodeOf(held)] : [])],
    }),
    apiKeys: openCompiledKind({
      previous: previous.apiKeys,
      exclusiveNamesOf: (asked, held = []) => [
        ...requestedHashes(asked, facts.foundKeys),
        ...held.map(({ hash }) => hash),
      ],
    }),
  }
}
