/** The memory of a compilation: the resources and their compile results. */

import type {
  ApiKeyResource,
  PlanResource,
  TemplateResource,
  TenantResource,
  Uid,
} from '@platen/contract/domain/resource.ts'
import type { ApiKey, Limits, Template, Tenant } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { requestedHashes } from '../compile/api-key.ts'
import { qualifiedCodeOf, requestedCodeOf } from '../compile/template.ts'
import { folderOf, foldersAbove, storageOf } from '../compile/tenant.ts'
import type { CompileInput, Previous } from './compile.ts'
import { type CompiledKind, openCompiledKind } from './compiled-kind.ts'
import { openRelations, type Relations } from './relation.ts'

/** Facts besides the resources. The maps may change. The caller then reports the resources concerned as changes. */
type Facts = Pick<
  CompileInput,
  | 'configMaps'
  | 'prepared'
  | 'foundKeys'
  | 'webhookSecrets'
  | 'accountRefusals'
  | 'reseal'
  | 'areSecretsReadable'
  | 'checks'
>

export interface CompilationOptions extends Pick<CompileInput, 'defaults' | 'serviceBucket'> {
  readonly facts: Facts
  /** The settings in force before the first update. */
  readonly previous: Pick<Previous, 'plans' | 'tenants' | 'templates' | 'apiKeys'>
}

export interface CompilationState extends Omit<CompilationOptions, 'previous'> {
  readonly relations: Relations
  readonly plans: CompiledKind<PlanResource, Limits>
  readonly tenants: CompiledKind<TenantResource, Tenant>
  readonly templates: CompiledKind<TemplateResource, Template>
  readonly apiKeys: CompiledKind<ApiKeyResource, readonly ApiKey[]>
  /** The templates and ApiKeys within the limits of their tenant, by kind and name of the tenant. */
  readonly allowed: Map<string, ReadonlySet<Uid>>
  /** When the settings of a resource change without a change of the resource. */
  readonly dueAt: Map<Uid, Instant>
}

/** Opens an empty state. */
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
