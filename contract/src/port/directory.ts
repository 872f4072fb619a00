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

/** How far a copy of settings that stand elsewhere can be relied on. */
export interface DirectoryState {
  /** Has it settings? Once it has, it keeps the last good ones, whatever becomes of where they stand. */
  readonly isReady: boolean
  readonly isConnected: boolean
  /** What is in the way of having the newest, in words. */
  readonly reason?: string
  /** That of `current`. */
  readonly revision: number
  /** How long ago it was last known to be the newest there is; since the opening where it never was. */
  readonly ageMs: number
  /** Values met since the opening that were not of their shape, and not taken. */
  readonly damaged: number
}

/** The writing side, for whoever compiles resources. */
export interface DirectoryPublisher {
  /** Replaces all settings at once. Resolves when `current` gives them to every later call of this process. Refuses a revision that is not newer. */
  publish(snapshot: DirectorySnapshot, signal: AbortSignal): Promise<void>
}
