/**
 * Deliveries as they fall due: sign, call, record, schedule again. What is due and waits for its turn is known in memory only, and held
 * by the log until it is recorded: a process that dies loses no delivery, and repeats a call only where it died between a receiver's
 * answer and the record of it.
 */
import { cidrsOf } from '@platen/contract/address.ts'
import { randomFraction } from '@platen/contract/back-off.ts'
import type { Instant } from '@platen/contract/brand.ts'
import type { Attempt, Delivery } from '@platen/contract/delivery.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DeliveryLog, DueDelivery, NextStatus } from '@platen/contract/port/delivery-log.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { WebhookMeter } from '@platen/contract/port/webhook-meter.ts'
import type { WebhookResponse, WebhookSender } from '@platen/contract/port/webhook-sender.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import { WEBHOOK_SECRET_RETRY_MS_MAX, WEBHOOK_SECRET_RETRY_MS_MIN } from '@platen/contract/webhook-limit.ts'
import type { SigningSecrets } from '@platen/contract/webhook-secret.ts'
import { scheduleDeliveries } from './delivery-scheduler.ts'
import { FairQueue } from './fair-queue.ts'
import { retryDelayMs } from './retry-delay.ts'
import { signatureHeaders } from './sign.ts'

export interface DispatcherPorts {
  readonly events: Pick<EventLog, 'follow'>
  readonly deliveries: Pick<DeliveryLog, 'schedule' | 'consume'>
  readonly directory: Directory
  readonly sender: WebhookSender
  readonly meter: Omit<WebhookMeter, 'buried'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

export interface DispatcherSettings {
  readonly brand: string
  /** How many attempts may follow the first, after an async render. */
  readonly retriesMax: number
  /** The secrets a tenant's deliveries are signed with now; undefined while they cannot be had. */
  signingSecretsOf(tenant: Tenant, now: Instant): SigningSecrets | undefined
}

/** Delivers until `signal` aborts. Resolves when the calls then made have ended and are recorded. */
export async function runDispatcher(
  ports: DispatcherPorts,
  settings: DispatcherSettings,
  signal: AbortSignal,
): Promise<void> {
  const retry = { ...ports, signal }
  // Each begins again where its log could not be reached, such as on a full disk: what it had in hand it still has. Being told to stop
  // is how each ends by itself, so that one that has nothing more to do cuts nothing short for the other.
  const untilStopped = async (step: () => Promise<void>) => {
    await retryWhileUnavailable(step, retry).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }
  await Promise.all([
    untilStopped(() => scheduleDeliveries({ ...ports, ...settings }, signal)),
    untilStopped(() => dispatch({ ...ports, settings, signal })),
  ])
}

interface Dispatch extends DispatcherPorts {
  readonly settings: DispatcherSettings
  readonly signal: AbortSignal
}

/** A due delivery with its place in the queue. */
interface QueuedDelivery {
  readonly tenant: string
  readonly origin: string
  readonly due: DueDelivery
}

async function dispatch(context: Dispatch): Promise<void> {
  const { deliveries, signal, clock } = context
  const queue = new FairQueue<QueuedDelivery>()
  const running = new Set<Promise<void>>()
  const track = (step: Promise<void>) => {
    running.add(step)
    void step.finally(() => running.delete(step))
  }
  const pump = () => {
    while (!signal.aborted) {
      const turn = queue.next()
      if (turn === undefined) return
      track(processDelivery(turn))
    }
  }
  const processDelivery = async (turn: QueuedDelivery) => {
    const begunAt = clock.monotonic()
    const conclusion = attempt(context, turn.due)
    // Whatever becomes of it: the next call need not wait for the record of this one.
    await conclusion.catch(() => undefined)
    queue.ended(turn, clock.monotonic() - begunAt)
    pump()
    await completeDelivery(context, turn.due, conclusion)
  }
  try {
    for await (const due of deliveries.consume(signal)) {
      const turn = { tenant: due.delivery.account, origin: originOf(due.delivery), due }
      if (queue.add(turn)) pump()
      else {
        context.meter.deferred('no_room')
        track(completeDelivery(context, due, Promise.resolve({ deferMs: queue.deferMs(turn) })))
      }
    }
  } finally {
    while (running.size > 0) await Promise.all(running)
  }
}

/** Whoever wrote it has seen that it is a URL; should a later version think otherwise, the sender says so. */
function originOf({ url }: Delivery): string {
  return URL.parse(url)?.origin ?? url
}

/** What is to be written down of a delivery that was taken up. */
type DeliveryResult = { readonly deferMs: number; readonly reason?: string } | AttemptedDelivery

interface AttemptedDelivery {
  readonly attemptDelivery: Attempt
  readonly next: NextStatus | undefined
  /** Of `monotonic`. */
  readonly endedAt: number
}

/** Calls the receiver, unless there is nothing to sign with. */
async function attempt(context: Dispatch, due: DueDelivery): Promise<DeliveryResult> {
  const { directory, clock, settings, meter } = context
  const { delivery, dueAt } = due
  const startedAt = clock.now()
  const known = directory.current().tenants.get(delivery.tenant)
  // One made anew under the old name is another tenant.
  const tenant = known?.incarnation === delivery.account ? known : undefined
  const secrets = tenant && settings.signingSecretsOf(tenant, startedAt)
  if (tenant !== undefined && secrets === undefined) {
    meter.deferred('no_secret')
    const age = startedAt - delivery.createdAt
    const deferMs = Math.min(Math.max(age, WEBHOOK_SECRET_RETRY_MS_MIN), WEBHOOK_SECRET_RETRY_MS_MAX)
    return { deferMs, reason: 'the tenant has no webhook secret to sign with' }
  }
  meter.begun(startedAt - dueAt)
  const begunAt = clock.monotonic()
  const answer = tenant && secrets ? await call(context, delivery, { tenant, secrets }) : TENANT_GONE
  const { retryAfter: _retryAfter, ...told } = answer
  const endedAt = clock.monotonic()
  const durationMs = Math.round(endedAt - begunAt)
  return { attemptDelivery: { startedAt, durationMs, ...told }, next: nextStatusOf(context, due, answer), endedAt }
}

/** Writes it down. Never rejects: a delivery of which nothing could be written is given out again after a restart. */
async function completeDelivery(
  context: Dispatch,
  due: DueDelivery,
  concluded: Promise<DeliveryResult>,
): Promise<void> {
  const { meter, log, clock } = context
  const { id, tenant } = due.delivery
  try {
    const conclusion = await concluded
    if ('deferMs' in conclusion) {
      const { deferMs, reason } = conclusion
      return await retryWhileUnavailable(() => due.defer(deferMs, reason), context)
    }
    const { attemptDelivery, next, endedAt } = conclusion
    const record = () => due.record(attemptDelivery, next && reducedBy(next, clock.monotonic() - endedAt))
    await retryWhileUnavailable(record, context)
    meter.attempted(attemptDelivery.result, attemptDelivery.durationMs)
    if (next !== undefined && next.status !== 'scheduled') meter.ended(next.status)
    logAttempt(log, due, conclusion)
  } catch (err) {
    log.error({ delivery: id, tenant, err }, 'delivery result not recorded')
  }
}

/** What is left of a wait of which so much is over. */
function reducedBy(next: NextStatus, overMs: number): NextStatus {
  return next.status === 'scheduled' ? { ...next, waitMs: Math.max(Math.ceil(next.waitMs - overMs), 0) } : next
}

const TENANT_GONE: WebhookResponse = { result: 'blocked', message: 'the tenant is no more' }

function call(
  { sender, clock, settings }: Dispatch,
  delivery: Delivery,
  { tenant, secrets }: { tenant: Tenant; secrets: SigningSecrets },
): Promise<WebhookResponse> {
  const timestampS = Math.floor(clock.now() / 1000)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Platen',
    ...signatureHeaders({ ...delivery, timestampS, secrets, brand: settings.brand }),
  }
  const allowCidrs = cidrsOf(tenant.webhookAllowCidrs ?? [])
  // A call that has begun is waited for, also by a drain: what the receiver answered must be written down. The sender bounds it. And a
  // signal of its own, as listeners on a shared one are searched at each call.
  const { signal } = new AbortController()
  return sender.post({ url: delivery.url, headers, body: delivery.body, allowCidrs }, signal)
}

const GONE = 410

/** What follows from an answer; undefined where the delivery goes on as it was. */
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

function logAttempt(log: Log, { delivery, attempts }: DueDelivery, { attemptDelivery, next }: AttemptedDelivery): void {
  const { result, statusCode, durationMs, message } = attemptDelivery
  const fields = {
    delivery: delivery.id,
    render: delivery.render,
    tenant: delivery.tenant,
    attempts: attempts + 1,
    result,
    statusCode,
    durationMs,
    message,
  }
  const status = next?.status
  if (result === 'ok') log.debug(fields, 'webhook delivered')
  else if (status === 'scheduled' || status === undefined) log.info(fields, 'webhook attempt failed')
  else log.warn({ ...fields, status }, 'webhook delivery ended without success')
}
