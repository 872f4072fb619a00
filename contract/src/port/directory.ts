import type { ApiKey, KeyHash, Template, TemplateCode, Tenant, TenantId } from '../tenant.ts'

/** All tenants, keys and templates at one moment. Immutable: a change is another snapshot. */
export interface DirectorySnapshot {
  /** Grows with every change. */
  readonly revision: number
  readonly tenants: ReadonlyMap<TenantId, Tenant>
  readonly keys: ReadonlyMap<KeyHash, ApiKey>
  /** The published templates of each tenant, by code, in the order of their codes. */
  readonly templates: ReadonlyMap<TenantId, ReadonlyMap<TemplateCode, Template>>
}

/** The settings in force, in memory: reading them never waits and never fails. */
export interface Directory {
  current(): DirectorySnapshot
}

/** The writing side, for whoever compiles resources. */
export interface DirectoryPublisher {
  /** Replaces all settings at once. Resolves when `current` gives them to every later call of this process. Refuses a revision that is not newer. */
  publish(snapshot: DirectorySnapshot, signal: AbortSignal): Promise<void>
}
