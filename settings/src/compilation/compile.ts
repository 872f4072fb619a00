/**
 * Compiles resources to settings and conditions: from what people declare to what API and renderers enforce. The same function serves a
 * cluster and a folder. Pure and total: a fault of a resource is reported in its conditions, affects no other resource, and leaves the last
 * good settings of that resource in force.
 */

import type {
  ApiKeyResource,
  PlanResource,
  Resource,
  TemplateResource,
  TenantResource,
  Uid,
} from '@platen/contract/domain/resource.ts'
import type {
  ApiKey,
  AssetDigest,
  KeyHash,
  Limits,
  Template,
  TemplateCode,
  TemplateDigest,
  TemplateSource,
  Tenant,
  TenantId,
} from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { type ApiKeyResult, compileApiKeys, type FoundKeys, withinLimit } from '../compile/api-key.ts'
import {
  byAge,
  type CompileResult,
  type CompileResults,
  type InForce,
  resultsByUid,
} from '../compile/compile-result.ts'
import { canonicalJson } from '../compile/digest.ts'
import type { ConfigMaps } from '../compile/source.ts'
import { type CheckFaults, compileTemplates, type PreparedSource, type TemplateResult } from '../compile/template.ts'
import type { AccountRefusals } from '../compile/tenant/account.ts'
import { compilePlans, compileTenants, type FoundSecrets, type Reseal, type TenantResult } from '../compile/tenant.ts'

export interface CompileInput {
  /** All resources, each kind and place once, in any order. */
  readonly resources: readonly Resource[]
  readonly configMaps: ConfigMaps
  /** Sources that were read before; absent: none. */
  readonly prepared?: ReadonlyMap<Uid, PreparedSource>
  readonly foundKeys: FoundKeys
  /** A tenant that is missing here keeps its secrets. */
  readonly webhookSecrets: FoundSecrets
  /** Absent: none. */
  readonly accountRefusals?: AccountRefusals
  /** Absent: everything is sealed with one key. */
  readonly reseal?: Reseal
  /** Whether every process that signs webhooks can open what is sealed with the present key. Absent: it can. */
  readonly areSecretsReadable?: () => boolean
  readonly now: Instant
  /** The answers to `checkRequestsOf` these templates. */
  readonly checks: CheckFaults
  /** Limits that apply where a plan does not set them. */
  readonly defaults: Limits
  /** Bucket for PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  /** The result of the last call, or what a restart left of it; absent for the very first. */
  readonly previous?: Previous
}

/** The part of the past that compiling needs. */
export interface Previous {
  readonly snapshot: DirectorySnapshot
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
  readonly plans: InForce<Limits>
  readonly tenants: InForce<Tenant>
  readonly templates: InForce<Template>
  readonly apiKeys: InForce<readonly ApiKey[]>
}

export interface Compiled {
  /** Has the revision of `previous` if nothing changed, else the next one. */
  readonly snapshot: DirectorySnapshot
  /**
   * The source of every template in the snapshot, except those from before a restart. They must be in the artifact store before the
   * snapshot is published.
   */
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  /** The assets of these sources. They must be in the store, too. */
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
  readonly plans: CompileResults<PlanResource, Limits>
  readonly tenants: CompileResults<TenantResource, Tenant>
  readonly templates: CompileResults<TemplateResource, Template>
  readonly apiKeys: CompileResults<ApiKeyResource, readonly ApiKey[]>
}

/** Compiles all resources. No content of a resource makes it throw. */
export function compile(input: CompileInput): Compiled {
  const previous = input.previous ?? NO_PREVIOUS
  const { plans, tenants, templates, apiKeys } = sortedByKind(input.resources)
  const named = new Set(tenants.map(({ spec }) => spec.planRef.name))
  const isInUse = (plan: string) => named.has(plan)
  const planResults = compilePlans({ plans, isInUse, defaults: input.defaults, previous: previous.plans })
  const tenantResults = compileTenants({ ...input, tenants, plans: planResults, previous: previous.tenants })
  const tenantsByName = new Map(tenantResults.map((tenant) => [tenant.resource.metadata.name, tenant]))
  const allowed = [
    ...allWithinLimit(tenantResults, 'Template', templates),
    ...allWithinLimit(tenantResults, 'ApiKey', apiKeys),
  ]
  const allowedUids = new Set(allowed)
  const isWithinLimit = ({ metadata }: Resource) => allowedUids.has(metadata.uid)
  const compiledTemplates = compileTemplates({
    ...input,
    isWithinLimit,
    templates,
    tenants: tenantsByName,
    previous: previous.templates,
    previousSources: previous.sources,
    previousAssets: previous.assets,
  })
  const keyResults = compileApiKeys({
    ...input,
    apiKeys,
    tenants: tenantsByName,
    isWithinLimit,
    previous: previous.apiKeys,
  })
  const content = {
    tenants: tenantMap(tenantResults),
    keys: keyMap(keyResults),
    templates: templateMap(compiledTemplates.results),
  }
  return {
    snapshot: nextSnapshot(content, previous.snapshot),
    sources: compiledTemplates.sources,
    assets: compiledTemplates.assets,
    plans: resultsByUid(planResults),
    tenants: resultsByUid(tenantResults),
    templates: resultsByUid(compiledTemplates.results),
    apiKeys: resultsByUid(keyResults),
  }
}

/** The results of all resources: plans first, then tenants, templates and keys. */
export function resultsOf({
  plans,
  tenants,
  templates,
  apiKeys,
}: Compiled): readonly CompileResult<Resource, unknown>[] {
  return [...plans.values(), ...tenants.values(), ...templates.values(), ...apiKeys.values()]
}

/** The previous state at the very first. */
export const NO_PREVIOUS: Previous = {
  snapshot: { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() },
  sources: new Map(),
  assets: new Map(),
  plans: new Map(),
  tenants: new Map(),
  templates: new Map(),
  apiKeys: new Map(),
}

function nextSnapshot(content: SnapshotContent, { revision, ...before }: DirectorySnapshot): DirectorySnapshot {
  const isSame = revision > 0 && canonicalText(content) === canonicalText(before)
  return { revision: isSame ? revision : revision + 1, ...content }
}

type SnapshotContent = Omit<DirectorySnapshot, 'revision'>

function canonicalText({ tenants, keys, templates }: SnapshotContent): string {
  const listed = [...templates.values()].flatMap((codes) => [...codes.values()])
  return canonicalJson([[...tenants.values()], [...keys.values()], listed])
}

function sortedByKind(resources: readonly Resource[]) {
  const sorted = [...resources].sort(byAge)
  return {
    plans: sorted.filter((resource) => resource.kind === 'Plan'),
    tenants: sorted.filter((resource) => resource.kind === 'Tenant'),
    templates: sorted.filter((resource) => resource.kind === 'Template'),
    apiKeys: sorted.filter((resource) => resource.kind === 'ApiKey'),
  }
}

function allWithinLimit(
  tenants: readonly TenantResult[],
  kind: 'ApiKey' | 'Template',
  resources: readonly (ApiKeyResource | TemplateResource)[],
): readonly Uid[] {
  const byTenant = Map.groupBy(resources, ({ spec }) => spec.tenantRef.name)
  return tenants.flatMap((tenant) => [...withinLimit(tenant, kind, byTenant.get(tenant.resource.metadata.name) ?? [])])
}

function tenantMap(outcomes: readonly TenantResult[]): ReadonlyMap<TenantId, Tenant> {
  return new Map(inForce(outcomes).map((tenant) => [tenant.id, tenant]))
}

function keyMap(outcomes: readonly ApiKeyResult[]): ReadonlyMap<KeyHash, ApiKey> {
  return new Map(inForce(outcomes).flatMap((keys) => keys.map((key) => [key.hash, key] as const)))
}

function templateMap(outcomes: readonly TemplateResult[]): DirectorySnapshot['templates'] {
  const sorted = [...inForce(outcomes)].sort((one, other) => (one.code < other.code ? -1 : 1))
  const templates = new Map<TenantId, Map<TemplateCode, Template>>()
  for (const template of sorted) {
    const codes = templates.get(template.tenant) ?? new Map<TemplateCode, Template>()
    templates.set(template.tenant, codes.set(template.code, template))
  }
  return templates
}

function inForce<Settings>(outcomes: readonly CompileResult<Resource, Settings>[]): readonly Settings[] {
  return outcomes.flatMap(({ settings }) => (settings === undefined ? [] : [settings]))
}
