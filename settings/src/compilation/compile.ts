/**
 * Compiles resources, as people declare them, to the settings that API and renderers enforce, and to conditions. No content of a resource
 * makes it throw: a fault is reported in the conditions of its resource, affects no other, and leaves its last good settings in force.
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
  /** Each kind and place once, in any order. */
  readonly resources: readonly Resource[]
  readonly now: Instant
  /** The result of the last call, or what a restart left of it; absent at the very first. */
  readonly previous?: InForceBefore
}

export interface Compiled {
  readonly snapshot: DirectorySettings
  readonly plans: CompileResults<PlanResource, Limits>
  readonly tenants: CompileResults<TenantResource, Tenant>
  readonly templates: CompileResults<TemplateResource, Template>
  readonly apiKeys: CompileResults<ApiKeyResource, readonly ApiKey[]>
}

export function compile({ resources, now, previous = NO_PREVIOUS, ...given }: CompileInput): Compiled {
  const { defaults, serviceBucket, ...facts } = given
  const compilation = openCompilation({ defaults, serviceBucket, facts, previous })
  compilation.update(
    resources.map((resource) => ({ uid: resource.metadata.uid, resource })),
    now,
  )
  return compiledBy(compilation)
}

export function compiledBy({ results, settings }: Compilation): Compiled {
  return { ...results, snapshot: settings() }
}

/** Plans first, then tenants, templates and keys. */
export function resultsOf({
  plans,
  tenants,
  templates,
  apiKeys,
}: Omit<Compiled, 'snapshot'>): readonly CompileResult<Resource, unknown>[] {
  return [...plans.values(), ...tenants.values(), ...templates.values(), ...apiKeys.values()]
}

/** For the very first compile. */
export const NO_PREVIOUS: InForceBefore = {
  plans: new Map(),
  tenants: new Map(),
  templates: new Map(),
  apiKeys: new Map(),
}
