/**
 * What a kill cut off is made up for at the next start. Async renders stay in the queue until all that follows from their manifest
 * is durable; sync renders live in memory, so one that was killed right after its manifest is delivered to nobody again. Its
 * manifest says all there is to say: it is announced as its renderer would have done.
 */
import { type EventKey, eventOf } from '@platen/contract/event.ts'
import { RECOVERIES_AT_ONCE, RECOVERY_WINDOW_MS } from '@platen/contract/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import {
  decodeManifest,
  isAbandoned,
  isTerminal,
  MANIFEST_PREFIX,
  type Manifest,
  manifestKey,
  UnreadableManifest,
} from '@platen/contract/render.ts'
import { issuedAt, leastIdSince, type RenderId } from '@platen/contract/render-id.ts'

export interface Recovery {
  readonly artifacts: ArtifactStore
  readonly ledger: Pick<RenderLedger, 'find' | 'complete'>
  readonly events: Pick<EventLog, 'append'>
  readonly limiter: Pick<Limiter, 'complete'>
  readonly log: Log
  /** Where manifests stand. */
  readonly serviceBucket: string
  readonly eventKey: EventKey
  /** The last sign of life: the newest render the ledger knows. */
  readonly newest: RenderId | undefined
}

/**
 * Announces the outcomes that were not, by event, charge and ledger, each of which takes a repetition for nothing. Only manifests
 * are looked at whose render was accepted after the last sign of life, or at most `RECOVERY_WINDOW_MS` before it; the ledger's row,
 * which is written last, tells those that were announced. Throws `Unavailable`: to start without it might lose a charge.
 */
export async function recover(recovery: Recovery, signal: AbortSignal): Promise<void> {
  const suspects = (await endedInWindow(recovery, signal)).values()
  let recovered = 0
  const work = async () => {
    // All draw from the one iterator, so each render is looked at once.
    for (const id of suspects) if (await publishMissedOutcome(id, recovery, signal)) recovered += 1
  }
  await Promise.all(Array.from({ length: RECOVERIES_AT_ONCE }, work))
  if (recovered > 0) recovery.log.info({ recovered }, 'missed outcomes published')
}

async function endedInWindow({ artifacts, serviceBucket, newest }: Recovery, signal: AbortSignal): Promise<RenderId[]> {
  const since = leastIdSince(newest === undefined ? 0 : issuedAt(newest) - RECOVERY_WINDOW_MS)
  const ids: RenderId[] = []
  for await (const { key } of artifacts.list(serviceBucket, MANIFEST_PREFIX, signal)) {
    const id = key.slice(MANIFEST_PREFIX.length, -'.json'.length)
    // Nothing but manifests stands there, each under the id of its render.
    if (id >= since) ids.push(id as RenderId)
  }
  return ids
}

/** False when there was nothing left to do. */
async function publishMissedOutcome(id: RenderId, recovery: Recovery, signal: AbortSignal): Promise<boolean> {
  const { ledger, events, limiter, eventKey } = recovery
  const view = await ledger.find(id, signal)
  if (view !== undefined && isTerminal(view.state.status)) return false
  const manifest = await read(id, recovery, signal)
  if (manifest === undefined) return false
  const event = isAbandoned(manifest) ? undefined : events.append(eventOf(manifest, eventKey), signal)
  await Promise.all([event, limiter.complete(manifest, signal)])
  await ledger.complete(manifest, signal)
  return true
}

/** Undefined also where it is damaged: nothing can be told of that render, and the others are not to wait for it. */
async function read(
  id: RenderId,
  { artifacts, serviceBucket, log }: Recovery,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const bytes = await artifacts.get({ bucket: serviceBucket, key: manifestKey(id) }, signal)
  try {
    return bytes && decodeManifest(bytes)
  } catch (err) {
    if (!(err instanceof UnreadableManifest)) throw err
    log.error({ render: id, err }, 'outcome not published')
    return undefined
  }
}
