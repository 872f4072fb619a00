/** The stages that end a render: the reply to its caller, its PDF, its manifest, and what is published of it. */
import assert from 'node:assert/strict'
import { eventIdOf, eventOf } from '@platen/contract/domain/event.ts'
import {
  type ArtifactAddress,
  CANCELED,
  type Cancellation,
  decodeManifest,
  type EndedManifest,
  encodeManifest,
  endOf,
  erasedEndOf,
  type Manifest,
  manifestAddress,
  type Outcome,
  pdfKey,
  type RemovedManifest,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import { warningCountOf, warningsIn } from '@platen/contract/domain/warning.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import { firstAborted } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { STORE_UNAVAILABLE } from './classify-error.ts'
import { beforeDeadline, type Worker } from './port.ts'
import type { RenderResult } from './render.ts'

/** Sends the reply to a sync caller if possible. If not, the caller can still read the outcome. */
export async function replyToCaller(worker: Worker, record: RenderRecord, result: RenderResult): Promise<void> {
  const { replies, observer, forceStop } = worker
  if (record.mode !== 'sync') return
  try {
    await observer.replying(record, () => replies.reply(record.id, replyOf(result), forceStop))
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err
    observer.replyLost(record, err)
  }
}

function replyOf(result: RenderResult): Reply {
  if (result.kind === 'failed') {
    const { kind, error, durationMs } = result
    return { kind, error, durationMs }
  }
  const { kind, pdf, sha256, durationMs, pages } = result
  return { kind, pdf: [pdf], sha256, durationMs, pages, warnings: warningCountOf(result) }
}

export async function storePdf(worker: Worker, record: RenderRecord, result: RenderResult): Promise<Outcome> {
  const end = { finishedAt: worker.clock.now(), durationMs: result.durationMs }
  const warned = warningsIn(result)
  if (result.kind === 'failed') return { status: 'failed', ...end, error: result.error, ...warned }
  const { storeDeadline, pages, sha256 } = result
  const address: ArtifactAddress = { bucket: record.storage.bucket, key: pdfKey(record, sha256) }
  using until = firstAborted([worker.forceStop, storeDeadline])
  const put = worker.pdfs.put(address, result.pdf, until.signal).then(() => true)
  const isStored = await beforeDeadline(storeDeadline, put)
  if (isStored) {
    const pdf = { address, bytes: result.pdf.byteLength, sha256 }
    return { status: 'succeeded', ...end, pdf, pages, ...warned }
  }
  worker.observer.pdfNotStored(record)
  return { status: 'failed', ...end, error: STORE_UNAVAILABLE }
}

/**
 * Writes the manifest. Returns the manifest that counts: this one, or the one that another attempt wrote first. If the other one counts,
 * deletes this attempt's PDF.
 */
export async function recordOutcome(
  worker: Worker,
  record: RenderRecord,
  { attempt, outcome }: { readonly attempt: number; readonly outcome: Outcome },
): Promise<Manifest> {
  const { artifacts, observer, settings, forceStop } = worker
  let manifest: Manifest = await manifestOf(worker, record, { attempt, outcome })
  const encoded = encodeManifest(manifest)
  if (!(await artifacts.create(manifestAddress(record.id, settings.serviceBucket), encoded, forceStop))) {
    manifest = await requireManifest(worker, record)
    const pdf = pdfOf(outcome)
    if (pdf !== undefined && pdf.key !== pdfOf(manifest.outcome)?.key) await artifacts.delete(pdf, forceStop)
  }
  // A cancellation is counted when it is completed.
  if (manifest.kind !== 'canceled') observer.decided(record, manifest)
  return manifest
}

async function manifestOf(
  { source, settings, forceStop }: Worker,
  record: RenderRecord,
  { attempt, outcome }: { readonly attempt: number; readonly outcome: Outcome },
): Promise<EndedManifest> {
  const end = endOf(await source.withRequest(record, forceStop), attempt, outcome)
  return { ...end, eventId: eventIdOf(end, settings.eventKey()) }
}

/**
 * Replaces a cancellation by the manifest of its render, and answers a sync caller. Two renderers may do this at once, and write the same.
 * An erasure at this very moment may be overwritten; its order finds the render again.
 */
async function completeCancellation(
  worker: Worker,
  record: RenderRecord,
  { outcome }: Cancellation,
): Promise<EndedManifest> {
  const { artifacts, observer, settings, forceStop } = worker
  const manifest = await manifestOf(worker, record, { attempt: 1, outcome })
  const address = manifestAddress(record.id, settings.serviceBucket)
  await artifacts.put(address, encodeManifest(manifest), forceStop)
  observer.decided(record, manifest)
  await replyToCaller(worker, record, { kind: 'failed', error: CANCELED, durationMs: 0 })
  return manifest
}

function pdfOf(outcome: Outcome): ArtifactAddress | undefined {
  return outcome.status === 'succeeded' ? outcome.pdf.address : undefined
}

/**
 * Publishes what follows from a manifest: the event (unless the render was abandoned or erased), the charge or refund, and the status view.
 * The view comes last, so a store that keeps all three in order shows no render as ended before it was charged.
 */
export async function publishOutcome(worker: Worker, record: RenderRecord, found: Manifest): Promise<Manifest> {
  const { ledger, limiter, forceStop } = worker
  const manifest = found.kind === 'canceled' ? await completeCancellation(worker, record, found) : found
  const end = manifest.kind === 'erased' ? erasedEndOf(record, manifest) : manifest
  await Promise.all([
    'eventId' in manifest ? appendEvent(worker, manifest) : undefined,
    limiter.complete(end, forceStop),
    ledger.complete(end, forceStop),
  ])
  return manifest
}

function appendEvent(
  { events, observer, forceStop }: Worker,
  manifest: EndedManifest | RemovedManifest,
): Promise<void> {
  const event = eventOf(manifest)
  return observer.sending(event, () => events.append(event, forceStop))
}

/** Undefined if the render has no outcome yet. */
export async function findManifest(worker: Worker, record: RenderRecord): Promise<Manifest | undefined> {
  const bytes = await worker.artifacts.get(manifestAddress(record.id, worker.settings.serviceBucket), worker.forceStop)
  return bytes && decodeManifest(bytes)
}

export async function requireManifest(worker: Worker, record: RenderRecord): Promise<Manifest> {
  const manifest = await findManifest(worker, record)
  assert(manifest !== undefined, 'a render that has ended has a manifest')
  return manifest
}
