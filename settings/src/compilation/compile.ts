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
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { CompileResult, CompileResults } from '../compile/compile-result.ts'
import { canonicalJson } from '../compile/digest.ts'
import { type Compilation, openCompilation } from './compilation.ts'
import type { CompilationOptions, Facts, InForceBefore } from './state.ts'

export interface CompileInput extends Facts, Omit<CompilationOptions, 'facts' | 'previous'> {
  /** All resources, each kind and place once, in any order. */
  readonly resources: readonly Resource[]
  readonly now: Instant
  /** The result of the last call, or what a restart left of it; absent for the very first. */
  readonly previous?: Previous
}

/** The part of the past that compiling needs. */
export interface Previous extends InForceBefore {
  readonly snapshot: DirectorySnapshot
}

export interface Compiled {
  /** Has the revision of `previous` if nothing changed, else the next one. */
  readonly snapshot: DirectorySnapshot
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
  return compiledBy(compilation, previous)
}

/** What a compilation of all resources has come to. */
export function compiledBy({ results, settings }: Compilation, { snapshot }: Previous): Compiled {
  return { ...results, snapshot: nextSnapshot(settings(), snapshot) }
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
export const NO_PREVIOUS: Previous = {
  snapshot: { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() },
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
