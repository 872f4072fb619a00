/**
 * Completes at the next start what a kill interrupted. Async renders stay in the queue until every consequence of their manifest is
 * durable. But a sync render is only in memory: after a kill right after its manifest, it is never delivered again. Its manifest is
 * complete, so recovery publishes the outcome as the renderer would have done.
 */
import type { FileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { eventOf } from '@platen/contract/domain/event.ts'
import {
  decodeManifest,
  isTerminal,
  MANIFEST_PREFIX,
  type Manifest,
  manifestAddress,
  UnreadableManifest,
} from '@platen/contract/domain/render.ts'
import { issuedAt, leastIdSince, type RenderId } from '@platen/contract/domain/render-id.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { Log } from '@platen/lib/log.ts'

const SECOND_MS = 1000

/**
 * A render whose outcome was not published may have been accepted this long before the last sign of life: the longest deadline with its
 * waits, and as long again for unreachable stores.
 */
export const RECOVERY_WINDOW_MS = 300 * SECOND_MS

/** Renders recovered at the same time: enough to share a commit of the embedded database. */
const RECOVERIES_AT_ONCE = 32

export interface Recovery {
  readonly artifacts: Pick<FileArtifactStore, 'get' | 'listManifests'>
  readonly ledger: Pick<RenderLedger, 'find' | 'complete'>
  readonly events: Pick<EventLog, 'append'>
  readonly limiter: Pick<Limiter, 'complete'>
  readonly log: Log
  readonly serviceBucket: string
  /** The newest render in the ledger: the last sign of life. */
  readonly newest: RenderId | undefined
}

/**
 * Publishes the missed outcomes to events, limiter and ledger; all three ignore a repetition. Reads only manifests whose render was
 * accepted after `newest`, or at most `RECOVERY_WINDOW_MS` before it. A render with a terminal ledger row was published already, because
 * that row is written last. Throws `Unavailable`: a start without recovery might lose a charge.
 */
export async function recover(recovery: Recovery, signal: AbortSignal): Promise<void> {
  const suspects = await endedInWindow(recovery, signal)
  let recovered = 0
  await forEachConcurrently(suspects, RECOVERIES_AT_ONCE, async (id) => {
    if (await publishMissedOutcome(id, recovery, signal)) recovered += 1
  })
  if (recovered > 0) recovery.log.info({ recovered }, 'missed outcomes published')
}

async function endedInWindow({ artifacts, serviceBucket, newest }: Recovery, signal: AbortSignal): Promise<RenderId[]> {
  const since = newest === undefined ? 0 : issuedAt(newest) - RECOVERY_WINDOW_MS
  const least = leastIdSince(since)
  const ids: RenderId[] = []
  for await (const { key } of artifacts.listManifests(serviceBucket, since, signal)) {
    const id = key.slice(MANIFEST_PREFIX.length, -'.json'.length)
    // Each manifest is named by the id of its render.
    if (id >= least) ids.push(id as RenderId)
  }
  return ids
}

/** Returns false when there was nothing left to do. */
async function publishMissedOutcome(id: RenderId, recovery: Recovery, signal: AbortSignal): Promise<boolean> {
  const { ledger, events, limiter } = recovery
  const view = await ledger.find(id, signal)
  if (view !== undefined && isTerminal(view.state.status)) return false
  const manifest = await read(id, recovery, signal)
  if (manifest === undefined || manifest.kind === 'erased') return false
  // The record of a canceled render is still in the queue, and its renderer publishes the event. A sync render has lost its record.
  const event = 'eventId' in manifest ? events.append(eventOf(manifest), signal) : undefined
  await Promise.all([event, limiter.complete(manifest, signal)])
  await ledger.complete(manifest, signal)
  return true
}

/** Undefined for a damaged manifest, too: that render has no known outcome, and must not block the others. */
async function read(
  id: RenderId,
  { artifacts, serviceBucket, log }: Recovery,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const bytes = await artifacts.get(manifestAddress(id, serviceBucket), signal)
  try {
    return bytes && decodeManifest(bytes)
  } catch (err) {
    if (!(err instanceof UnreadableManifest)) throw err
    log.error({ render: id, err }, 'outcome not published')
    return undefined
  }
}
