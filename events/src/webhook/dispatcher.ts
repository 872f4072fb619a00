/**
 * Sends due deliveries: signs, calls the receiver, records the attempt, schedules the next. Due deliveries wait here only in memory, but
 * the log holds them until they are recorded. So a process that dies loses no delivery. A call is repeated only if the process died after
 * the receiver answered and before the attempt was recorded.
 */

import type { Attempt, Delivery } from '@platen/contract/domain/delivery.ts'
import { TEST_EVENT } from '@platen/contract/domain/event.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { SigningSecrets } from '@platen/contract/domain/webhook-secret.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryLog, DueDelivery, NextStatus } from '@platen/contract/port/delivery-log.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { WebhookMeter } from '@platen/contract/port/webhook-meter.ts'
import type { WebhookResponse, WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import { cidrsOf } from '@platen/lib/address.ts'
import { randomFraction } from '@platen/lib/back-off.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import type { TraceContext } from '@platen/lib/trace.ts'
import type { Tracer } from '@platen/lib/tracer.ts'
import { type SchedulerOptions, scheduleDeliveries } from './delivery-scheduler.ts'
import { FairQueue } from './fair-queue.ts'
import { type DeliveryObserver, deliveryObserver } from './observer.ts'
import { retryDelayMs } from './retry-delay.ts'
import { signatureHeaders } from './sign.ts'
import { obstacleOf } from './signing-secrets.ts'

const SECOND_MS = 1000
/**
 * How often a delivery is tried again while its tenant has no webhook secret. The interval grows with the wait, because there may be many.
 */
const WEBHOOK_SECRET_RETRY_MS_MIN = 30 * SECOND_MS
const WEBHOOK_SECRET_RETRY_MS_MAX = 600 * SECOND_MS

export interface DispatcherPorts extends Pick<SchedulerOptions, 'onEvent'> {
  readonly events: Pick<EventLog, 'follow'>
  readonly deliveries: Pick<DeliveryLog, 'schedule' | 'consume'>
  readonly artifacts: Pick<ArtifactStore, 'get'>
  readonly serviceBucket: string
  readonly directory: Directory
  readonly sender: WebhookSender
  readonly meter: Omit<WebhookMeter, 'deadLettered'>
  readonly clock: Clock
  readonly ids: Ids
  readonly tracer: Tracer
  readonly log: Log
}

export interface DispatcherSettings {
  readonly brand: string
  readonly retriesMax: number
  /** The secrets that sign the tenant's deliveries now. Undefined while they are not available. */
  signingSecretsOf(tenant: Tenant, now: Instant): SigningSecrets | undefined
}

/** Delivers until `signal` aborts. Resolves when the running calls have ended and are recorded. */
export async function runDispatcher(
  ports: DispatcherPorts,
  settings: DispatcherSettings,
  signal: AbortSignal,
): Promise<void> {
  // Each step starts again when its log is unavailable, for example on a full disk, and keeps its work. On a stop each step ends by itself,
  // so that an idle step does not interrupt the other.
  const untilStopped = (step: () => Promise<void>, called: { dependency: string; operation: string }) =>
    retryWhileUnavailable(step, { ...ports, ...called, signal }).catch(throwUnlessAborted(signal))
  await Promise.all([
    untilStopped(() => scheduleDeliveries({ ...ports, ...settings }, signal), {
      dependency: 'event log',
      operation: 'follow',
    }),
    untilStopped(() => dispatch({ ...ports, observer: deliveryObserver(ports), settings, signal }), {
      dependency: 'delivery log',
      operation: 'consume',
    }),
  ])
}

interface Dispatch extends Omit<DispatcherPorts, 'meter' | 'tracer'> {
  readonly observer: DeliveryObserver
  readonly settings: DispatcherSettings
  readonly signal: AbortSignal
}

interface QueuedDelivery {
  readonly account: string
  readonly origin: string
  /** Null if it is no longer a URL to us: the API has checked it, and the sender reports it. */
  readonly url: URL | null
  readonly due: DueDelivery
}

async function dispatch(context: Dispatch): Promise<void> {
  const { deliveries, observer, signal, clock } = context
  const queue = new FairQueue<QueuedDelivery>()
  observer.dispatching(() => queue.held())
  const running = new Set<Promise<void>>()
  const track = (step: Promise<void>) => {
    running.add(step)
    void step.finally(() => running.delete(step))
  }
  const pump = () => {
    while (!signal.aborted) {
      const turn = queue.next()
      if (turn === undefined) return
      track(deliver(turn))
    }
  }
  const deliver = async (turn: QueuedDelivery) => {
    const begunAt = clock.monotonic()
    const result = attemptDelivery(context, turn).finally(() => {
      // The next call does not wait for the record of this one.
      queue.ended(turn, clock.monotonic() - begunAt)
      pump()
    })
    await recordResult(context, turn.due, result)
  }
  try {
    for await (const due of deliveries.consume(signal)) {
      const { account, url: text } = due.delivery
      const url = URL.parse(text)
      const turn = { account, origin: url?.origin ?? text, url, due }
      const left = queue.add(turn)
      if (left !== undefined) {
        observer.deferred('no_room')
        track(recordResult(context, left.due, Promise.resolve({ kind: 'deferred', deferMs: queue.deferMs(left) })))
      }
      pump()
    }
  } finally {
    while (running.size > 0) await Promise.all(running)
  }
}

/** The result to record. None if the log has taken the delivery back. */
type DeliveryResult =
  | { readonly kind: 'taken_back' }
  | { readonly kind: 'deferred'; readonly deferMs: number; readonly reason?: string }
  | AttemptedDelivery

interface AttemptedDelivery {
  readonly kind: 'attempted'
  readonly attempt: Attempt
  readonly trace: TraceContext | undefined
  readonly next: NextStatus | undefined
  /** On the monotonic clock. */
  readonly endedAt: number
}

type Obstacle = ReturnType<typeof obstacleOf>

/** Why a delivery waits, in words for the tenant, who can mend a missing secret. */
const OBSTACLES: Readonly<Record<Obstacle, string>> = {
  secret_missing: 'the tenant has no webhook secret to sign with',
  secret_unreadable: 'the service cannot open the webhook secret of the tenant: its operator has to mend that',
}

/** Calls the receiver. Defers the delivery if there is no secret to sign with. */
async function attemptDelivery(context: Dispatch, { due, url }: QueuedDelivery): Promise<DeliveryResult> {
  const { directory, clock, settings, observer } = context
  const { delivery, dueAt } = due
  if (due.begin?.() === false) return { kind: 'taken_back' }
  const startedAt = clock.now()
  const known = directory.current().tenants.get(delivery.tenant)
  // A tenant created again under the same name is another tenant.
  const tenant = known?.account === delivery.account ? known : undefined
  const secrets = tenant && settings.signingSecretsOf(tenant, startedAt)
  const obstacle = tenant && secrets === undefined ? obstacleOf(tenant) : undefined
  // The sender of a test event waits for it, so it is not deferred.
  if (obstacle !== undefined && delivery.type !== TEST_EVENT) {
    observer.deferred(obstacle)
    const age = startedAt - delivery.createdAt
    const deferMs = Math.min(Math.max(age, WEBHOOK_SECRET_RETRY_MS_MIN), WEBHOOK_SECRET_RETRY_MS_MAX)
    return { kind: 'deferred', deferMs, reason: OBSTACLES[obstacle] }
  }
  const begunAt = clock.monotonic()
  using observed = observer.calling(due, { url, lateMs: startedAt - dueAt })
  const { trace } = observed
  const answer = tenant && secrets ? await call(context, delivery, { tenant, secrets, trace }) : notSent(obstacle)
  observed.answered(answer)
  const { retryAfter: _retryAfter, ...result } = answer
  const endedAt = clock.monotonic()
  const durationMs = Math.round(endedAt - begunAt)
  const next = nextStatusOf(context, due, answer)
  return { kind: 'attempted', attempt: { startedAt, durationMs, ...result }, trace, next, endedAt }
}

/** Never rejects: a delivery without a record is handed out again after a restart. */
async function recordResult(context: Dispatch, due: DueDelivery, resulting: Promise<DeliveryResult>): Promise<void> {
  const { observer, log, clock } = context
  const retry = { clock, log, signal: context.signal, dependency: 'delivery log' }
  try {
    const result = await resulting
    if (result.kind === 'taken_back') return
    if (result.kind === 'deferred') {
      const defer = () => due.defer(result.deferMs, result.reason)
      return await retryWhileUnavailable(defer, { ...retry, operation: 'defer' })
    }
    const { attempt, next, endedAt } = result
    const record = () => due.record(attempt, next && reducedBy(next, clock.monotonic() - endedAt))
    await retryWhileUnavailable(record, { ...retry, operation: 'record' })
    observer.recorded(due, result)
  } catch (err) {
    observer.notRecorded(due.delivery, err)
  }
}

function reducedBy(next: NextStatus, overMs: number): NextStatus {
  return next.status === 'scheduled' ? { ...next, waitMs: Math.max(Math.ceil(next.waitMs - overMs), 0) } : next
}

/** Without an obstacle, the tenant does not exist. */
function notSent(obstacle: Obstacle | undefined): WebhookResponse {
  return { result: 'blocked', message: obstacle === undefined ? 'the tenant no longer exists' : OBSTACLES[obstacle] }
}

function call(
  { sender, clock, settings }: Dispatch,
  delivery: Delivery,
  { tenant, secrets, trace }: { tenant: Tenant; secrets: SigningSecrets; trace: TraceContext | undefined },
): Promise<WebhookResponse> {
  const timestampS = Math.floor(clock.now() / 1000)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Platen',
    ...signatureHeaders({ ...delivery, timestampS, secrets, brand: settings.brand }),
    ...trace,
  }
  const allowCidrs = cidrsOf(tenant.webhookAllowCidrs ?? [])
  // A running call is not interrupted, even by a drain: the answer of the receiver must be recorded. The sender limits its time. Each call
  // has its own signal, because adding a listener to a shared signal searches all its listeners.
  const { signal } = new AbortController()
  return sender.post({ url: delivery.url, headers, body: delivery.body, allowCidrs }, signal)
}

const GONE = 410

/** Undefined if the status stays as it is. */
function nextStatusOf({ clock, ids }: Dispatch, due: DueDelivery, answer: WebhookResponse): NextStatus | undefined {
  const { result, statusCode, message, retryAfter } = answer
  if (result === 'ok') return { status: 'delivered' }
  if (statusCode === GONE) return { status: 'gone' }
  if (due.isRedelivery) return undefined
  if (result === 'blocked') return { status: 'blocked', ...(message !== undefined && { reason: message }) }
  const waitMs = retryDelayMs({
    attempts: due.attempts + 1,
    retriesMax: due.delivery.retriesMax,
    endedAt: clock.now(),
    random: randomFraction(ids),
    ...(retryAfter !== undefined && { retryAfter }),
  })
  return waitMs === undefined ? { status: 'exhausted' } : { status: 'scheduled', waitMs }
}
