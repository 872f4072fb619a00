/**
 * What is past its time is removed, once an hour: renders by the plan under which they were accepted, and by age what only serves
 * those who ask soon. Removing is slow on purpose, one thing after the other, as callers come first.
 *
 * A render goes in an order that a kill may cut anywhere. Its manifest goes first: from then on a GET answers that it is no longer
 * kept, and never gives a link that leads nowhere. Then goes what is stored of it, and last the ledger's row, by which it is found
 * due again until all else is gone.
 */
import type { SqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import type { DueRender, SqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import type { Instant } from '@platen/contract/brand.ts'
import { decodeClaim, IDEMPOTENCY_PREFIX, isSpent } from '@platen/contract/idempotency.ts'
import { FACTS_KEPT_MS, REMOVE_EVERY_MS } from '@platen/contract/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { type ArtifactAddress, manifestKey, renderPrefix } from '@platen/contract/render.ts'

export interface Retention {
  readonly ledger: Pick<SqliteRenderLedger, 'due' | 'forget'>
  readonly artifacts: ArtifactStore
  readonly deliveries: Pick<SqliteDeliveryLog, 'forget'>
  /** Where manifests stand. */
  readonly serviceBucket: string
  /** Events and charges, kept for `FACTS_KEPT_MS`. */
  readonly facts: readonly { prune(before: Instant, signal: AbortSignal): Promise<void> }[]
  readonly clock: Clock
  readonly log: Log
}

/** Removes what is past its time, now and every hour, until it is closed. What fails is logged and tried again with the next. */
export function keepRetention(retention: Retention): AsyncDisposable {
  const closing = new AbortController()
  const ended = removeHourly(retention, closing.signal)
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      await ended
    },
  }
}

/** Never rejects. */
async function removeHourly(retention: Retention, signal: AbortSignal): Promise<void> {
  const { clock, log } = retention
  while (!signal.aborted) {
    for (const remove of [removeRenders, removeClaims, removeFacts]) {
      try {
        await remove(retention, signal)
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'what is past its time could not be removed')
      }
    }
    await clock.sleep(REMOVE_EVERY_MS, signal).catch(() => {})
  }
}

async function removeRenders(retention: Retention, signal: AbortSignal): Promise<void> {
  const { ledger, artifacts, deliveries, serviceBucket, clock } = retention
  const due = ledger.due(clock.now(), signal)
  const remove = async ({ id, storage }: DueRender) => {
    await artifacts.delete({ bucket: serviceBucket, key: manifestKey(id) }, signal)
    if (storage !== undefined) {
      // The PDFs of attempts that came too late lie there too, and an input whose render was killed before it was swept.
      const stored = await Array.fromAsync(artifacts.list(storage.bucket, renderPrefix(storage.prefix, id), signal))
      for (const address of stored) await artifacts.delete(address, signal)
    }
    await deliveries.forget(id, signal)
    await ledger.forget(id, signal)
    return true
  }
  await removeEach({ kind: 'render', due, remove, log: retention.log }, signal)
}

async function removeClaims({ artifacts, serviceBucket, clock, log }: Retention, signal: AbortSignal): Promise<void> {
  const remove = async (address: ArtifactAddress) => {
    const bytes = await artifacts.get(address, signal)
    if (bytes === undefined || !isSpent(decodeClaim(bytes), clock.now())) return false
    await artifacts.delete(address, signal)
    return true
  }
  const due = artifacts.list(serviceBucket, IDEMPOTENCY_PREFIX, signal)
  await removeEach({ kind: 'idempotency claim', due, remove, log }, signal)
}

interface Removal<T> {
  readonly kind: string
  readonly due: AsyncIterable<T>
  /** False when it was not yet time. */
  readonly remove: (item: T) => Promise<boolean>
  readonly log: Log
}

/** One thing that cannot be removed holds up no other. */
async function removeEach<T>({ kind, due, remove, log }: Removal<T>, signal: AbortSignal): Promise<void> {
  let removed = 0
  let failed = 0
  let err: unknown
  for await (const item of due) {
    try {
      if (await remove(item)) removed += 1
    } catch (cause) {
      signal.throwIfAborted()
      failed += 1
      err ??= cause
    }
  }
  // Thousands may fail for one and the same reason, so it is told once.
  if (failed > 0) log.warn({ kind, removed, failed, err }, 'some of what is past its time could not be removed')
  else if (removed > 0) log.info({ kind, removed }, 'what is past its time was removed')
}

async function removeFacts({ facts, clock }: Retention, signal: AbortSignal): Promise<void> {
  const before = clock.now() - FACTS_KEPT_MS
  for (const store of facts) await store.prune(before, signal)
}
