/**
 * Looks after accepted batches: queues the renders of batches whose API process died, and ends each batch when all of its renders have
 * ended.
 *
 * It reads the stores, and remembers nothing that it could not read again. Events of renders only say when to look: whoever reads the event
 * of the last render finds a manifest of each. In case nobody did, all open batches are looked at every minute.
 *
 * Any number of processes may look after a batch at once. Its renders may be queued twice, its end is created once, and the id of its event
 * follows from the batch.
 */

import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { expiryOf } from '@platen/contract/domain/render.ts'
import { type BatchId, issuedAt } from '@platen/contract/domain/render-id.ts'
import { withoutRequest } from '@platen/contract/domain/stored-request.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderQueue } from '@platen/contract/port/render-queue.ts'
import {
  type Batch,
  type BatchEnd,
  type BatchRender,
  batchAddresses,
  batchDelivery,
  batchIdIn,
  decodeBatch,
  decodeBatchEnd,
  decodeOpenBatch,
  encodeBatchEnd,
  itemsAddress,
  OPEN_BATCH_PREFIX,
  queueBatch,
} from '@platen/contract/stored/batch.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { Log } from '@platen/lib/log.ts'
import { type LruCache, openLruCache } from '@platen/lib/lru-cache.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import { type EndedRenders, noneEnded, withMoreEnded } from './ended-renders.ts'
import { BATCH_QUEUED_BY_API_MS, BATCHES_LISTED_EVERY_MS, UNACCEPTED_KEPT_MS } from './limit.ts'

/** Open batches whose ended renders a process remembers. Each takes some 40 KiB at most. Forgotten ones are counted again. */
const BATCHES_REMEMBERED_MAX = 200

const BATCHES_AT_ONCE = 4

const SECOND_MS = 1000
/** Shortest time between two looks at the same batch: many of its renders may end within a second. */
const BATCH_LOOKED_AT_EVERY_MS = SECOND_MS / 2

export interface BatchPorts {
  readonly artifacts: Pick<ArtifactStore, 'create' | 'get' | 'put' | 'has' | 'delete' | 'list'>
  readonly serviceBucket: string
  readonly queue: Pick<RenderQueue, 'enqueue'>
  readonly ledger: Pick<RenderLedger, 'markQueued'>
  readonly limiter: Pick<Limiter, 'confirm'>
  readonly deliveries: Pick<DeliveryLog, 'schedule'>
  /** How long renders are left to the API process that accepted them. Absent means `BATCH_QUEUED_BY_API_MS`. */
  readonly queuedByApiMs?: number
  readonly retriesMax: number
  readonly clock: Clock
  readonly log: Log
}

interface BatchKeeper {
  touch(batch: BatchPlace): void
  /** Looks after batches until `signal` aborts. Rejects only because of a defect. */
  run(signal: AbortSignal): Promise<void>
}

type BatchPlace = Pick<Batch, 'id' | 'account'>

interface Keeping extends BatchPorts {
  readonly ended: LruCache<EndedRenders>
}

export function openBatchKeeper(ports: BatchPorts): BatchKeeper {
  const keeping: Keeping = { ...ports, ended: openLruCache(BATCHES_REMEMBERED_MAX) }
  const touched = new Map<BatchId, BatchPlace>()
  const arrival = openNotifier()
  const { clock, log } = ports

  const lookAtTouched = async (signal: AbortSignal) => {
    for (;;) {
      if (touched.size === 0) await arrival.wait(signal)
      const places = [...touched.values()]
      touched.clear()
      await forEachConcurrently(places, BATCHES_AT_ONCE, (place) =>
        tolerantly(place, () => look(place, keeping, signal), { log, signal }),
      )
      await clock.sleep(BATCH_LOOKED_AT_EVERY_MS, signal)
    }
  }
  return {
    touch(place) {
      touched.set(place.id, place)
      arrival.notify()
    },
    async run(signal) {
      const steps = [lookAtTouched(signal), lookAtAll(keeping, signal)]
      await Promise.all(steps.map((step) => step.catch(throwUnlessAborted(signal))))
    },
  }
}

async function lookAtAll(keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, clock, log } = keeping
  for (;;) {
    try {
      const open = await Array.fromAsync(artifacts.list(serviceBucket, OPEN_BATCH_PREFIX, signal))
      await forEachConcurrently(open, BATCHES_AT_ONCE, async (address) => {
        const id = batchIdIn(address.key, OPEN_BATCH_PREFIX)
        const lookAtOne = async () => {
          const bytes = await artifacts.get(address, signal)
          // Absent when the batch has ended meanwhile.
          if (bytes !== undefined) await resume({ id, ...decodeOpenBatch(bytes) }, keeping, signal)
        }
        await tolerantly({ id }, lookAtOne, { log, signal })
      })
    } catch (err) {
      signal.throwIfAborted()
      log.warn({ err }, 'open batches not listed')
    }
    await clock.sleep(BATCHES_LISTED_EVERY_MS, signal)
  }
}

/** A failure concerns one batch, which is looked at again a minute later. */
async function tolerantly(
  { id }: Pick<Batch, 'id'>,
  step: () => Promise<void>,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await step()
  } catch (err) {
    signal.throwIfAborted()
    log.warn({ batch: id, err }, 'batch not looked after')
  }
}

async function resume(place: BatchPlace, keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { artifacts, serviceBucket, clock, log, queuedByApiMs = BATCH_QUEUED_BY_API_MS } = keeping
  const age = clock.now() - issuedAt(place.id)
  const batch = await readBatch(place, keeping, signal)
  if (batch === undefined) {
    if (age >= UNACCEPTED_KEPT_MS) await artifacts.delete(batchAddresses(place, serviceBucket).open, signal)
    return
  }
  // Items are deleted when all renders are queued.
  const items = age < queuedByApiMs ? undefined : await artifacts.get(itemsAddress(batch), signal)
  if (items !== undefined && batch.renders.length > 0) {
    await queueBatch({ batch, items }, (render) => enqueue(render, keeping, signal))
    await artifacts.delete(itemsAddress(batch), signal)
    log.info({ batch: batch.id, tenant: batch.tenant, total: batch.renders.length }, 'batch queued completely')
  }
  await look(place, keeping, signal)
}

async function enqueue(
  { record, input }: BatchRender,
  { artifacts, queue, ledger, limiter, log }: Keeping,
  signal: AbortSignal,
): Promise<void> {
  if (input !== undefined && 'stored' in record.data) await artifacts.put(record.data.stored, input, signal)
  await queue.enqueue(withoutRequest(record), signal)
  // Both are views, and the renderer that claims the render updates them again.
  const updates = await Promise.allSettled([ledger.markQueued(record, signal), limiter.confirm(record, signal)])
  for (const each of updates) {
    if (each.status === 'rejected') log.debug({ ...logFieldsOf(record), err: each.reason }, 'queued render not shown')
  }
}

async function look(place: BatchPlace, keeping: Keeping, signal: AbortSignal): Promise<void> {
  const { ended } = keeping
  const known = ended.get(place.id) ?? (await firstLook(place, keeping, signal))
  if (known === undefined) return
  const now = await withMoreEnded(known, keeping, signal)
  if (now.pending.length > 0) {
    ended.set(place.id, now)
    return
  }
  await end(place, now, { keeping, signal })
  ended.drop(place.id)
}

async function firstLook(place: BatchPlace, keeping: Keeping, signal: AbortSignal): Promise<EndedRenders | undefined> {
  const { artifacts, serviceBucket } = keeping
  // After a crash, events of an ended batch are read again.
  const isOpen = await artifacts.has(batchAddresses(place, serviceBucket).open, signal)
  const batch = isOpen ? await readBatch(place, keeping, signal) : undefined
  return batch && noneEnded(batch.renders)
}

/** Creates the end, schedules its delivery, and deletes the `open` object last: a process that finds it does all this again. */
async function end(
  place: BatchPlace,
  { succeeded, failed, endedAt }: EndedRenders,
  { keeping, signal }: { readonly keeping: Keeping; readonly signal: AbortSignal },
): Promise<void> {
  const { artifacts, serviceBucket, deliveries, clock, log } = keeping
  // Read again, because the batch may have been erased.
  const batch = await readBatch(place, keeping, signal)
  if (batch === undefined) return
  const { open, ended } = batchAddresses(batch, serviceBucket)
  const mine: BatchEnd = { endedAt: Math.max(endedAt, batch.acceptedAt), succeeded, failed }
  const isMine = await artifacts.create(ended, encodeBatchEnd(mine), signal)
  const bytes = isMine ? undefined : await artifacts.get(ended, signal)
  const counts = bytes === undefined ? mine : decodeBatchEnd(bytes)
  const delivery = batchDelivery(batch, counts, keeping)
  if (delivery !== undefined && expiryOf(batch, counts.endedAt) > clock.now())
    await deliveries.schedule([delivery], signal)
  await artifacts.delete(itemsAddress(batch), signal)
  await artifacts.delete(open, signal)
  if (!isMine || batch.renders.length === 0) return
  const { id, tenant, template } = batch
  log.info(
    { batch: id, tenant, template: template.code, total: batch.renders.length, succeeded, failed },
    'batch ended',
  )
}

async function readBatch(
  place: BatchPlace,
  { artifacts, serviceBucket }: Keeping,
  signal: AbortSignal,
): Promise<Batch | undefined> {
  const bytes = await artifacts.get(batchAddresses(place, serviceBucket).accepted, signal)
  return bytes && decodeBatch(bytes)
}
