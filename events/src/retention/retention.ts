/**
 * Retention in a cluster, where no database knows which renders have expired. So a second reader of the event log maintains an expiry
 * index, and the renders it lists are removed once an hour. Erasure orders are looked for every minute. Any number of processes may run
 * this at once.
 */

import { REMOVE_EVERY_MS } from '@platen/contract/domain/limit.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import { randomFraction } from '@platen/lib/back-off.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import type { ErasurePorts } from './erasure.ts'
import { type ErasureOrderPorts, rendersInIndex, workOffErasures } from './erasure-order.ts'
import { removeExpired } from './expired.ts'
import { maintainExpiryIndex } from './expiry-index.ts'
import { ERASURES_LOOKED_FOR_EVERY_MS } from './limit.ts'
import { type RemovalPorts, removeClaims, removeRegularly } from './removal.ts'

const HOUR_MS = 3600 * 1000

/** How often the claims of `Idempotency-Key`s are checked in a cluster, where each check costs a request. */
export const CLAIMS_REMOVED_EVERY_MS = 24 * HOUR_MS

export interface RetentionPorts extends ErasurePorts, RemovalPorts {
  readonly events: Pick<EventLog, 'follow'>
  readonly ids: Ids
}

/**
 * Maintains the index and removes expired data until `signal` aborts. Resolves when the running step has ended. Rejects only because of a
 * defect.
 */
export async function runRetention(ports: RetentionPorts, signal: AbortSignal): Promise<void> {
  const retry = { ...ports, dependency: 'event log', operation: 'follow', signal }
  const keepIndex = retryWhileUnavailable(() => maintainExpiryIndex(ports, signal), retry)
  // Spreads the work of processes that started together.
  const rhythm = (everyMs: number) => ({ ...ports, everyMs, firstAfterMs: everyMs * randomFraction(ports.ids) })
  const erasing: ErasureOrderPorts = { ...ports, findRenders: (order, until) => rendersInIndex(order, ports, until) }
  await Promise.all([
    keepIndex.catch(throwUnlessAborted(signal)),
    removeRegularly([(until) => removeExpired(ports, until)], rhythm(REMOVE_EVERY_MS), signal),
    removeRegularly([(until) => workOffErasures(erasing, until)], rhythm(ERASURES_LOOKED_FOR_EVERY_MS), signal),
    removeRegularly([(until) => removeClaims(ports, until)], rhythm(CLAIMS_REMOVED_EVERY_MS), signal),
  ])
}
