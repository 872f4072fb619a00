/** What a compilation remembers: the resources, and what each came to. */
import type { Instant } from '@platen/contract/brand.ts'
import type { ApiKeyResource, PlanResource, TemplateResource, TenantResource, Uid } from '@platen/contract/resource.ts'
import type { ApiKey, Limits, Template, Tenant } from '@platen/contract/tenant.ts'
import { hashesAskedFor } from '@platen/settings/compile/api-key.ts'
import type { CompileInput, Previous } from '@platen/settings/compile/compile.ts'
import { placeAskedFor, placeOf } from '@platen/settings/compile/template.ts'
import { folderOf, foldersAbove, storageOf } from '@platen/settings/compile/tenant.ts'
import { openRelations, type Relations } from './relation.ts'
import { openSettled, type Settled } from './settled.ts'

/** What is known beside the resources. The maps may change; whose entries did is then told. */
export type Facts = Pick<CompileInput, 'configMaps' | 'foundKeys' | 'webhookSecrets' | 'checks'>

export interface CompilationOptions extends Pick<CompileInput, 'defaults' | 'serviceBucket'> {
  readonly facts: Facts
  /** What was in force before the first update. */
  readonly previous: Pick<Previous, 'plans' | 'tenants' | 'templates' | 'apiKeys'>
}

export interface State extends Omit<CompilationOptions, 'previous'> {
  readonly relations: Relations
  readonly plans: Settled<PlanResource, Limits>
  readonly tenants: Settled<TenantResource, Tenant>
  readonly templates: Settled<TemplateResource, Template>
  readonly apiKeys: Settled<ApiKeyResource, readonly ApiKey[]>
  /** Which ApiKeys have a place among those of a tenant, by the name of the tenant. */
  readonly places: Map<string, ReadonlySet<Uid>>
  /** When the settings of a resource change by themselves. */
  readonly dueAt: Map<Uid, Instant>
}

/** Nothing is compiled yet. */
export function openState({ previous, ...options }: CompilationOptions): State {
  const { facts, serviceBucket } = options
  return {
    ...options,
    relations: openRelations(),
    places: new Map(),
    dueAt: new Map(),
    plans: openSettled({ previous: previous.plans, claimsOf: () => [] }),
    tenants: openSettled({
      previous: previous.tenants,
      claimsOf: (asked, held) => [storageOf(asked, serviceBucket), ...(held ? [held.storage] : [])].map(folderOf),
      wholesOf: foldersAbove,
    }),
    templates: openSettled({
      previous: previous.templates,
      claimsOf: (asked, held) => [placeAskedFor(asked), ...(held ? [placeOf(held)] : [])],
    }),
    apiKeys: openSettled({
      previous: previous.apiKeys,
      claimsOf: (asked, held = []) => [...hashesAskedFor(asked, facts.foundKeys), ...held.map(({ hash }) => hash)],
    }),
  }
}
