import type { ErasureSpec, ErasureStatus } from '@platen/contract/domain/crd/erasure.ts'
import { type ErasureOrder, isDone, isListed, keptInKafkaUntil, lastRoundAt } from '@platen/contract/domain/erasure.ts'
import { dayOf } from '@platen/contract/stored/expiry.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { isConditionTrue, kubernetesTime } from '../../reconcile/status.ts'

export interface ErasureView {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly generation: number
    /** In whole seconds. */
    readonly createdAt: Instant
  }
  readonly isDeleting: boolean
  readonly spec: ErasureSpec
  readonly status: ErasureStatus
}

/** A topic of Kafka that keeps parts of requests, and for how long. */
export interface KeptTopic {
  readonly topic: string
  readonly keptMs: number
}

/** docs/personal-data.md explains the reasons. */
export type Progress =
  | { readonly step: 'waiting'; readonly reason: 'TenantNotFound' | 'TenantNotReady'; readonly message: string }
  | { readonly step: 'ordered'; readonly order: ErasureOrder }
  /** The last round is over, and has removed the order. */
  | { readonly step: 'over' }

/** When everything was erased; undefined = not yet. */
export function finishedAtOf({ status, metadata }: Pick<ErasureView, 'status' | 'metadata'>): Instant | undefined {
  if (!isConditionTrue(status, 'Ready', metadata.generation)) return undefined
  const { lastTransitionTime = '' } = status.conditions?.find(({ type }) => type === 'Ready') ?? {}
  return Date.parse(lastTransitionTime)
}

/** Keeps what an order said before it was removed. */
export function statusOf(
  view: Pick<ErasureView, 'metadata' | 'status'>,
  progress: Progress,
  { now, requestsKept }: { readonly now: Instant; readonly requestsKept: readonly KeptTopic[] },
): ErasureStatus {
  const { generation: observedGeneration } = view.metadata
  const { conditions: before = [], ...fields } = view.status
  const conditions = conditionsOf(progress, fields).map((condition) => {
    const last = before.find(({ type, status }) => type === condition.type && status === condition.status)
    return { ...condition, observedGeneration, lastTransitionTime: last?.lastTransitionTime ?? kubernetesTime(now) }
  })
  const ordered = progress.step === 'ordered' ? fieldsOf(progress.order, requestsKept) : {}
  return { ...fields, ...ordered, observedGeneration, conditions }
}

function fieldsOf(order: ErasureOrder, requestsKept: readonly KeptTopic[]): ErasureStatus {
  const { account: accountId, orderedAt, workedOffAt, erased } = order
  const writtenAt = workedOffAt ?? orderedAt
  return {
    accountId,
    orderedAt: kubernetesTime(orderedAt),
    ...(workedOffAt !== undefined && { workedOffAt: kubernetesTime(workedOffAt) }),
    ...(erased !== undefined && { erased }),
    ...(isListed(order) && { notFound: order.notFound ?? 0, unfinished: (order.unfinished ?? order.renders).length }),
    kafka: requestsKept.map(({ topic, keptMs }) => ({
      topic,
      until: kubernetesTime(keptInKafkaUntil(writtenAt, keptMs)),
    })),
  }
}

/** `Reconciling` is absent when everything is erased, as kstatus requires. Nothing is `Stalled`: every wait ends by itself. */
function conditionsOf(progress: Progress, before: Pick<ErasureStatus, 'erased'>) {
  const { reason, message } = reasonOf(progress, before)
  const ready = { type: 'Ready', status: reason === 'Erased' ? 'True' : 'False', reason, message } as const
  return ready.status === 'True' ? [ready] : [ready, { type: 'Reconciling', status: 'True', reason, message } as const]
}

function reasonOf(progress: Progress, { erased: erasedBefore = 0 }: Pick<ErasureStatus, 'erased'>) {
  switch (progress.step) {
    case 'waiting':
      return progress
    case 'over':
      return { reason: 'Erased', message: `${erasedBefore} erased` }
    case 'ordered':
      return reasonOfOrder(progress.order)
  }
}

function reasonOfOrder(order: ErasureOrder) {
  const { workedOffAt, erased = 0 } = order
  const until = dayOf(lastRoundAt(order))
  if (workedOffAt === undefined) return { reason: 'Ordered', message: 'no events process has completed a round yet' }
  if (!isListed(order)) {
    const rest = `renders that waited, ran or had just ended when this was ordered follow when they have ended, until ${until}`
    return { reason: 'Unfinished', message: `${erased} erased; ${rest}` }
  }
  if (isDone(order)) return { reason: 'Erased', message: `${erased} erased, ${order.notFound ?? 0} not found` }
  const { unfinished = order.renders, renders } = order
  const rest = 'may wait or run, or were never issued; they are erased when they have ended'
  return { reason: 'Unfinished', message: `${unfinished.length} of ${renders.length} renders ${rest}, until ${until}` }
}
