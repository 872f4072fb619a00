import type { Resource } from '@platen/contract/domain/resource.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Warning } from './event.ts'
import type { ResourceView } from './resource-view.ts'
import type { Status, StatusFields } from './status.ts'

/** Prepares the resources of one kind before they are compiled. */
export interface KindHandler {
  /** Running it twice is safe. */
  readonly prepare: (view: ResourceView, status: Status, signal: AbortSignal) => Promise<Prepared>
  /** Does the resource need more preparing now than when it was last prepared? Does not wait. */
  readonly needsPreparing?: (view: ResourceView) => boolean
  /**
   * Returns the status fields of an earlier preparation, from the status; undefined if the resource must be prepared again. Does not wait.
   */
  readonly restore: (view: ResourceView, status: Status) => StatusFields | undefined
  /**
   * Does what must be durable before a deleted resource disappears, when nothing of it is in force any more. Running it twice is safe.
   * Throws `Unavailable`; the resource then stays, and this is tried again.
   */
  readonly beforeRemoval?: (resource: Resource, signal: AbortSignal) => Promise<void>
  /** Drops everything about a resource that is gone. */
  readonly forget: (resource: Resource) => void
}

export type Prepared =
  /** The resource waits for something, and is prepared again when that arrives. Until then nothing of it changes. */
  | { readonly isPending: true }
  | {
      readonly statusFields?: StatusFields
      readonly retryAt?: Instant
      /** A part of the resource that has no effect although it should. */
      readonly warning?: Warning
    }
