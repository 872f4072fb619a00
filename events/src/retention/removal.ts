/**
 * Removing what is past its time, in any topology: how often it is done, how a render goes, and what is told of it. How renders are
 * found due is for others to know.
 *
 * A render goes in an order that a kill may cut anywhere. Its manifest goes first: from then on a GET answers that it is no longer
 * kept, and never gives a link that leads nowhere. Then goes what is stored of it, and its deliveries. Whoever found it due forgets
 * that last, so that it is found again until all else is gone; to remove it once more is fine.
 */
import { decodeClaim, IDEMPOTENCY_PREFIX, isExpired } from '@platen/contract/idempotency.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { type ArtifactAddress, manifestKey, type RenderRecord, renderPrefix } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'

export interface RemovalPorts {
  readonly artifacts: ArtifactStore
  readonly deliveries: Pick<DeliveryLog, 'forget'>
  /** Where manifests stand. */
  readonly serviceBucket: string
  readonly clock: Clock
  readonly log: Log
}

/** Removes what is past its time of one kind. */
export type Removal = (signal: AbortSignal) => Promise<void>

export interface RemovalSchedule {
  readonly everyMs: number
  /** Before the first time; absent = at once. */
  readonly firstAfterMs?: number
  readonly clock: Clock
  readonly log: Log
}

/** Runs the removals one after the other, again and again until `signal` aborts. What fails is logged and tried again with the next. Never rejects. */
export async function removeRegularly(
  removals: readonly Removal[],
  { everyMs, firstAfterMs = 0, clock, log }: RemovalSchedule,
  signal: AbortSignal,
): Promise<void> {
  const rest = (ms: number) => clock.sleep(ms, signal).catch(() => {})
  if (firstAfterMs > 0) await rest(firstAfterMs)
  while (!signal.aborted) {
    for (const remove of removals) {
      try {
        await remove(signal)
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'removal of expired data failed')
      }
    }
    await rest(everyMs)
  }
}

/** Removes all there is of a render, in the order that may be cut anywhere. Without `storage` nothing is known to be stored but the manifest. */
export async function removeRender(
  { id, storage }: { readonly id: RenderId; readonly storage?: RenderRecord['storage'] },
  { artifacts, deliveries, serviceBucket }: RemovalPorts,
  signal: AbortSignal,
): Promise<void> {
  await artifacts.delete({ bucket: serviceBucket, key: manifestKey(id) }, signal)
  if (storage !== undefined) {
    // The PDFs of attempts that came too late lie there too, and an input whose render was killed before it was swept.
    const stored = await Array.fromAsync(artifacts.list(storage.bucket, renderPrefix(storage.prefix, id), signal))
    for (const address of stored) await artifacts.delete(address, signal)
  }
  await deliveries.forget(id, signal)
}

/** Removes the claims of `Idempotency-Key`s that have done their duty. */
export async function removeClaims(ports: RemovalPorts, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, clock, log } = ports
  const remove = async (address: ArtifactAddress) => {
    const bytes = await artifacts.get(address, signal)
    if (bytes === undefined || !isExpired(decodeClaim(bytes), clock.now())) return false
    await artifacts.delete(address, signal)
    return true
  }
  const counter = openRemovalCounter('idempotency claim', log)
  const claims = artifacts.list(serviceBucket, IDEMPOTENCY_PREFIX, signal)
  for await (const claim of claims) await counter.count(() => remove(claim), signal)
  counter.log()
}

/** What came of removing things of one kind: one that cannot be removed holds up no other. */
export interface RemovalCounter {
  /** Removes one thing; `remove` gives false when it was not yet time. Resolves to whether it failed; throws only when `signal` has aborted. */
  count(remove: () => Promise<boolean>, signal: AbortSignal): Promise<'failed' | 'done'>
  /** Tells the log. Thousands may fail for one and the same reason, so it is told once. */
  log(): void
}

/** A tally of nothing so far. `kind` is for people. */
export function openRemovalCounter(kind: string, log: Log): RemovalCounter {
  let removed = 0
  let failed = 0
  let err: unknown
  return {
    async count(remove, signal) {
      try {
        if (await remove()) removed += 1
        return 'done'
      } catch (cause) {
        signal.throwIfAborted()
        failed += 1
        err ??= cause
        return 'failed'
      }
    },
    log() {
      if (failed > 0) log.warn({ kind, removed, failed, err }, 'some expired data not removed')
      else if (removed > 0) log.info({ kind, removed }, 'expired data removed')
    },
  }
}
