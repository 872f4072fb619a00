/**
 * Compiles resources to settings and conditions: from what people declare to what API and renderers enforce. No content of a resource makes
 * it throw: a fault is reported in the conditions of its resource, affects no other resource, and leaves the last good settings of that
 * resource in force.
 */

import type {
  ApiKeyResource,
  PlanResource,
  Resource,
  TemplateResource,
  TenantResource,
} from '@platen/contract/domain/resource.ts'
import type { ApiKey, Limits, Template, Tenant } from '@platen/contract/domain/tenant.ts'
import type { DirectorySettings } from '@platen/contract/port/directory.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { CompileResult, CompileResults } from '../compile/compile-result.ts'
import { type Compilation, openCompilation } from './compilation.ts'
import type { CompilationOptions, Facts, InForceBefore } from './state.ts'

export interface CompileInput extends Facts, Omit<CompilationOptions, 'facts' | 'previous'> {
  /** All resources, each kind and place once, in any order. */
  readonly resources: readonly Resource[]
  readonly now: Instant
  /** The result of the last call, or what a restart left of it; absent for the very first. */
  readonly previous?: InForceBefore
}

export interface Compiled {
  /** The settings in force. */
  readonly snapshot: DirectorySettings
  readonly plans: CompileResults<PlanResource, Limits>
  readonly tenants: CompileResults<TenantResource, Tenant>
  readonly templates: CompileResults<TemplateResource, Template>
  readonly apiKeys: CompileResults<ApiKeyResource, readonly ApiKey[]>
}

/** Compiles all resources at once. */
export function compile({ resources, now, previous = NO_PREVIOUS, ...given }: CompileInput): Compiled {
  const { defaults, serviceBucket, ...facts } = given
  const compilation = openCompilation({ defaults, serviceBucket, facts, previous })
  compilation.update(
    resources.map((resource) => ({ uid: resource.metadata.uid, resource })),
    now,
  )
  return compiledBy(compilation)
}

/** What a compilation of all resources has come to. */
export function compiledBy({ results, settings }: Compilation): Compiled {
  return { ...results, snapshot: settings() }
}

/** The results of all resources: plans first, then tenants, templates and keys. */
export function resultsOf({
  plans,
  tenants,
  templates,
  apiKeys,
}: Omit<Compiled, 'snapshot'>): readonly CompileResult<Resource, unknown>[] {
  return [...plans.values(), ...tenants.values(), ...templates.values(), ...apiKeys.values()]
}

/** The previous state at the very first. */
export const NO_PREVIOUS: InForceBefore = {
  plans: new Map(),
  tenants: new Map(),
  templates: new Map(),
  apiKeys: new Map(),
}
