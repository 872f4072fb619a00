import type { Condition } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS, type Tenant, type TenantId } from '@platen/contract/domain/tenant.ts'
import type { AnyCompileResult } from '@platen/settings/compilation/compilation.ts'
import { conditionsOf, fails, holds } from '@platen/settings/compile/condition.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aPlanResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { isRecord } from '../cluster/object.ts'
import type { Enforcement } from './propagation.ts'
import { mergePatchOf, type Progress, type Status, type StatusFields, statusOf } from './status.ts'

const NOON = Date.UTC(2026, 10, 22, 12)
const ALL: Enforcement = { all: 2, behind: 0, revision: 9, isCertain: true }
const since = { revision: 7, at: NOON }
const ENFORCED: Progress = { step: 'enforced', since, enforced: ALL }

const resource = aTenantResource({ metadata: { generation: 3 } })
const SETTINGS: Tenant = {
  id: 'acme' as TenantId,
  account: resource.metadata.uid,
  limits: DEFAULT_LIMITS,
  suspended: false,
  storage: { bucket: 'platen', prefix: 'acme/' },
}
const GOOD = {
  resource,
  conditions: conditionsOf(resource, { needed: [holds('PlanResolved', 'PlanResolved')] }),
  settings: SETTINGS,
}

interface Given {
  readonly outcome?: AnyCompileResult
  readonly progress?: Progress
  readonly known?: StatusFields
  readonly before?: Status
  readonly now?: number
}

function statusFor({
  outcome: result = GOOD,
  progress = ENFORCED,
  known: statusFields = {},
  before = {},
  now = NOON,
}: Given = {}): Status {
  return statusOf({ result, progress, statusFields, before, now })
}

function condition(status: Status, type: Condition['type']) {
  return status.conditions?.find((candidate) => candidate.type === type)
}

describe('a status', () => {
  test('is of a generation, in each of its conditions', () => {
    const { observedGeneration, conditions = [] } = statusFor()
    expect([observedGeneration, ...conditions.map((each) => each.observedGeneration)]).toEqual([3, 3, 3, 3, 3])
  })

  test('tells since when a condition has been so, and not since when it is for another reason', () => {
    const first = statusFor()
    const later = statusFor({ before: first, now: NOON + 60_000 })
    expect(later).toEqual(first)
    const outcome = {
      ...GOOD,
      conditions: conditionsOf(resource, { needed: [fails('PlanResolved', 'PlanNotFound', '')] }),
    }
    const broken = statusFor({ outcome, before: later, now: NOON + 60_000 })
    expect(condition(broken, 'Ready')).toMatchObject({ status: 'False', lastTransitionTime: '2026-11-22T12:01:00Z' })
    const again = {
      ...GOOD,
      conditions: conditionsOf(resource, { needed: [fails('PlanResolved', 'PlanNotReady', '')] }),
    }
    const differently = statusFor({ outcome: again, before: broken, now: NOON + 120_000 })
    expect(condition(differently, 'Ready')).toMatchObject({
      reason: 'PlanNotReady',
      lastTransitionTime: '2026-11-22T12:01:00Z',
    })
  })

  test('of a tenant tells the limits in force, and when these settings came there', () => {
    const first = statusFor()
    expect(first.effective).toEqual(DEFAULT_LIMITS)
    expect(first.published).toMatchObject({ revision: 7, at: '2026-11-22T12:00:00Z' })
    const later: Progress = { ...ENFORCED, since: { revision: 8, at: NOON + 60_000 } }
    expect(statusFor({ before: first, progress: later }).published).toEqual(first.published)
    const other = { ...GOOD, settings: { ...SETTINGS, suspended: true } }
    expect(statusFor({ outcome: other, before: first, progress: later }).published).toMatchObject({ revision: 8 })
  })

  test('of a plan tells no settings', () => {
    const plan = aPlanResource()
    const outcome = { resource: plan, conditions: conditionsOf(plan, { needed: [] }), settings: DEFAULT_LIMITS }
    expect(statusFor({ outcome, known: { tenants: 4 } })).toMatchObject({ tenants: 4 })
    expect(Object.keys(statusFor({ outcome }))).toEqual(['observedGeneration', 'conditions'])
  })
})

describe('how far settings have come', () => {
  test.for([
    ['every process enforces them', ENFORCED, ['True', 'Published', ''], ['True', 'Propagated', '']],
    [
      'there is no process',
      { ...ENFORCED, enforced: { ...ALL, all: 0 } },
      ['True', 'Published', ''],
      ['True', 'Propagated', 'no API process is connected'],
    ],
    [
      'one is behind',
      { step: 'published', since, enforced: { ...ALL, behind: 1 } },
      ['True', 'Published', ''],
      ['False', 'Waiting', '1 of 2 API processes enforce the last revision'],
    ],
    [
      'Redis is unavailable',
      { step: 'unpublished', reason: 'RedisUnavailable', message: 'Redis is unavailable' },
      ['False', 'RedisUnavailable', 'Redis is unavailable'],
      ['False', 'RedisUnavailable', 'Redis is unavailable'],
    ],
  ] as const)('is told where %s', ([, progress, published, propagated]) => {
    const status = statusFor({ progress })
    const of = (type: Condition['type']) => {
      const { status: holdsNow, reason, message } = condition(status, type) ?? {}
      return [holdsNow, reason, message]
    }
    expect([of('Published'), of('Propagated')]).toEqual([published, propagated])
  })

  test('is nowhere for a generation that is held back, whatever is in force of an older one', () => {
    const outcome = {
      ...GOOD,
      conditions: conditionsOf(resource, { needed: [fails('PlanResolved', 'PlanNotFound', 'there is no Plan')] }),
    }
    const status = statusFor({ outcome })
    for (const type of ['Published', 'Propagated'] as const)
      expect(condition(status, type)).toMatchObject({
        status: 'False',
        reason: 'PlanNotFound',
        message: 'there is no Plan',
      })
    expect(status.effective).toEqual(DEFAULT_LIMITS)
  })

  test('is shown for settings of which only the secret is missing', () => {
    const outcome = {
      ...GOOD,
      conditions: conditionsOf(resource, { needed: [fails('Ready', 'SecretMissing', 'it is gone')] }),
    }
    expect(condition(statusFor({ outcome }), 'Ready')).toMatchObject({ status: 'False' })
    expect(condition(statusFor({ outcome }), 'Propagated')).toMatchObject({ status: 'True' })
  })
})

describe('for kstatus, by which Argo CD and Flux judge', () => {
  const held = (type: Condition['type'], reason: Condition['reason']) => ({
    ...GOOD,
    conditions: conditionsOf(resource, { needed: [fails(type, reason, 'why')] }),
  })

  test.for([
    ['is in force everywhere', {}, 'Current', undefined],
    [
      'has not reached every process',
      { progress: { step: 'published', since, enforced: { ...ALL, behind: 1 } } },
      'InProgress',
      'Waiting',
    ],
    [
      'waits for Redis',
      { progress: { step: 'unpublished', reason: 'RedisUnavailable', message: 'it is away' } },
      'InProgress',
      'RedisUnavailable',
    ],
    ['waits for its plan', { outcome: held('PlanResolved', 'PlanNotFound') }, 'InProgress', 'PlanNotFound'],
    ['waits for its secret', { outcome: held('Ready', 'SecretMissing') }, 'InProgress', 'SecretMissing'],
    ['must be changed', { outcome: held('Accepted', 'PrefixTaken') }, 'Failed', 'PrefixTaken'],
    ['is in force, but must be changed', { outcome: held('Ready', 'SecretTaken') }, 'Failed', 'SecretTaken'],
  ] as const satisfies readonly (readonly [string, Given, string, string | undefined])[])(
    'a resource that %s',
    ([, given, verdict, reason]) => {
      const status = statusFor(given)
      expect(kstatusOf(status, resource.metadata.generation)).toBe(verdict)
      const progress = condition(status, 'Reconciling') ?? condition(status, 'Stalled')
      expect(progress?.reason).toBe(reason)
    },
  )

  test('a resource of another generation, and one that nobody has seen, is in progress', () => {
    expect(kstatusOf(statusFor(), resource.metadata.generation + 1)).toBe('InProgress')
    expect(kstatusOf({ observedGeneration: -1 }, 1)).toBe('InProgress')
  })
})

/** The rules of sigs.k8s.io/cli-utils/pkg/kstatus for a custom resource, in their order. */
function kstatusOf(status: Status, generation: number): string {
  if (status.observedGeneration !== undefined && status.observedGeneration !== generation) return 'InProgress'
  if (condition(status, 'Reconciling')?.status === 'True') return 'InProgress'
  if (condition(status, 'Stalled')?.status === 'True') return 'Failed'
  const ready = condition(status, 'Ready')
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress'
}

const { status } = fc.letrec((tie) => ({
  status: fc.dictionary(
    fc.string({ maxLength: 2 }),
    fc.oneof({ maxDepth: 3 }, fc.integer(), fc.array(fc.integer()), tie('status')),
    {
      maxKeys: 4,
      noNullPrototype: true,
    },
  ),
}))

test('a patch makes one status of another, whatever that was', () => {
  fc.assert(
    fc.property(status, status, (before, after) => {
      expect(merged(before, mergePatchOf(Object(before), Object(after)))).toEqual(after)
    }),
  )
})

test('what others have added is taken away again', () => {
  const before = { templates: 7, effective: { retentionDays: 30, renderLimitMonthly: 1 } }
  expect(mergePatchOf(before, { effective: { retentionDays: 30 } })).toEqual({
    effective: { retentionDays: 30, renderLimitMonthly: null },
    templates: null,
  })
})

/** Applies a merge patch (RFC 7396). */
function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result = new Map(Object.entries(isRecord(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, merged(result.get(name), value))
  }
  return Object.fromEntries(result)
}
