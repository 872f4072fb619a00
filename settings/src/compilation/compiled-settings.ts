/** Snapshots of the settings in force. Each shares the unchanged parts with the one before. */

import type { ApiKey, KeyHash, Template, TemplateCode, Tenant, TenantId } from '@platen/contract/domain/tenant.ts'
import { PersistentMap } from '@platen/lib/persistent-map.ts'

/** Undefined when there were, or are, none. */
export interface Replacement<Settings> {
  readonly before: Settings | undefined
  readonly after: Settings | undefined
}

interface Replacements {
  readonly tenants: readonly Replacement<Tenant>[]
  readonly keys: readonly Replacement<readonly ApiKey[]>[]
  readonly templates: readonly Replacement<Template>[]
}

/** The maps of a `DirectorySnapshot`. */
export interface CompiledSettings {
  readonly tenants: PersistentMap<TenantId, Tenant>
  readonly keys: PersistentMap<KeyHash, ApiKey>
  readonly templates: PersistentMap<TenantId, ReadonlyMap<TemplateCode, Template>>
}

export const NO_SETTINGS: CompiledSettings = {
  tenants: PersistentMap.of(),
  keys: PersistentMap.of(),
  templates: PersistentMap.of(),
}

/** In one call, one resource may take a name that another gives up. */
export function applyReplacements(
  content: CompiledSettings,
  { tenants, keys, templates }: Replacements,
): CompiledSettings {
  return {
    tenants: content.tenants.with(changesBy(tenants, ({ id }) => id)),
    keys: content.keys.with(changesBy(keys.flatMap(keyReplacementsOf), ({ hash }) => hash)),
    templates: content.templates.with(changesOfTemplates(content.templates, templates)),
  }
}

function changesBy<Name, Settings>(
  replacements: readonly Replacement<Settings>[],
  nameOf: (settings: Settings) => Name,
): readonly (readonly [Name, Settings | undefined])[] {
  const gone = replacements.flatMap(({ before }) =>
    before === undefined ? [] : [[nameOf(before), undefined] as const],
  )
  const come = replacements.flatMap(({ after }) => (after === undefined ? [] : [[nameOf(after), after] as const]))
  return [...gone, ...come]
}

function keyReplacementsOf({
  before = [],
  after = [],
}: Replacement<readonly ApiKey[]>): readonly Replacement<ApiKey>[] {
  return [
    ...before.map((key) => ({ before: key, after: undefined })),
    ...after.map((key) => ({ before: undefined, after: key })),
  ]
}

function* changesOfTemplates(content: CompiledSettings['templates'], replacements: Replacements['templates']) {
  const gone = replacements.flatMap(({ before }) =>
    before === undefined ? [] : [{ tenant: before.tenant, code: before.code, template: undefined }],
  )
  const come = replacements.flatMap(({ after }) =>
    after === undefined ? [] : [{ tenant: after.tenant, code: after.code, template: after }],
  )
  for (const [tenant, own] of Map.groupBy([...gone, ...come], ({ tenant }) => tenant)) {
    const codes = new Map<TemplateCode, Template | undefined>([
      ...(content.get(tenant) ?? []),
      ...own.map(({ code, template }) => [code, template] as const),
    ])
    const left = [...codes].flatMap(([code, template]) => (template === undefined ? [] : [[code, template] as const]))
    left.sort(([one], [other]) => (one < other ? -1 : 1))
    yield [tenant, left.length === 0 ? undefined : new Map(left)] as const
  }
}
