import {
  type Condition,
  type ConditionReason,
  type ConditionType,
  WAITING_REASONS,
} from '@platen/contract/domain/resource.ts'
import type { ApiKeyStatus, PlanStatus, TemplateStatus, TenantStatus } from '@platen/contract/domain/resource-spec.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'
import type { AnyCompileResult } from '@platen/settings/compilation/compilation.ts'
import { type Finding, fails, holds, toCondition } from '@platen/settings/compile/condition.ts'
import { codeOf } from '@platen/settings/compile/source.ts'
import { defaultEngineOf } from '@platen/settings/compile/template.ts'
import { isRecord } from '../cluster/object.ts'
import type { Enforcement } from './propagation.ts'
import type { InForceSince } from './publication.ts'

export type Progress =
  /** Redis does not have the settings, for this reason. */
  | {
      readonly step: 'unpublished'
      readonly reason: 'RedisUnavailable' | 'StoreUnavailable'
      readonly message: string
    }
  | { readonly step: 'published' | 'enforced'; readonly since: InForceSince; readonly enforced: Enforcement }

interface StatusInput {
  readonly result: AnyCompileResult
  readonly progress: Progress
  readonly statusFields: StatusFields
  readonly before: Status
  readonly now: Instant
}

export type Status = PlanStatus & TenantStatus & TemplateStatus & ApiKeyStatus

/** The fields of a status that do not come from compiling: counts, names of Secrets. */
export type StatusFields<Fields extends Status = Status> = Omit<
  Fields,
  keyof SettingsStatus | 'observedGeneration' | 'conditions'
>

type SettingsStatus = Pick<Status, 'accountId' | 'effective' | 'published' | 'code' | 'engine' | 'digest' | 'version'>

export function statusOf({ result, progress, statusFields, before, now }: StatusInput): Status {
  return {
    observedGeneration: result.resource.metadata.generation,
    ...settingsStatus(result, progress, before),
    ...statusFields,
    conditions: withProgress(statusConditionsOf(result, progress), result).map((condition) =>
      withTransitionTime(condition, before, now),
    ),
  }
}

/**
 * Returns the merge patch from one status to another, whoever wrote the fields. Server-side apply would keep fields that others added, such
 * as a limit that the tenant does not have.
 */
export function mergePatchOf(before: object, after: object): object {
  const values = new Map<string, unknown>(Object.entries(before))
  const gone = [...values.keys()].filter((name) => !Object.hasOwn(after, name)).map((name) => [name, null] as const)
  const others = Object.entries(after).map(([name, value]: [string, unknown]) => {
    const last = values.get(name)
    return [name, isRecord(value) && isRecord(last) ? mergePatchOf(last, value) : value] as const
  })
  return Object.fromEntries([...others, ...gone])
}

function withTransitionTime(condition: Condition, { conditions = [] }: Status, now: Instant) {
  const last = conditions.find(({ type, status }) => type === condition.type && status === condition.status)
  return { ...condition, lastTransitionTime: last?.lastTransitionTime ?? kubernetesTime(now) }
}

/** Does the status say that a condition holds for this generation? */
export function isConditionTrue(
  { conditions = [] }: Pick<Status, 'conditions'>,
  type: ConditionType,
  generation: number,
): boolean {
  return conditions.some(
    (each) => each.type === type && each.status === 'True' && each.observedGeneration === generation,
  )
}

export function kubernetesTime(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length)}Z`
}

/** Reasons for not being ready that still let the settings of this generation come into force. */
const TOLERATED: ReadonlySet<ConditionReason> = new Set([
  'SecretMissing',
  'SecretUnreadable',
  'SecretTaken',
  'SecretsNotGranted',
  'RotationPutOff',
  'EngineNotInPlan',
])

function statusConditionsOf({ resource, conditions }: AnyCompileResult, progress: Progress): readonly Condition[] {
  const failing = (type: ConditionType, { reason, message }: Pick<Condition, 'reason' | 'message'>) =>
    toCondition(fails(type, reason, message), resource)
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (ready?.status === 'False' && !TOLERATED.has(ready.reason))
    return [...conditions, failing('Published', ready), failing('Propagated', ready)]
  if (progress.step === 'unpublished') {
    // A resource is ready only when it is published.
    const own = conditions.map((condition) => (condition === ready ? failing('Ready', progress) : condition))
    return [...own, failing('Published', progress), failing('Propagated', progress)]
  }
  const findings = [holds('Published', 'Published'), propagationFinding(progress)]
  return [...conditions, ...findings.map((finding) => toCondition(finding, resource))]
}

/**
 * Adds `Reconciling` or `Stalled` for as long as the resource is not ready or not propagated. Both are absent otherwise, as kstatus
 * requires: `kubectl wait`, Argo CD and Flux tell from them whether waiting helps.
 */
function withProgress(conditions: readonly Condition[], { resource }: AnyCompileResult): readonly Condition[] {
  const isOpen = ({ type, status }: Condition) => (type === 'Ready' || type === 'Propagated') && status === 'False'
  const open = conditions.find(isOpen)
  if (open === undefined) return conditions
  const type = WAITING_REASONS.has(open.reason) ? 'Reconciling' : 'Stalled'
  return [...conditions, toCondition(holds(type, open.reason, open.message), resource)]
}

function propagationFinding({ step, enforced }: Exclude<Progress, { step: 'unpublished' }>): Finding {
  const { all, behind, isCertain } = enforced
  if (step === 'enforced') return holds('Propagated', 'Propagated', all === 0 ? 'no API process is connected' : '')
  const enforcing = `${all - behind} of ${all} API processes enforce the last revision`
  return fails('Propagated', 'Waiting', isCertain ? enforcing : 'it is not known yet which API processes are running')
}

/** Plans and ApiKeys show no settings. A template shows its code and engine even if it has none in force: columns need them. */
function settingsStatus(
  { resource, settings }: AnyCompileResult,
  progress: Progress,
  { published: before }: Status,
): SettingsStatus {
  if (settings !== undefined && 'limits' in settings) {
    const published = publishedStatus(settings, progress, before)
    const { account: accountId, limits: effective } = settings
    return { accountId, effective, ...(published !== undefined && { published }) }
  }
  if (resource.kind !== 'Template') return {}
  const declared = { code: codeOf(resource), engine: defaultEngineOf(resource) }
  if (settings === undefined || !('digest' in settings)) return declared
  return { ...declared, digest: settings.digest, version: settings.version }
}

/** Keeps the time for as long as the settings are the same. */
function publishedStatus(settings: Tenant, progress: Progress, before: Status['published']): Status['published'] {
  const digest = sha256(canonicalJson(settings))
  if (before?.digest === digest || progress.step === 'unpublished') return before
  const { revision, at } = progress.since
  return { revision, digest, at: kubernetesTime(at) }
}
