/** What is written into the status of a resource. Pure. */
import type { Instant } from '@platen/contract/brand.ts'
import { canonicalJson, sha256 } from '@platen/contract/canonical-json.ts'
import type { Condition, ConditionReason, ConditionType, Resource } from '@platen/contract/resource.ts'
import type { ApiKeyStatus, PlanStatus, TemplateStatus, TenantStatus } from '@platen/contract/schema/resource.ts'
import type { Template, Tenant } from '@platen/contract/tenant.ts'
import type { CompileResult } from '@platen/settings/compile/compile-result.ts'
import { type Finding, fails, holds, toCondition } from '@platen/settings/compile/condition.ts'
import { isRecord } from '../cluster/object.ts'
import type { Enforcement } from './propagation.ts'
import type { InForceSince } from './publication.ts'

/** How far the settings of a resource have come. */
export type Progress =
  /** Redis has them not; why. */
  | {
      readonly step: 'unpublished'
      readonly reason: 'RedisUnavailable' | 'StoreUnavailable'
      readonly message: string
    }
  | { readonly step: 'published'; readonly since: InForceSince; readonly enforced: Enforcement }
  | { readonly step: 'enforced'; readonly since: InForceSince; readonly enforced: Enforcement }

export interface StatusInput {
  readonly result: CompileResult<Resource, unknown>
  readonly progress: Progress
  /** What is known of a resource besides what it came to: counts, names of Secrets. */
  readonly statusFields: Readonly<Record<string, unknown>>
  readonly before: Status
  readonly now: Instant
}

/** What the status of any resource may say. */
export type Status = PlanStatus & TenantStatus & TemplateStatus & ApiKeyStatus

/** What its kind has of it. */
export function statusOf({ result, progress, statusFields, before, now }: StatusInput): Status {
  return {
    observedGeneration: result.resource.metadata.generation,
    ...settingsStatus(result, progress, before),
    ...statusFields,
    conditions: statusConditionsOf(result, progress).map((condition) => withTransitionTime(condition, before, now)),
  }
}

/**
 * The merge patch that makes one status of another, whoever wrote what of it: to apply ours would leave what others have added, such as
 * a limit where there is none.
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

/** Tells since when a condition has been as it is. */
function withTransitionTime(condition: Condition, { conditions = [] }: Status, now: Instant) {
  const last = conditions.find(({ type, status }) => type === condition.type && status === condition.status)
  return { ...condition, lastTransitionTime: last?.lastTransitionTime ?? kubernetesTime(now) }
}

/** Does a status say that a condition holds, of this generation? */
export function isConditionTrue(
  { conditions = [] }: Pick<Status, 'conditions'>,
  type: ConditionType,
  generation: number,
): boolean {
  return conditions.some(
    (each) => each.type === type && each.status === 'True' && each.observedGeneration === generation,
  )
}

/** As Kubernetes writes times. */
export function kubernetesTime(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length)}Z`
}

/** Reasons of not being ready that keep no setting of this generation from being in force. */
const TOLERATED: ReadonlySet<ConditionReason> = new Set([
  'SecretMissing',
  'SecretTaken',
  'SecretsNotGranted',
  'RotationPutOff',
  'EngineNotInPlan',
])

function statusConditionsOf(
  { resource, conditions }: CompileResult<Resource, unknown>,
  progress: Progress,
): readonly Condition[] {
  const ready = conditions.find(({ type }) => type === 'Ready')
  const isHeldBack = ready?.status === 'False' && !TOLERATED.has(ready.reason)
  const findings = isHeldBack
    ? [fails('Published', ready.reason, ready.message), fails('Propagated', ready.reason, ready.message)]
    : progressFindings(progress)
  if (isHeldBack || progress.step !== 'unpublished')
    return [...conditions, ...findings.map((finding) => toCondition(finding, resource))]
  // It is in force only when it is published.
  const unready = toCondition(fails('Ready', progress.reason, progress.message), resource)
  const own = conditions.map((condition) => (condition === ready ? unready : condition))
  return [...own, ...findings.map((finding) => toCondition(finding, resource))]
}

function progressFindings(progress: Progress): readonly Finding[] {
  if (progress.step === 'unpublished')
    return (['Published', 'Propagated'] as const).map((type) => fails(type, progress.reason, progress.message))
  const { all, behind, isCertain } = progress.enforced
  const enforcing = `${all - behind} of ${all} API processes enforce the last revision`
  const published = holds('Published', 'Published')
  if (progress.step === 'published')
    return [
      published,
      fails('Propagated', 'Waiting', isCertain ? enforcing : 'it is not known yet which API processes there are'),
    ]
  return [published, holds('Propagated', 'Propagated', all === 0 ? 'no API process is connected' : '')]
}

function settingsStatus(
  { resource, settings }: CompileResult<Resource, unknown>,
  progress: Progress,
  { published }: Status,
): object {
  if (settings === undefined) return {}
  switch (resource.kind) {
    case 'Plan':
    case 'ApiKey':
      return {}
    case 'Tenant': {
      // What a Tenant comes to.
      const { limits } = settings as Tenant
      const digest = sha256(canonicalJson(settings))
      const since = progress.step === 'unpublished' ? undefined : progress.since
      const isSame = published?.digest === digest
      const now = since && { revision: since.revision, digest, at: kubernetesTime(since.at) }
      return { effective: limits, ...(isSame || !now ? published && { published } : { published: now }) }
    }
    case 'Template': {
      const { digest, version } = settings as Template
      return { digest, version }
    }
  }
}
