import type { Instant } from '@platen/contract/brand.ts'
import type { Resource } from '@platen/contract/resource.ts'
import type { Warning } from './event.ts'
import type { ResourceView } from './resource-view.ts'
import type { Status } from './status.ts'

/** What one kind needs before its resources are compiled. */
export interface KindHandler {
  /** Sees to it. Answers what the status is to tell of it, and when to look again. May be done twice. */
  readonly prepare: (view: ResourceView, status: Status, signal: AbortSignal) => Promise<Prepared>
  /** Is there more to be seen to by now than when it was prepared? Waits for nothing. */
  readonly needsPreparing?: (view: ResourceView) => boolean
  /** What a status tells of what was seen to before; undefined where it has to be seen to anew. Waits for nothing. */
  readonly restore: (view: ResourceView, status: Status) => StatusFields | undefined
  /** The resource is gone. */
  readonly forget: (resource: Resource) => void
}

export type StatusFields = Readonly<Record<string, unknown>>

export interface Prepared {
  readonly statusFields: StatusFields
  readonly retryAt?: Instant
  /** It waits for something, and is seen to again when that has come; until then it is as it was. */
  readonly isPending?: true
  /** What of the resource asks for nothing, though it should. */
  readonly warning?: Warning
}
