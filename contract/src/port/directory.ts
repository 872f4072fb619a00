import type { ApiKey, KeyHash, Template, TemplateCode, Tenant, TenantId } from '../domain/tenant.ts'

/** All tenants, keys and templates at one moment. Immutable: a change makes another snapshot. */
export interface DirectorySnapshot {
  /** Grows with every change. */
  readonly revision: number
  readonly tenants: ReadonlyMap<TenantId, Tenant>
  readonly keys: ReadonlyMap<KeyHash, ApiKey>
  /** The published templates of each tenant by code, sorted by code. */
  readonly templates: ReadonlyMap<TenantId, ReadonlyMap<TemplateCode, Template>>
}

/** The content of a revision. */
export type DirectorySettings = Omit<DirectorySnapshot, 'revision'>

/** The settings in force, in memory. Reading them never waits and never fails. */
export interface Directory {
  current(): DirectorySnapshot
}

/** How up to date a copy of settings from another store is. */
export interface DirectoryState {
  /** Whether it has settings. Once it has, it keeps the last good ones, even if the store loses them. */
  readonly isReady: boolean
  readonly isConnected: boolean
  /** Why it may not have the newest, in words. */
  readonly reason?: string
  /** The revision of `current`. */
  readonly revision: number
  /** How long ago it was last known to be the newest; since the opening if it never was. */
  readonly ageMs: number
  /** Values since the opening that had a wrong shape and were ignored. */
  readonly damaged: number
}

/** The writing side, for the process that compiles resources. */
export interface DirectoryPublisher {
  /** Replaces all settings. Resolves when every later `current` in this process returns them. Refuses a revision that is not newer. */
  publish(snapshot: DirectorySnapshot, signal: AbortSignal): Promise<void>
  /** The published revision; 0 = nothing. */
  revision(): number
  /** The number of the next revision: above all known ones. */
  nextRevision(): number
  /** Whether the published revision has these settings. */
  isPublished(settings: DirectorySettings): boolean
  /** Publishes the last revision again if it was lost. Returns whether that was necessary. Throws as `publish` does. */
  repair(signal: AbortSignal): Promise<boolean>
}
