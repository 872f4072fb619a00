/** Ends a render: replies to the caller, stores the PDF, writes the manifest, and publishes what follows from it. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Instant } from '@platen/contract/brand.ts'
import { eventOf } from '@platen/contract/event.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import {
  type ArtifactAddress,
  decodeManifest,
  encodeManifest,
  isAbandoned,
  type Manifest,
  manifestKey,
  manifestOf,
  type Outcome,
  pdfKey,
  type RenderRecord,
} from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { STORE_UNAVAILABLE } from './classify-error.ts'
import { retryUntil, type Worker, withRetry } from './port.ts'
import type { RenderResult } from './render.ts'

/** Replies to the sync caller and then makes the outcome durable. The caller gets the bytes before anything is flushed. */
export async function recordOutcome(
  worker: Worker,
  record: RenderRecord,
  end: { attempt: number } & RenderResult,
): Promise<Manifest> {
  if (record.mode === 'sync') await replyToCaller(worker, record, replyOf(end))
  const finishedAt = worker.clock.now()
  const outcome = await storePdf(worker, record, { ...end, finishedAt })
  const manifest = await withRetry(worker, (signal) =>
    writeManifest(worker, manifestOf(record, end.attempt, outcome), signal),
  )
  worker.meter.ended(record, manifest.outcome)
  return await publishOutcome(worker, manifest)
}

/** Sends the reply if that is possible now. If not, the caller can still read the outcome. */
export async function replyToCaller(
  { replies, log, forceStop }: Worker,
  record: RenderRecord,
  reply: Reply,
): Promise<void> {
  try {
    await replies.reply(record.id, reply, forceStop)
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err
    log.warn({ render: record.id, tenant: record.tenant, err }, 'reply not delivered')
  }
}

function replyOf(result: RenderResult): Reply {
  return 'pdf' in result
    ? { kind: 'rendered', pdf: result.pdf, durationMs: result.durationMs }
    : { kind: 'failed', error: result.failure, durationMs: result.durationMs }
}

/** Stores the PDF and returns the outcome. Storing gets at least one whole try, however long the rest took. */
async function storePdf(
  worker: Worker,
  record: RenderRecord,
  end: { finishedAt: Instant } & RenderResult,
): Promise<Outcome> {
  const { finishedAt, durationMs } = end
  if ('failure' in end) return { status: 'failed', finishedAt, durationMs, error: end.failure }
  const { warnings } = end
  const sha256 = createHash('sha256').update(end.pdf).digest('hex')
  const address: ArtifactAddress = { bucket: record.storage.bucket, key: pdfKey(record, sha256) }
  const pdf = { address, bytes: end.pdf.byteLength, sha256 }
  const stored = await retryUntil(worker, end.storeDeadline, async () => {
    await worker.artifacts.put(address, end.pdf, worker.forceStop)
    return pdf
  })
  if (stored === undefined) worker.log.warn({ render: record.id, tenant: record.tenant }, 'pdf not stored in time')
  if (stored === undefined) return { status: 'failed', finishedAt, durationMs, error: STORE_UNAVAILABLE }
  return { status: 'succeeded', finishedAt, durationMs, pdf: stored, ...(warnings.length > 0 && { warnings }) }
}

/**
 * Returns the manifest that counts: this one, or the one that another attempt wrote first. If the other one counts, deletes this attempt's
 * PDF.
 */
async function writeManifest(worker: Worker, manifest: Manifest, signal: AbortSignal): Promise<Manifest> {
  const { artifacts } = worker
  const { id } = manifest.render
  if (await artifacts.create(manifestAddress(worker, id), encodeManifest(manifest), signal)) return manifest
  const winner = await requireManifest(worker, id)
  const [mine, kept] = [manifest.outcome, winner.outcome]
  const isKept =
    kept.status === 'succeeded' && mine.status === 'succeeded' && kept.pdf.address.key === mine.pdf.address.key
  if (mine.status === 'succeeded' && !isKept) await artifacts.delete(mine.pdf.address, signal)
  return winner
}

/**
 * Publishes what follows from a manifest: the event (unless the API abandoned the render), the charge or refund, and the status view. The
 * view comes last. So a store that keeps all three in order shows no render as ended before it was charged.
 */
export async function publishOutcome(worker: Worker, manifest: Manifest): Promise<Manifest> {
  const { events, ledger, limiter, settings } = worker
  await withRetry(worker, async (signal) => {
    const event = isAbandoned(manifest) ? undefined : events.append(eventOf(manifest, settings.eventKey), signal)
    await Promise.all([event, limiter.complete(manifest, signal), ledger.complete(manifest, signal)])
  })
  return manifest
}

/** Reads the outcome of a render, if there is one. */
export function findManifest(worker: Worker, id: RenderId): Promise<Manifest | undefined> {
  return withRetry(worker, async (signal) => {
    const bytes = await worker.artifacts.get(manifestAddress(worker, id), signal)
    return bytes === undefined ? undefined : decodeManifest(bytes)
  })
}

/** Reads the outcome of a render that has ended. */
export async function requireManifest(worker: Worker, id: RenderId): Promise<Manifest> {
  const manifest = await findManifest(worker, id)
  assert(manifest !== undefined, 'a render that has ended has a manifest')
  return manifest
}

function manifestAddress({ settings }: Worker, id: RenderId): ArtifactAddress {
  return { bucket: settings.serviceBucket, key: manifestKey(id) }
}
