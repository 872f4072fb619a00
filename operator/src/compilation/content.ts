/** The settings in force, as one snapshot after the other. Of a kind in which nothing changed the next has the same map. */
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { ApiKey, KeyHash, Template, TemplateCode, Tenant, TenantId } from '@platen/contract/tenant.ts'

/** Settings before and after; absent = there were, or are, none. */
export interface Replacement<Settings> {
  readonly before: Settings | undefined
  readonly after: Settings | undefined
}

export interface Replacements {
  readonly tenants: readonly Replacement<Tenant>[]
  readonly keys: readonly Replacement<readonly ApiKey[]>[]
  readonly templates: readonly Replacement<Template>[]
}

export type Content = Omit<DirectorySnapshot, 'revision'>

export const NO_CONTENT: Content = { tenants: new Map(), keys: new Map(), templates: new Map() }

/** The content after replacements. What one resource gives up, another may take up in the same breath. */
export function replaceIn(content: Content, { tenants, keys, templates }: Replacements): Content {
  return {
    tenants: replaced(content.tenants, tenants, ({ id }) => id),
    keys: replacedKeys(content.keys, keys),
    templates: replacedTemplates(content.templates, templates),
  }
}

function replaced<Key, Value>(
  map: ReadonlyMap<Key, Value>,
  replacements: readonly Replacement<Value>[],
  keyOf: (value: Value) => Key,
): ReadonlyMap<Key, Value> {
  if (replacements.length === 0) return map
  const next = new Map(map)
  for (const { before } of replacements) if (before !== undefined) next.delete(keyOf(before))
  for (const { after } of replacements) if (after !== undefined) next.set(keyOf(after), after)
  return next
}

function replacedKeys(map: Content['keys'], replacements: Replacements['keys']): Content['keys'] {
  const flat = replacements.flatMap(({ before = [], after = [] }) => [
    ...before.map((key) => ({ before: key, after: undefined })),
    ...after.map((key) => ({ before: undefined, after: key })),
  ])
  return replaced<KeyHash, ApiKey>(map, flat, ({ hash }) => hash)
}

function replacedTemplates(map: Content['templates'], replacements: Replacements['templates']): Content['templates'] {
  if (replacements.length === 0) return map
  const tenants = new Set(
    replacements.flatMap(({ before, after }) => [before, after].flatMap((each) => each?.tenant ?? [])),
  )
  const next = new Map(map)
  for (const tenant of tenants) {
    const own = replacements.map(({ before, after }) => ({
      before: before?.tenant === tenant ? before : undefined,
      after: after?.tenant === tenant ? after : undefined,
    }))
    const codes = replaced<TemplateCode, Template>(next.get(tenant) ?? new Map(), own, ({ code }) => code)
    const sorted = [...codes].sort(([one], [other]) => (one < other ? -1 : 1))
    if (sorted.length === 0) next.delete(tenant)
    else next.set(tenant, new Map(sorted))
  }
  return next satisfies ReadonlyMap<TenantId, ReadonlyMap<TemplateCode, Template>>
}
