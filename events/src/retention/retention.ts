/**
 * Retention in a cluster, where no database knows which renders are past their time: a second reader of the event log keeps the expiry
 * index, and what that says is removed once an hour. Any number of processes may do so at once.
 */
import { randomFraction } from '@platen/contract/back-off.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import { CLAIMS_REMOVED_EVERY_MS, REMOVE_EVERY_MS } from '@platen/contract/retention-limit.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import { removeExpired } from './expired.ts'
import { maintainExpiryIndex } from './expiry-index.ts'
import { type RemovalPorts, removeClaims, removeRegularly } from './removal.ts'

export interface RetentionPorts extends RemovalPorts {
  readonly events: Pick<EventLog, 'follow'>
  readonly ids: Ids
}

/** Keeps the index and removes what is past its time until `signal` aborts. Resolves when the step then in hand has ended. Rejects by a defect alone. */
export async function runRetention(ports: RetentionPorts, signal: AbortSignal): Promise<void> {
  const keepIndex = async () => {
    await retryWhileUnavailable(() => maintainExpiryIndex(ports, signal), { ...ports, signal }).catch(
      (error: unknown) => {
        if (!signal.aborted) throw error
      },
    )
  }
  // Processes that were started together do not remove together.
  const rhythm = (everyMs: number) => ({ ...ports, everyMs, firstAfterMs: everyMs * randomFraction(ports.ids) })
  await Promise.all([
    keepIndex(),
    removeRegularly([(until) => removeExpired(ports, until)], rhythm(REMOVE_EVERY_MS), signal),
    removeRegularly([(until) => removeClaims(ports, until)], rhythm(CLAIMS_REMOVED_EVERY_MS), signal),
  ])
}
