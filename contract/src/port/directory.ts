import type { ApiKey, KeyHash, Template, TemplateCode, Tenant, TenantId } from '../domain/tenant.ts'

/** All tenants, keys and templates at one moment. Immutable: a change makes another snapshot. */
export interface DirectorySnapshot {
  /** Grows with every change. */
  readonly revision: number
  readonly tenants: ReadonlyMap<TenantId, Tenant>
  readonly keys: ReadonlyMap<KeyHash, ApiKey>
  /** Published templates, sorted by code. */
  readonly templates: ReadonlyMap<TenantId, ReadonlyMap<TemplateCode, Template>>
}

export type DirectorySettings = Omit<DirectorySnapshot, 'revision'>

/** The settings in force, in memory. Reading never waits and never fails. */
export interface Directory {
  current(): DirectorySnapshot
}

/** How current a copy of settings from another store is. */
export interface DirectoryState {
  /** Whether it has settings. It then keeps the last good ones, even if the store loses them. */
  readonly isReady: boolean
  readonly isConnected: boolean
  /** Why it may be out of date, in words. */
  readonly reason?: string
  /** Of `current`. */
  readonly revision: number
  /** Since it was last known to be current; since the opening if it never was. */
  readonly ageMs: number
  /** Values with a wrong shape that were ignored since the opening. */
  readonly damaged: number
}

/** For the process that compiles resources. */
export interface DirectoryPublisher {
  /** Replaces all settings. Resolves when every later `current` in this process returns them. Refuses a revision that is not newer. */
  publish(snapshot: DirectorySnapshot, signal: AbortSignal): Promise<void>
  /** 0 = nothing is published. */
  revision(): number
  /** Above all known revisions. */
  nextRevision(): number
  /** Whether the published revision has these settings. */
  isPublished(settings: DirectorySettings): boolean
  /** Publishes the last revision again if it was lost. Resolves to whether it was. Throws as `publish` does. */
  repair(signal: AbortSignal): Promise<boolean>
}
