/**
 * What is past its time is removed, once an hour: renders by the plan under which they were accepted, and by age what only serves
 * those who ask soon. Removing is slow on purpose, one thing after the other, as callers come first. The ledger's row is the last of
 * a render to go: by it the render is found due again until all else is gone.
 */
import type { DueRender, SqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import type { Instant } from '@platen/contract/brand.ts'
import { EVENTS_KEPT_MS } from '@platen/contract/limit.ts'
import { REMOVE_EVERY_MS } from '@platen/contract/retention-limit.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import {
  openRemovalCounter,
  type RemovalPorts,
  removeClaims,
  removeRegularly,
  removeRender,
} from '@platen/events/retention/removal.ts'

export interface Retention extends RemovalPorts {
  readonly ledger: Pick<SqliteRenderLedger, 'due' | 'forget'>
  /** Events and charges, kept for `FACTS_KEPT_MS`. */
  readonly facts: readonly { prune(before: Instant, signal: AbortSignal): Promise<void> }[]
}

/** Removes what is past its time, now and every hour, until it is closed. What fails is logged and tried again with the next. */
export function keepRetention(retention: Retention): AsyncDisposable {
  const closing = new AbortController()
  // The API writes renders that it gave up into the expiry index.
  const removals = [removeRenders, removeExpired, removeClaims, removeFacts].map(
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
  const { ledger, clock, log } = retention
  const remove = async (render: DueRender) => {
    await removeRender(render, retention, signal)
    await ledger.forget(render.id, signal)
    return true
  }
  const tally = openRemovalCounter('render', log)
  for await (const render of ledger.due(clock.now(), signal)) await tally.count(() => remove(render), signal)
  tally.log()
}

async function removeFacts({ facts, clock }: Retention, signal: AbortSignal): Promise<void> {
  const before = clock.now() - EVENTS_KEPT_MS
  for (const store of facts) await store.prune(before, signal)
}
