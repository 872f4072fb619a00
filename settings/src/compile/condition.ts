import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import type { Condition, ConditionReason, ConditionType, Resource } from '@platen/contract/domain/resource.ts'

/** A condition before it is tied to a generation. */
export interface Finding {
  readonly type: ConditionType
  readonly isTrue: boolean
  readonly reason: ConditionReason
  readonly message: string
}

export function holds(type: ConditionType, reason: ConditionReason, message = ''): Finding {
  return { type, isTrue: true, reason, message }
}

export function fails(type: ConditionType, reason: ConditionReason, message: string): Finding {
  return { type, isTrue: false, reason, message }
}

/**
 * `Ready` has the first of `needed` that fails, or is true. Informational findings (whether a tenant is suspended, or a plan in use) do not
 * affect it.
 */
export function conditionsOf(
  resource: Resource,
  { needed: required, informational = [] }: { needed: readonly Finding[]; informational?: readonly Finding[] },
): readonly Condition[] {
  const failed = required.find(({ isTrue }) => !isTrue)
  const ready = failed === undefined ? holds('Ready', 'InForce') : fails('Ready', failed.reason, failed.message)
  const findings = [ready, ...required.filter(({ type }) => type !== 'Ready'), ...informational]
  return findings.map((finding) => toCondition(finding, resource))
}

export function toCondition({ type, isTrue, reason, message }: Finding, { metadata }: Resource): Condition {
  return {
    type,
    status: isTrue ? 'True' : 'False',
    reason,
    message: message.slice(0, FAILURE_MESSAGE_CHARS_MAX),
    observedGeneration: metadata.generation,
  }
}

/**
 * For people: `Template team-acme/invoice`. Joined, because the operator's maps keep it: V8 then makes one string of it, but keeps the
 * pieces of a template literal.
 */
export function labelOf({ kind, metadata }: Resource): string {
  const { name } = metadata
  return 'namespace' in metadata ? [kind, ' ', metadata.namespace, '/', name].join('') : [kind, name].join(' ')
}
