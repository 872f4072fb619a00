/**
 * Removes expired data once an hour. Renders expire by the plan under which they were accepted, short-lived data by age. Removal is slow on
 * purpose, one item at a time, so that callers come first. The ledger row of a render is removed last, so that the next run finds an
 * unfinished render again.
 */
import type { DueRender, SqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { REMOVE_EVERY_MS } from '@platen/contract/domain/limit.ts'
import type { ErasurePorts } from '@platen/events/retention/erasure.ts'
import { rendersInLedger, workOffErasures } from '@platen/events/retention/erasure-order.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import {
  openRemovalCounter,
  type RemovalPorts,
  removeClaims,
  removeRegularly,
  removeRender,
} from '@platen/events/retention/removal.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { EVENTS_KEPT_MS } from './limit.ts'

export interface Retention extends ErasurePorts, RemovalPorts {
  readonly ledger: Pick<SqliteRenderLedger, 'due' | 'ofAccount' | 'forget' | 'complete'>
  /** Events and charges, kept for `EVENTS_KEPT_MS`. */
  readonly facts: readonly { prune(before: Instant, signal: AbortSignal): Promise<void> }[]
}

/** Runs now and every hour, until it is closed. Failures are logged and retried with the next run. */
export function keepRetention(retention: Retention): AsyncDisposable {
  const closing = new AbortController()
  // `removeExpired`: the API writes abandoned renders into the expiry index.
  const removals = [removeRenders, removeExpired, removeErased, removeClaims, removeFacts].map(
    (remove) => (signal: AbortSignal) => remove(retention, signal),
  )
  const ended = removeRegularly(removals, { ...retention, everyMs: REMOVE_EVERY_MS }, closing.signal)
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      await ended
    },
  }
}

async function removeRenders(retention: Retention, signal: AbortSignal): Promise<void> {
  const { ledger, clock } = retention
  const remove = async (render: DueRender) => {
    await removeRender(render, retention, signal)
    await ledger.forget(render.id, signal)
  }
  const counter = openRemovalCounter('render', retention)
  for await (const render of ledger.due(clock.now(), signal)) await counter.count(() => remove(render), signal)
  counter.end()
}

/** Erases the renders of tenants that were removed, or whose erasure was interrupted. */
async function removeErased(retention: Retention, signal: AbortSignal): Promise<void> {
  await workOffErasures(
    { ...retention, findRenders: (order, until) => rendersInLedger(order, retention, until) },
    signal,
  )
}

async function removeFacts({ facts, clock }: Retention, signal: AbortSignal): Promise<void> {
  const before = clock.now() - EVENTS_KEPT_MS
  for (const store of facts) await store.prune(before, signal)
}
