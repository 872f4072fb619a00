/** What the reconciler remembers of the resource under one key. */

import type { Resource } from '@platen/contract/domain/resource.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import { unpackStatus } from './packed-status.ts'
import type { InForceSince } from './publication.ts'
import type { ResourceView } from './resource-view.ts'
import type { Status, StatusFields } from './status.ts'

export interface ResourceState {
  /** Did the resource or its surroundings change since it was last prepared? */
  isDirty: boolean
  /** Another resource of the same name starts again. */
  stage: Stage
}

export type Stage =
  | { readonly step: 'new' }
  | Preparing
  | Submitted
  /** Nothing of it is in force since then, and its kind handler has forgotten it. Only its finalizer may be left. */
  | { readonly step: 'withdrawn'; readonly since: InForceSince }

/** Its kind handler knows it, and nothing of it is compiled: its first preparation runs, failed, or waits for something. */
export interface Preparing {
  readonly step: 'preparing'
  readonly resource: Resource
}

/** Its settings are in force, or come into force with the next publish. */
export interface Submitted extends PreparedResource {
  readonly step: 'submitted'
  readonly report: Report
}

/** A resource, and what its kind handler last said of it. */
export interface PreparedResource {
  readonly resource: Resource
  readonly statusFields: StatusFields
  /** When to prepare it again, even without a change. Infinity for never. */
  readonly retryAt: Instant
}

/** Most resources have none, so it is in memory once. */
export const NO_STATUS_FIELDS: StatusFields = {}

export function unprepared(resource: Resource): PreparedResource {
  return { resource, statusFields: NO_STATUS_FIELDS, retryAt: Number.POSITIVE_INFINITY }
}

/** True if the kind handler knows the resource, and must forget it when it is gone. */
export function isWithHandler(stage: Stage): stage is Preparing | Submitted {
  return stage.step === 'preparing' || stage.step === 'submitted'
}

/** What is on its way into the status of a resource. */
export interface Report {
  /** A revision that is not known to be enforced. Before `until`, on the monotonic clock, that alone is not worth a status write. */
  awaited?: { readonly revision: number; readonly until: number } | undefined
  /** A status that was written and not yet read back. */
  written?: WrittenStatus | undefined
}

export interface WrittenStatus {
  readonly status: Status
  /** The resource version after the write. Absent until the write returns. */
  resourceVersion?: string
}

/** The last status written; the resource cache may not have it yet. */
export function lastStatusOf(stage: Stage, { status }: ResourceView): Status {
  const written = stage.step === 'submitted' ? stage.report.written : undefined
  return written?.status ?? unpackStatus(status)
}

/** Forgets the written status once a view shows it or a later one. Returns whether this view shows exactly that status. */
export function readBack(stage: Stage, { status, resourceVersion }: ResourceView): boolean {
  if (stage.step !== 'submitted') return false
  const { report } = stage
  const { written } = report
  if (written === undefined) return false
  const isSame = canonicalJson(unpackStatus(status)) === canonicalJson(written.status)
  const isLater = written.resourceVersion !== undefined && BigInt(resourceVersion) >= BigInt(written.resourceVersion)
  if (isSame || isLater) report.written = undefined
  return isSame
}
