/**
 * Removes expired data in any topology: the schedule, the order of steps for one render, and the logs. Other modules find which renders
 * have expired.
 *
 * A kill may interrupt the removal of a render after any step. The manifest is deleted first: from then on a GET answers that the render is
 * no longer kept, and never returns a link that leads nowhere. Then the stored objects and the deliveries are deleted. The caller deletes
 * its own record last, so that it finds the render again until all else is gone. Removing a render again is safe.
 */

import {
  type ArtifactAddress,
  manifestAddress,
  type RenderRecord,
  renderPrefix,
} from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { RemovedKind, RetentionMeter } from '@platen/contract/port/retention-meter.ts'
import { decodeClaim, IDEMPOTENCY_PREFIX, isExpired } from '@platen/contract/stored/idempotency.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'

export interface RemovalPorts {
  readonly artifacts: ArtifactStore
  readonly deliveries: Pick<DeliveryLog, 'forget'>
  readonly serviceBucket: string
  readonly clock: Clock
  readonly log: Log
  readonly meter: RetentionMeter
}

type RenderStores = Pick<RemovalPorts, 'artifacts' | 'deliveries' | 'serviceBucket'>

type Removal = (signal: AbortSignal) => Promise<void>

interface RemovalSchedule {
  readonly everyMs: number
  /** Wait before the first round. */
  readonly firstAfterMs?: number
  readonly clock: Clock
  readonly log: Log
}

/**
 * Runs the removals one after the other, in rounds, until `signal` aborts. Logs a failure and tries again in the next round. Never rejects.
 */
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

type RemovedRender = Pick<RenderRecord, 'id' | 'storage'>

/** The order of steps allows an interruption anywhere. */
export async function removeRender(render: RemovedRender, ports: RenderStores, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket } = ports
  await artifacts.delete(manifestAddress(render.id, serviceBucket), signal)
  await removeData(render, ports, signal)
}

export async function removeData(
  { id, storage }: RemovedRender,
  { artifacts, deliveries }: RenderStores,
  signal: AbortSignal,
): Promise<void> {
  // The folder also contains PDFs of late attempts, and inputs that a killed renderer left.
  const stored = await Array.fromAsync(artifacts.list(storage.bucket, renderPrefix(storage.prefix, id), signal))
  for (const address of stored) await artifacts.delete(address, signal)
  await deliveries.forget(id, signal)
}

export async function removeClaims(ports: RemovalPorts, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, clock } = ports
  const remove = async (address: ArtifactAddress) => {
    const bytes = await artifacts.get(address, signal)
    if (bytes === undefined || !isExpired(decodeClaim(bytes), clock.now())) return false
    await artifacts.delete(address, signal)
    return true
  }
  const counter = openRemovalCounter('idempotency_claim', ports)
  const claims = artifacts.list(serviceBucket, IDEMPOTENCY_PREFIX, signal)
  for await (const claim of claims) await counter.count(() => remove(claim), signal)
  counter.end()
}

/** Counts the removals of one kind. A failure does not stop the others. */
export interface RemovalCounter {
  /** `remove` resolves to false when it was not yet time. Throws only when `signal` has aborted. */
  count(remove: () => Promise<boolean | void>, signal: AbortSignal): Promise<'failed' | 'done'>
  /** Logs the result once, because thousands may fail for the same reason. */
  end(): void
}

export function openRemovalCounter(
  kind: RemovedKind,
  { log, meter }: Pick<RemovalPorts, 'log' | 'meter'>,
): RemovalCounter {
  let removed = 0
  let failed = 0
  let err: unknown
  return {
    async count(remove, signal) {
      try {
        if ((await remove()) !== false) removed += 1
        return 'done'
      } catch (cause) {
        signal.throwIfAborted()
        failed += 1
        err ??= cause
        return 'failed'
      }
    },
    end() {
      meter.ended(kind, { removed, failed })
      if (failed > 0) log.warn({ kind, removed, failed, err }, 'some expired data not removed')
      else if (removed > 0) log.info({ kind, removed }, 'expired data removed')
    },
  }
}
