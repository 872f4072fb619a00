/**
 * One render, from the queue until it has left the queue. `runStages` lists its stages, and `finish` lists its endings.
 *
 * Delivery is at least once, and every stage may run twice:
 * - The PDF's key is the hash of its content.
 * - The manifest is created only if there is none.
 * - The event's id follows from the manifest.
 * - The ledger keeps the first outcome.
 * - The limiter charges an id once.
 *
 * So if a process dies between two stages, the next one finishes the render, once. A claim counts the attempt before the work begins, so a
 * render that kills its renderer ends as `render_crashed` and is not tried for ever.
 */

import { NewerFormat } from '@platen/contract/domain/format.ts'
import { QUEUE_AGE_MS_MAX } from '@platen/contract/domain/limit.ts'
import {
  CANCELED,
  endOf,
  type FailedOutcome,
  type Failure,
  type Manifest,
  type RenderRecord,
  renderPrefix,
  UnreadableManifest,
} from '@platen/contract/domain/render.ts'
import type { ClaimResult } from '@platen/contract/port/render-ledger.ts'
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { claimRender, renewClaim } from './claim.ts'
import { crashed, DEFECT, EXPIRED, SUSPENDED } from './classify-error.ts'
import type { Worker } from './port.ts'
import {
  findManifest,
  publishOutcome,
  recordOutcome,
  replyToCaller,
  requireManifest,
  storePdf,
} from './record-outcome.ts'
import { type RenderResult, render } from './render.ts'

type Ending =
  /** This attempt or another one gave it an outcome. */
  | { readonly kind: 'ended'; readonly manifest: Manifest }
  | { readonly kind: 'crashed'; readonly manifest: Manifest }
  | { readonly kind: 'unreadable'; readonly error: UnreadableManifest }
  /** Another renderer has claimed it until `until`, unless it renews its claim. */
  | { readonly kind: 'deferred'; readonly until: Instant }

/**
 * Processes a queued render. If that fails, the render stays in the queue and is delivered again, to others or after a restart. Calls
 * `onRendered` with the size of the document when the engine is free for another one, before the document is stored. Never rejects.
 */
export async function processRender(
  worker: Worker,
  queued: QueuedRender,
  onRendered: (bytes: number) => void,
): Promise<void> {
  const { record } = queued
  try {
    const ending = await runStages(worker, record, onRendered)
      .catch((error: unknown) => failByDefect(worker, record, error))
      .catch(unreadableOrThrow)
    await finish(worker, queued, ending)
  } catch (error) {
    tellUnfinished(worker, record, error)
  }
}

/** Runs as many attempts as needed. Holds the claim of an attempt until its outcome is published. */
async function runStages(worker: Worker, accepted: RenderRecord, onRendered: (bytes: number) => void): Promise<Ending> {
  for (;;) {
    const answer = await claimRender(worker, accepted)
    if (answer.kind !== 'granted') return await endUnclaimed(worker, accepted, answer)
    const { attempt } = answer.claim
    using observed = worker.observer.attempt(accepted, attempt)
    const { record } = observed
    await using claim = renewClaim(worker, record, answer.claim)
    // An earlier attempt may have died between its manifest and its event.
    const earlier = attempt > 1 ? await findManifest(worker, record) : undefined
    if (earlier !== undefined) return endingOf(await publishOutcome(worker, record, earlier))
    const refusal = answer.isCanceled ? CANCELED : refusalOf(worker, record)
    if (refusal !== undefined) return await fail(worker, record, { attempt, error: refusal })
    const result = await render(worker, record, { attempt, claim })
    if (result.kind === 'retry' || result.kind === 'lost') continue
    // The caller gets the bytes before anything is flushed.
    await replyToCaller(worker, record, result)
    onRendered(result.kind === 'rendered' ? result.pdf.byteLength : 0)
    const manifest = await publishOutcome(worker, record, await store(worker, record, { attempt, result }))
    observed.ended(manifest)
    return endingOf(manifest)
  }
}

function store(
  worker: Worker,
  record: RenderRecord,
  { attempt, result }: { readonly attempt: number; readonly result: RenderResult },
): Promise<Manifest> {
  return worker.observer.storing(record, async () => {
    const outcome = await storePdf(worker, record, result)
    return await recordOutcome(worker, record, { attempt, outcome })
  })
}

async function endUnclaimed(
  worker: Worker,
  record: RenderRecord,
  answer: Exclude<ClaimResult, { kind: 'granted' }>,
): Promise<Ending> {
  switch (answer.kind) {
    case 'held':
      return { kind: 'deferred', until: answer.until }
    case 'settled':
      return endingOf(await publishOutcome(worker, record, await requireManifest(worker, record)))
    case 'exhausted':
      return await fail(worker, record, { attempt: answer.attempts, error: crashed(answer.attempts) })
  }
}

/** Why a render must not begin. It can wait long after its admission. */
function refusalOf({ clock, directory }: Worker, record: RenderRecord): Failure | undefined {
  if (clock.now() - record.acceptedAt > QUEUE_AGE_MS_MAX) return EXPIRED
  const tenant = directory.current().tenants.get(record.tenant)
  // A tenant that was deleted and created again under the same name is another tenant.
  return tenant?.account === record.account && tenant.suspended ? SUSPENDED : undefined
}

/**
 * A defect of ours ends the render it hits, so that the render is not tried for ever. A render with a manifest of a newer format has ended
 * already.
 */
async function failByDefect(worker: Worker, record: RenderRecord, error: unknown): Promise<Ending> {
  if (worker.drain.aborted || error instanceof UnreadableManifest || error instanceof NewerFormat) throw error
  worker.observer.failedByDefect(record, error)
  return await fail(worker, record, { attempt: 1, error: DEFECT })
}

async function fail(
  worker: Worker,
  record: RenderRecord,
  { attempt, error }: { readonly attempt: number; readonly error: Failure },
): Promise<Ending> {
  await replyToCaller(worker, record, { kind: 'failed', error, durationMs: 0 })
  const manifest = await recordOutcome(worker, record, { attempt, outcome: failedOutcome(worker, error) })
  return endingOf(await publishOutcome(worker, record, manifest))
}

function failedOutcome({ clock }: Worker, error: Failure): FailedOutcome {
  return { status: 'failed', finishedAt: clock.now(), durationMs: 0, error }
}

function endingOf(manifest: Manifest): Ending {
  const { outcome } = manifest
  const isCrashed = outcome.status === 'failed' && outcome.error.code === 'render_crashed'
  return { kind: isCrashed ? 'crashed' : 'ended', manifest }
}

function unreadableOrThrow(error: unknown): Ending {
  if (error instanceof UnreadableManifest) return { kind: 'unreadable', error }
  throw error
}

function finish(worker: Worker, queued: QueuedRender, ending: Ending): Promise<void> {
  switch (ending.kind) {
    case 'ended':
    case 'crashed':
      return acknowledge(worker, queued, ending)
    case 'unreadable':
      return deadLetterUnreadable(worker, queued, ending.error)
    case 'deferred':
      return worker.deferred.add(queued, ending.until)
  }
}

/** A render that crashed its renderer becomes a dead letter, for an engineer to see. */
async function acknowledge(
  worker: Worker,
  queued: QueuedRender,
  { kind, manifest }: Extract<Ending, { manifest: Manifest }>,
): Promise<void> {
  const { observer, forceStop } = worker
  if (kind === 'ended') {
    await queued.done(forceStop)
  } else {
    await queued.deadLetter('render_crashed', forceStop)
    observer.deadLettered('crashed')
  }
  observer.done(queued.record, manifest)
  await removeStored(worker, queued.record, manifest)
}

/**
 * A render with an unreadable manifest must not block other renders, so it becomes a dead letter. The caller sees a defect, unless an
 * outcome was shown before. Nothing more is charged. Stored objects stay.
 */
async function deadLetterUnreadable(worker: Worker, queued: QueuedRender, error: UnreadableManifest): Promise<void> {
  const { record } = queued
  const { observer, ledger, limiter, forceStop } = worker
  observer.unreadable(record, error)
  await replyToCaller(worker, record, { kind: 'failed', error: DEFECT, durationMs: 0 })
  const shown = endOf(record, 1, failedOutcome(worker, DEFECT))
  await Promise.all([limiter.complete(shown, forceStop), ledger.complete(shown, forceStop)])
  await queued.deadLetter(error.message, forceStop)
  observer.deadLettered('unreadable')
}

/**
 * Deletes the data that only this render needed. For an erased or removed render, deletes everything: the eraser may not have known where
 * it is stored, or a killed renderer stored a PDF later. If the store is unavailable, retention deletes it later together with the render.
 */
async function removeStored(
  { source, artifacts, observer, forceStop }: Worker,
  record: RenderRecord,
  manifest: Manifest,
): Promise<void> {
  const { bucket, prefix } = record.storage
  try {
    await source.removeInput(record, forceStop)
    if (manifest.kind !== 'removed' && manifest.kind !== 'erased') return
    for await (const address of artifacts.list(bucket, renderPrefix(prefix, record.id), forceStop))
      await artifacts.delete(address, forceStop)
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err
    observer.inputNotDeleted(record, err)
  }
}

/** A drain leaves the render to others. Any other error is logged. */
function tellUnfinished({ drain, forceStop, observer }: Worker, record: RenderRecord, err: unknown): void {
  const isLeft = [drain, forceStop].some(({ aborted, reason }) => aborted && err === reason)
  if (isLeft) observer.handedOver(record)
  else observer.notCompleted(record, err)
}
