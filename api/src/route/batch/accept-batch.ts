/**
 * The last step of the admission of a batch. One object accepts all of its renders, so there is no moment at which only some are accepted.
 * Before it, this writes the entry of the expiry index, the items, and the `open` object that makes the batch looked after. Then it queues
 * the renders. If this process stops on the way, the keeper of open batches goes on from there.
 */

import { batchEventIdOf } from '@platen/contract/domain/event.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { type RenderId, renderIdsOfBatch } from '@platen/contract/domain/render-id.ts'
import {
  type Batch,
  batchAddresses,
  batchExpiryOf,
  batchIdOf,
  decodeBatch,
  encodeBatch,
  encodeOpenBatch,
  itemsAddress,
  queueBatch,
  refusedBatchOf,
} from '@platen/contract/stored/batch.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { KeyedBatch } from '../../admission/deduplicate.ts'
import { enqueue, markQueued, releaseReservation } from '../../admission/submit.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { unavailable } from '../../problem.ts'

const RELEASED_AT_ONCE = 16

/** A requested batch: a record with the id of the batch, and the lines of its items. */
export interface AskedBatch {
  readonly record: RenderRecord
  readonly total: number
  readonly items: Uint8Array
}

/** The batch of a record: always the same for the same record and key. */
export function batchOf({ record, total }: Omit<AskedBatch, 'items'>, { keys }: Pick<ApiPorts, 'keys'>): Batch {
  const { id: keptUnder, mode: _mode, lane: _lane, data: _data, batch: _batch, ...common } = record
  const id = batchIdOf(keptUnder)
  const renders = renderIdsOfBatch(id, total, { scope: record, keys: keys() })
  return { ...common, id, renders, eventId: batchEventIdOf(id, keys()[0]) }
}

/**
 * Accepts a batch, perhaps again, and queues its renders. Throws `RENDER_UNAVAILABLE` if it is not accepted, or if that cannot be known.
 * Once it is accepted nothing is an error.
 */
export async function accept(asked: Batch, items: Uint8Array, ports: ApiPorts): Promise<void> {
  const batch = await acceptOnce(asked, items, ports).catch((cause: unknown) => {
    throw unavailable(cause)
  })
  const { tenant, id, template } = batch
  const fields = { batch: id, tenant, template: template.code, total: batch.renders.length }
  ports.log.info(fields, 'batch accepted')
  try {
    await queueBatch({ batch, items }, async (render) => {
      await enqueue(render, ports)
      await markQueued(render.record, ports)
    })
    await ports.artifacts.delete(itemsAddress(batch), ports.clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    ports.log.warn({ ...fields, err }, 'batch not queued completely, left to others')
  }
}

/** Returns the accepted batch: an earlier request may have accepted it with ids of another key. */
async function acceptOnce(batch: Batch, items: Uint8Array, ports: ApiPorts): Promise<Batch> {
  const { artifacts, clock, settings } = ports
  const { serviceBucket } = settings
  const addresses = batchAddresses(batch, serviceBucket)
  const { key, bytes } = batchExpiryOf(batch, serviceBucket)
  await artifacts.put({ bucket: serviceBucket, key }, bytes, clock.timeout(PORT_CALL_MS_MAX))
  const signal = clock.timeout(PORT_CALL_MS_MAX)
  await Promise.all([
    artifacts.put(itemsAddress(batch), items, signal),
    artifacts.put(addresses.open, encodeOpenBatch(batch), signal),
  ])
  const create = (one: Batch) => artifacts.create(addresses.accepted, encodeBatch(one), clock.timeout(PORT_CALL_MS_MAX))
  // When the answer of the store is lost, refuses the batch unless it is accepted.
  const isOurs = await create(batch).catch(async (cause: unknown) => {
    if (await create(refusedBatchOf(batch))) throw cause
    return false
  })
  if (isOurs) return batch
  const accepted = await readBatch(batch, ports)
  if (accepted === undefined || accepted.renders.length === 0) throw unavailable()
  return accepted
}

/** Undefined if the account has no such batch. */
export async function readBatch(place: Pick<Batch, 'id' | 'account'>, ports: ApiPorts): Promise<Batch | undefined> {
  const { artifacts, clock, settings } = ports
  const { accepted } = batchAddresses(place, settings.serviceBucket)
  const bytes = await artifacts.get(accepted, clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeBatch(bytes)
}

export function keyedBatch({ record, total }: Omit<AskedBatch, 'items'>, ports: ApiPorts): KeyedBatch {
  return {
    async stateOf(id) {
      const batch = await readBatch({ id: batchIdOf(id), account: record.account }, ports)
      return batch && (batch.renders.length > 0 ? 'accepted' : 'refused')
    },
    release: () => release({ record, ids: batchOf({ record, total }, ports).renders }, ports),
  }
}

/** Never throws: an unreleased reservation lapses. */
export async function release(
  { record, ids }: { readonly record: RenderRecord; readonly ids: readonly RenderId[] },
  ports: ApiPorts,
): Promise<void> {
  await forEachConcurrently(ids, RELEASED_AT_ONCE, (id) => releaseReservation({ ...record, id }, ports))
}
