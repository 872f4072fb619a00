/** Builds the next snapshot. The base snapshot stays unchanged for those who hold it. */

import type { KeyHash, Template, TemplateCode, TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Kind, ValueReader } from './value.ts'

export const EMPTY: DirectorySnapshot = { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() }

interface SnapshotBuilder {
  /** Null removes the setting. A damaged value is reported, and the last good setting stays in force. */
  set(kind: Kind, name: string, text: string | null): void
  build(revision: number): DirectorySnapshot
}

interface SnapshotBuilderOptions {
  readonly base: DirectorySnapshot
  /** The source of settings whose new values are damaged. */
  readonly lastGood: DirectorySnapshot
  readonly read: ValueReader
  readonly onDamage: (kind: Kind, name: string) => void
}

export function openSnapshotBuilder({ base, lastGood, read, onDamage }: SnapshotBuilderOptions): SnapshotBuilder {
  const tenants = changing(base.tenants)
  const keys = changing(base.keys)
  // Templates of the tenants that have changed ones, in any order.
  const changed = new Map<TenantId, Map<TemplateCode, Template>>()

  const orLastGood = <Setting>(
    setting: Setting | undefined,
    good: Setting | undefined,
    field: readonly [Kind, string],
  ) => {
    if (setting === undefined) onDamage(...field)
    return setting ?? good
  }
  // Branded without a check: an invalid name belongs to nobody, and is never looked up.
  const setters: Record<Kind, (name: string, text: string | null) => void> = {
    tenants(name, text) {
      const id = name as TenantId
      const good = lastGood.tenants.get(id)
      put(tenants.own(), id, text === null ? undefined : orLastGood(read.tenant(name, text), good, ['tenants', name]))
    },
    keys(name, text) {
      const hash = name as KeyHash
      const good = lastGood.keys.get(hash)
      put(keys.own(), hash, text === null ? undefined : orLastGood(read.key(name, text), good, ['keys', name]))
    },
    templates(name, text) {
      const [tenant, code] = name.split('/', 2) as [TenantId, TemplateCode]
      const good = lastGood.templates.get(tenant)?.get(code)
      const codes = changed.get(tenant) ?? new Map(base.templates.get(tenant))
      changed.set(tenant, codes)
      put(codes, code, text === null ? undefined : orLastGood(read.template(name, text), good, ['templates', name]))
    },
  }
  return {
    set: (kind, name, text) => setters[kind](name, text),
    build: (revision) => ({
      revision,
      tenants: tenants.now(),
      keys: keys.now(),
      templates: changed.size === 0 ? base.templates : withTemplates(base.templates, changed),
    }),
  }
}

function withTemplates(
  before: DirectorySnapshot['templates'],
  changed: ReadonlyMap<TenantId, ReadonlyMap<TemplateCode, Template>>,
): DirectorySnapshot['templates'] {
  const all = new Map(before)
  for (const [tenant, codes] of changed) {
    const sorted = [...codes].sort(([one], [other]) => (one < other ? -1 : 1))
    put(all, tenant, sorted.length === 0 ? undefined : new Map(sorted))
  }
  return all
}

function put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

/** A map that is copied at its first change. */
function changing<Key, Value>(base: ReadonlyMap<Key, Value>) {
  let own: Map<Key, Value> | undefined
  return {
    now: (): ReadonlyMap<Key, Value> => own ?? base,
    own(): Map<Key, Value> {
      own ??= new Map(base)
      return own
    },
  }
}
