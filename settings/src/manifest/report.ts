/** Logs what is new after a load of the folder, so that one old fault does not fill the log. */

import type { Condition, Resource, Uid } from '@platen/contract/domain/resource.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { Log } from '@platen/lib/log.ts'
import { type Compiled, resultsOf } from '../compilation/compile.ts'
import type { InForceBefore } from '../compilation/state.ts'
import type { CompileResult } from '../compile/compile-result.ts'
import { labelOf } from '../compile/condition.ts'
import { ignoredFieldsOf } from '../compile/ignored-fields.ts'
import { isUnchecked } from './compile-folder.ts'
import type { FolderState } from './folder.ts'
import type { ManifestFault } from './text/parse.ts'

interface LoadedFolder {
  readonly folder: FolderState
  readonly compiled: Compiled
  readonly revision: number
  /** The previous load and what was in force then, possibly before a restart. */
  readonly before: {
    readonly folder: FolderState
    readonly revision?: number
    readonly previous: InForceBefore
    readonly reported: ReportedResults
  }
}

/** At the last report. */
export type ReportedResults = ReadonlyMap<Uid, CompileResult<Resource, unknown>>

/**
 * Warns of new faults and refusals, with file and reason, and informs of repaired and published resources. Does not mention unchecked
 * templates.
 */
export function report(log: Log, { folder, compiled, revision, before }: LoadedFolder): ReportedResults {
  const known = new Set(before.folder.faults.map(faultKey))
  for (const fault of folder.faults) if (!known.has(faultKey(fault))) warnOfFault(log, fault)
  const files = new Map(folder.documents.map(({ place, file }) => [place, file]))
  const reported = new Map<Uid, CompileResult<Resource, unknown>>()
  for (const outcome of resultsOf(compiled)) {
    const { resource, conditions } = outcome
    const old = before.reported.get(resource.metadata.uid)
    const now = isUnchecked(outcome) ? old : outcome
    if (now !== undefined) reported.set(resource.metadata.uid, now)
    if (now !== outcome) continue
    const place = labelOf(resource)
    const where = { resource: place, file: files.get(place) }
    reportIgnoredFields(log, resource, { last: old?.resource, where })
    for (const condition of conditions) {
      const last = old?.conditions.find(({ type }) => type === condition.type)
      if (!isSame(condition, last)) reportCondition(log, condition, { last, where })
    }
  }
  reportRotations(log, compiled, before.previous)
  if (revision !== before.revision) reportPublished(log, compiled, revision)
  return reported
}

function warnOfFault(log: Log, { message, ...where }: ManifestFault): void {
  log.warn({ ...where, detail: message }, 'manifest refused')
}

interface LastReport {
  /** The resource at the last load. */
  readonly last: Resource | undefined
  readonly where: object
}

/** Logs ignored fields that the resource did not have before. */
function reportIgnoredFields(log: Log, resource: Resource, { last, where }: LastReport): void {
  const known = new Set(last === undefined ? [] : ignoredFieldsOf(last).map(({ path }) => path))
  for (const { path, message } of ignoredFieldsOf(resource))
    if (!known.has(path)) log.warn({ ...where, path, detail: message }, 'field has no effect')
}

function reportRotations(log: Log, { tenants }: Compiled, before: InForceBefore): void {
  for (const [uid, { resource, settings }] of tenants) {
    const [last, now] = [before.tenants.get(uid)?.settings, settings].map(currentSecretOf)
    if (last !== undefined && now !== last) log.info({ resource: labelOf(resource) }, 'webhook secret rotated')
  }
}

function currentSecretOf(tenant: Tenant | undefined): string | undefined {
  return tenant?.webhookSecrets?.find(({ until }) => until === undefined)?.sealed
}

function reportPublished(log: Log, { snapshot, templates, apiKeys }: Compiled, revision: number): void {
  const count = (outcomes: ReadonlyMap<unknown, { readonly settings?: unknown }>) =>
    [...outcomes.values()].filter(({ settings }) => settings !== undefined).length
  log.info(
    { revision, tenants: snapshot.tenants.size, templates: count(templates), apiKeys: count(apiKeys) },
    'settings published',
  )
}

interface ConditionReport {
  /** The condition of this type at the last load. */
  readonly last: Condition | undefined
  readonly where: object
}

/** `Ready` has the reason of the condition that fails. A resource that was ready from the start gets no line. */
function reportCondition(
  log: Log,
  { type, status, reason, message }: Condition,
  { last, where }: ConditionReport,
): void {
  if (type === 'Ready' && status === 'True' && last !== undefined) log.info(where, 'resource ready')
  if (type === 'Ready' && status === 'False') log.warn({ ...where, reason, detail: message }, 'resource refused')
  if (type === 'EngineAllowed' && status === 'False')
    log.warn({ ...where, reason, detail: message }, 'engine not in plan')
}

function isSame({ status, reason, message }: Condition, last: Condition | undefined): boolean {
  return last?.status === status && last.reason === reason && last.message === message
}

function faultKey({ file, line, place, path, message }: ManifestFault): string {
  return JSON.stringify([file, line, place, path, message])
}
