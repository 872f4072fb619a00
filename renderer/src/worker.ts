/**
 * The second half of the data flow for one engine: take a render from the queue, make its PDF, store it, write the manifest,
 * announce the event, acknowledge.
 *
 * Delivery is at least once, and every step here may be run twice: the PDF's key is its content, the manifest is created only
 * where none is, the event's id follows from the manifest, the ledger keeps the first outcome, and the limiter charges an id once.
 * So a process that dies between any two steps leaves a render that the next one finishes, once. A claim counts the attempt before
 * the work, so a render that kills its renderer ends as `render_crashed` instead of circling.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type Bell, bell, firstOf } from '@platen/contract/bell.ts'
import type { Instant } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { type EventKey, eventOf } from '@platen/contract/event.ts'
import { CLAIM_LEASE_MS, CLAIM_RENEW_MS, PDF_BYTES_MAX, QUEUE_AGE_MS_MAX } from '@platen/contract/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { Claim, Lease, RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderConsumer, RenderDelivery, RenderQueue } from '@platen/contract/port/render-queue.ts'
import type { DeadLetterReason, RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import type { Reply, ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import {
  type ArtifactAddress,
  decodeManifest,
  encodeManifest,
  type Failure,
  isAbandoned,
  LANES,
  type Lane,
  type Manifest,
  manifestKey,
  manifestOf,
  type Outcome,
  pdfKey,
  type RenderRecord,
  UnreadableManifest,
} from '@platen/contract/render.ts'
import { repeatWhileUnavailable } from '@platen/contract/repeat.ts'
import type { RenderEngine, Rendering } from './engine/engine.ts'
import { crashed, DEFECT, EXPIRED, judge, SUSPENDED, type Verdict } from './worker/outcome.ts'
import { type Load, laneOrder, lanesNow, syncAlone, syncSlotsOf, type Turn, turnAfter } from './worker/slots.ts'
import { openWorkSource, type WorkSource } from './worker/work-source.ts'

export interface WorkerPorts {
  readonly queue: RenderQueue
  readonly ledger: RenderLedger
  readonly artifacts: ArtifactStore
  readonly events: EventLog
  readonly replies: ReplyChannel
  readonly limiter: Limiter
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
  readonly meter: RendererMeter
}

export interface WorkerSettings {
  /** Names this process and this start of it in claims. */
  readonly owner: string
  /** Where manifests and templates stand. */
  readonly serviceBucket: string
  readonly eventKey: EventKey
  /** The lanes it takes renders from; absent = all. */
  readonly lanes?: readonly Lane[]
}

/**
 * Serves one engine's queue with as many slots as the engine has, some of them for sync renders alone, until `signal` aborts. Resolves when the renders then running have ended and are acknowledged.
 */
export async function runWorker(
  ports: WorkerPorts,
  engine: RenderEngine,
  options: { settings: WorkerSettings; signal: AbortSignal },
): Promise<void> {
  const { settings, signal } = options
  await using consumer = await ports.queue.consume(engine.name, signal)
  const source = openWorkSource(ports.artifacts, settings.serviceBucket)
  const load: Load = { sync: 0, others: 0 }
  const syncSlots = syncSlotsOf(engine.slots, settings.lanes ?? LANES)
  const worker: Worker = { ...ports, engine, settings, source, load, syncSlots, eased: bell(), stopping: signal }
  ports.meter.serving(engine.name, engine.slots)
  const orderOf = (slot: number) => (slot < syncSlots ? syncAlone : laneOrder)
  await Promise.all(Array.from({ length: engine.slots }, (_, slot) => serveSlot(worker, consumer, orderOf(slot))))
}

interface Worker extends WorkerPorts {
  readonly engine: RenderEngine
  readonly settings: WorkerSettings
  readonly source: WorkSource
  /** What its slots are at, and rung when that has become less. */
  readonly load: Load
  readonly syncSlots: number
  readonly eased: Bell
  readonly stopping: AbortSignal
}

/** Steps that end a render are not cut short by a shutdown: they are what a drain waits for. Their adapters bound them. */
const NEVER = new AbortController().signal

async function serveSlot(worker: Worker, consumer: RenderConsumer, order: typeof laneOrder): Promise<void> {
  let turn: Turn = 0
  const { engine, load, syncSlots, eased, stopping, meter, settings } = worker
  const { lanes: served = LANES } = settings
  while (!stopping.aborted) {
    const lanes = lanesNow(order(turn), { served, load, slots: engine.slots - syncSlots })
    const delivery = take(consumer, lanes)
    if (delivery === undefined) {
      const waits = [(signal: AbortSignal) => consumer.arrival(signal), (signal: AbortSignal) => eased.rung(signal)]
      await firstOf(waits, stopping).catch(rethrowUnless(stopping))
      continue
    }
    const { lane } = delivery.record
    turn = turnAfter(turn, lane)
    const kind = lane === 'sync' ? 'sync' : 'others'
    using _busy = meter.busy(engine.name)
    load[kind] += 1
    await finish(worker, delivery)
    load[kind] -= 1
    eased.ring()
  }
}

function take(consumer: RenderConsumer, lanes: readonly Lane[]): RenderDelivery | undefined {
  for (const lane of lanes) {
    const delivery = consumer.poll(lane)
    if (delivery !== undefined) return delivery
  }
  return undefined
}

/** Brings one delivery to its end. One that could not be ended stays in the queue and is given out again after a restart. */
async function finish(worker: Worker, delivery: RenderDelivery): Promise<void> {
  const { id: render, tenant } = delivery.record
  await end(worker, delivery)
    .catch((error: unknown) => putAside(worker, delivery, error))
    .catch((err: unknown) => worker.log.error({ render, tenant, err }, 'render left unfinished'))
}

async function end(worker: Worker, delivery: RenderDelivery): Promise<void> {
  const { record } = delivery
  const manifest = await settle(worker, record).catch((error: unknown) => settleDefect(worker, record, error))
  if (isPoison(manifest)) await bury(worker, delivery, { reason: 'render_crashed', counted: 'crashed' })
  else await insist(worker, () => delivery.done(NEVER))
  logOutcome(worker, manifest)
  await worker.source.sweep(record, NEVER)
}

async function bury(
  worker: Worker,
  delivery: RenderDelivery,
  { reason, counted }: { readonly reason: string; readonly counted: DeadLetterReason },
): Promise<void> {
  await insist(worker, () => delivery.bury(reason, NEVER))
  worker.meter.buried(counted)
}

/**
 * A render has ended and its manifest cannot be read: nothing can be told of it, and it must not stand in the way of others. Its caller
 * is shown a defect, unless an outcome is shown already, and nothing is charged that is not charged already. What was stored stays.
 */
async function putAside(worker: Worker, delivery: RenderDelivery, error: unknown): Promise<void> {
  if (!(error instanceof UnreadableManifest)) throw error
  const { record } = delivery
  const { log, replies, ledger, limiter, clock } = worker
  log.error({ render: record.id, tenant: record.tenant, err: error }, 'render put aside')
  if (record.mode === 'sync') await replies.answer(record.id, replyOf({ failure: DEFECT, durationMs: 0 }), NEVER)
  const outcome = { status: 'failed', finishedAt: clock.now(), durationMs: 0, error: DEFECT } as const
  const shown = manifestOf(record, 1, outcome)
  await insist(worker, () => Promise.all([limiter.settle(shown, NEVER), ledger.settle(shown, NEVER)]))
  await bury(worker, delivery, { reason: error.message, counted: 'unreadable' })
}

/** Did it bring its renderers down, as often as it was started? Then somebody will want to see what it was. */
function isPoison({ outcome }: Manifest): boolean {
  return outcome.status === 'failed' && outcome.error.code === 'render_crashed'
}

/** A defect of ours ends the render it hit, instead of circling with it. */
async function settleDefect(worker: Worker, record: RenderRecord, error: unknown): Promise<Manifest> {
  if (worker.stopping.aborted || error instanceof UnreadableManifest) throw error
  worker.log.error({ render: record.id, tenant: record.tenant, err: error }, 'render hit a defect')
  return await conclude(worker, record, { attempt: 1, failure: DEFECT, durationMs: 0 })
}

/** Claims and renders until there is a manifest, and makes everything that follows from it durable. */
async function settle(worker: Worker, record: RenderRecord): Promise<Manifest> {
  const { ledger, clock, engine } = worker
  for (;;) {
    // A claim counts as an attempt, and the deadline begins with it: neither is spent on waiting for a browser that does not start.
    await engine.ready(worker.stopping)
    const answer = await insist(worker, () => ledger.claim(record, leaseOf(worker), NEVER))
    switch (answer.kind) {
      case 'held':
        await clock.sleep(Math.max(answer.until - clock.now(), 1), worker.stopping)
        continue
      case 'settled':
        return await announce(worker, await mustReadManifest(worker, record))
      case 'exhausted':
        return await conclude(worker, record, {
          attempt: answer.attempts,
          failure: crashed(answer.attempts),
          durationMs: 0,
        })
      case 'granted': {
        const manifest = await attempt(worker, record, answer.claim)
        if (manifest !== undefined) return manifest
      }
    }
  }
}

/** One attempt. Undefined when it is to be tried again: the renderer crashed under it, or the claim was lost. */
async function attempt(worker: Worker, record: RenderRecord, claim: Claim): Promise<Manifest | undefined> {
  // An earlier attempt may have died between its manifest and its event.
  const earlier = claim.attempt > 1 ? await insist(worker, () => readManifest(worker, record)) : undefined
  if (earlier !== undefined) return await announce(worker, earlier)
  const failure = refusalOf(worker, record)
  if (failure !== undefined) return await conclude(worker, record, { attempt: claim.attempt, failure, durationMs: 0 })
  const result = await render(worker, record, claim)
  return result === undefined ? undefined : await conclude(worker, record, { attempt: claim.attempt, ...result })
}

/** Why a render is not begun: what was admitted may have waited for long. */
function refusalOf({ clock, directory }: Worker, record: RenderRecord): Failure | undefined {
  if (clock.now() - record.acceptedAt > QUEUE_AGE_MS_MAX) return EXPIRED
  const tenant = directory.current().tenants.get(record.tenant)
  // One made anew under the old name is another tenant.
  return tenant?.incarnation === record.account && tenant.suspended ? SUSPENDED : undefined
}

type Result = (Rendering & { readonly durationMs: number }) | { readonly failure: Failure; readonly durationMs: number }

/** Runs the engine under the render's deadline, holding the claim. Undefined = try again. */
async function render(worker: Worker, record: RenderRecord, claim: Claim): Promise<Result | undefined> {
  const { clock, engine, replies } = worker
  // The deadline is the template's: fetching what the render needs is not part of it.
  const [work] = await Promise.all([
    insist(worker, () => worker.source.workOf(record, NEVER)),
    // The API confirms it too, unless it died or did not reach the limiter.
    insist(worker, () => worker.limiter.confirm(record, NEVER)),
  ])
  const over = new AbortController()
  const loss = holdClaim(worker, claim, over.signal)
  const deadline = clock.timeout(record.deadlineMs)
  const departure = record.mode === 'sync' ? replies.departure(record.id, over.signal) : NEVER
  const begunAt = clock.monotonic()
  const durationMs = () => Math.round(clock.monotonic() - begunAt)
  try {
    if (record.mode === 'sync') replies.announce(record.id)
    worker.meter.begun(record, { attempt: claim.attempt, waitedMs: clock.now() - record.acceptedAt })
    worker.log.debug({ render: record.id, tenant: record.tenant, attempt: claim.attempt }, 'render begun')
    const signal = AbortSignal.any([deadline, departure, loss])
    const rendering = await engine.render(work, signal)
    refuseOversize(rendering.pdf)
    return { ...rendering, durationMs: durationMs() }
  } catch (error) {
    const verdict = judge(error, { deadline, departure, loss }, record.deadlineMs)
    logVerdict(worker, record, { verdict, attempt: claim.attempt, err: error })
    return verdict.kind === 'failed' ? { failure: verdict.failure, durationMs: durationMs() } : undefined
  } finally {
    over.abort()
  }
}

function refuseOversize({ byteLength }: Uint8Array): void {
  if (byteLength <= PDF_BYTES_MAX) return
  throw new ServiceError('template_error', `the PDF is ${byteLength} bytes; at most ${PDF_BYTES_MAX} are allowed`)
}

/** Renews a claim until `over`; the signal aborts when the claim is lost. A ledger that is away costs nothing until the lease lapses. */
function holdClaim(worker: Worker, claim: Claim, over: AbortSignal): AbortSignal {
  const lost = new AbortController()
  const renew = async () => {
    while (!over.aborted) {
      await worker.clock.sleep(CLAIM_RENEW_MS, over)
      const isHeld = await worker.ledger.renew(claim, leaseOf(worker), over).catch(() => true)
      if (!isHeld) return lost.abort(new Error('the claim was taken over'))
    }
  }
  renew().catch(rethrowUnless(over))
  return lost.signal
}

/** Answers the sync caller, who gets the bytes before anything is flushed, and then makes the outcome durable. */
async function conclude(worker: Worker, record: RenderRecord, end: { attempt: number } & Result): Promise<Manifest> {
  if (record.mode === 'sync') await worker.replies.answer(record.id, replyOf(end), NEVER)
  const finishedAt = worker.clock.now()
  const manifest = await insist(worker, async () => {
    const outcome = await store(worker, record, { ...end, finishedAt })
    return await writeManifest(worker, record, manifestOf(record, end.attempt, outcome))
  })
  worker.meter.ended(record, manifest.outcome)
  return await announce(worker, manifest)
}

function replyOf(result: Result): Reply {
  return 'pdf' in result
    ? { kind: 'rendered', pdf: result.pdf, durationMs: result.durationMs }
    : { kind: 'failed', error: result.failure, durationMs: result.durationMs }
}

async function store(
  { artifacts }: Worker,
  record: RenderRecord,
  end: { finishedAt: Instant } & Result,
): Promise<Outcome> {
  const { finishedAt, durationMs } = end
  if ('failure' in end) return { status: 'failed', finishedAt, durationMs, error: end.failure }
  const { warnings } = end
  const sha256 = createHash('sha256').update(end.pdf).digest('hex')
  const address: ArtifactAddress = { bucket: record.storage.bucket, key: pdfKey(record, sha256) }
  await artifacts.put(address, end.pdf, NEVER)
  const pdf = { address, bytes: end.pdf.byteLength, sha256 }
  return { status: 'succeeded', finishedAt, durationMs, pdf, ...(warnings.length > 0 && { warnings }) }
}

/** The manifest that counts: this one, or the one that was quicker. Then this attempt's PDF is taken away again. */
async function writeManifest(worker: Worker, record: RenderRecord, manifest: Manifest): Promise<Manifest> {
  const { artifacts } = worker
  if (await artifacts.create(manifestAddress(worker, record), encodeManifest(manifest), NEVER)) return manifest
  const winner = await mustReadManifest(worker, record)
  const [mine, kept] = [manifest.outcome, winner.outcome]
  const isKept =
    kept.status === 'succeeded' && mine.status === 'succeeded' && kept.pdf.address.key === mine.pdf.address.key
  if (mine.status === 'succeeded' && !isKept) await artifacts.delete(mine.pdf.address, NEVER)
  return winner
}

/**
 * What follows from a manifest: the event, unless the API abandoned the render, the charge or its refund, and the status view. The
 * view comes last: a store that keeps all three in order then shows no render as ended that was not charged.
 */
async function announce(worker: Worker, manifest: Manifest): Promise<Manifest> {
  const { events, ledger, limiter, settings } = worker
  await insist(worker, async () => {
    const event = isAbandoned(manifest) ? undefined : events.append(eventOf(manifest, settings.eventKey), NEVER)
    await Promise.all([event, limiter.settle(manifest, NEVER), ledger.settle(manifest, NEVER)])
  })
  return manifest
}

async function readManifest(worker: Worker, record: RenderRecord): Promise<Manifest | undefined> {
  const bytes = await worker.artifacts.get(manifestAddress(worker, record), NEVER)
  return bytes === undefined ? undefined : decodeManifest(bytes)
}

async function mustReadManifest(worker: Worker, record: RenderRecord): Promise<Manifest> {
  const manifest = await insist(worker, () => readManifest(worker, record))
  assert(manifest !== undefined, 'a render that has ended has a manifest')
  return manifest
}

function manifestAddress({ settings }: Worker, record: RenderRecord): ArtifactAddress {
  return { bucket: settings.serviceBucket, key: manifestKey(record.id) }
}

function leaseOf({ settings }: Worker): Lease {
  return { owner: settings.owner, leaseMs: CLAIM_LEASE_MS }
}

/** The slot waits with what cannot be reached: other renders would fare no better, and one whose outcome is known must not be rendered again. */
function insist<T>({ clock, log, stopping }: Worker, step: () => Promise<T>): Promise<T> {
  return repeatWhileUnavailable(step, { clock, log, signal: stopping })
}

function rethrowUnless(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

function logOutcome({ log }: Worker, { render, attempt, outcome }: Manifest): void {
  const fields = {
    render: render.id,
    tenant: render.tenant,
    engine: render.engine,
    template: render.template.code,
    attempt,
  }
  const { durationMs } = outcome
  if (outcome.status === 'succeeded') log.info({ ...fields, durationMs, bytes: outcome.pdf.bytes }, 'render succeeded')
  else log.info({ ...fields, durationMs, code: outcome.error.code }, 'render failed')
}

/** A template's own failure is the tenant's business and stands in the outcome; only what is ours is logged on its own. */
function logVerdict(
  { log }: Worker,
  record: RenderRecord,
  end: { verdict: Verdict; attempt: number; err: unknown },
): void {
  const fields = { render: record.id, tenant: record.tenant, attempt: end.attempt, err: end.err }
  if (end.verdict.kind === 'retry') log.warn(fields, 'renderer crashed')
  else if (end.verdict.kind === 'lost') log.warn(fields, 'claim lost')
  else if (end.verdict.failure.code === 'internal') log.error(fields, 'render hit a defect')
}
