/**
 * A batch: many renders of one template that are accepted together, or not at all. It is accepted when its object is created. Whoever finds
 * an accepted batch queues its renders, as often as it likes: their ids are in the object. It has ended when all of its renders have.
 *
 *     batch/open/<id>                          while somebody has to look after it: in which account it is
 *     batch/of/<account>/<id>/accepted.json    the batch itself; from then on it is accepted
 *     batch/of/<account>/<id>/ended.json       how it ended
 *
 * Its items are in the storage of the tenant, where the input of a render is, until its renders are queued.
 */
import assert from 'node:assert/strict'
import type { Instant, JsonObject } from '@platen/lib/brand.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { Delivery } from '../domain/delivery.ts'
import { BATCH_ENDED } from '../domain/event.ts'
import { decodeStored, encodeStored } from '../domain/format.ts'
import { INLINE_DATA_BYTES_MAX, QUEUE_AGE_MS_MAX } from '../domain/limit.ts'
import { type ArtifactAddress, expiryOf, inputKey, type Labels, labelsOf, type RenderRecord } from '../domain/render.ts'
import { type BatchId, issuedAt, type RenderId } from '../domain/render-id.ts'
import { encodeRequest } from '../domain/stored-request.ts'
import type { BatchWebhookBody } from '../schema/batch-request.ts'
import { dayOf, expiryObjectOf } from './expiry.ts'
import { inlineData } from './record-text.ts'

/** In the service's own bucket. */
export const BATCH_PREFIX = 'batch/'
export const OPEN_BATCH_PREFIX = `${BATCH_PREFIX}open/`
const ACCEPTED = 'accepted.json'
const ENDED = 'ended.json'

/** Most fields are common to its renders; `webhookUrl` and the labels are of the batch itself. */
export interface Batch extends Omit<RenderRecord, 'id' | 'mode' | 'lane' | 'data' | 'batch'> {
  readonly id: BatchId
  /** In the order of the items. */
  readonly renders: readonly RenderId[]
  /** Of `batch.ended`. */
  readonly eventId: string
}

export interface BatchEnd {
  readonly endedAt: Instant
  readonly succeeded: number
  readonly failed: number
}

/** What an item has beside its data. */
interface BatchItem extends Labels {
  readonly filename?: string
}

const LINE_END = 0x0a

export function batchesFolder(account: string): string {
  return `${BATCH_PREFIX}of/${account}/`
}

/** The id in a key below `batchesFolder` or `OPEN_BATCH_PREFIX`. */
export function batchIdIn(key: string, folder: string): BatchId {
  // Only batches have keys there.
  return key.slice(folder.length).split('/')[0] as BatchId
}

type Place = Pick<Batch, 'id' | 'account'>

/** In `serviceBucket`, the service's own bucket. */
export function batchAddresses({ id, account }: Place, serviceBucket: string) {
  const at = (key: string): ArtifactAddress => ({ bucket: serviceBucket, key })
  const folder = `${batchesFolder(account)}${id}/`
  return {
    open: at(`${OPEN_BATCH_PREFIX}${id}`),
    accepted: at(`${folder}${ACCEPTED}`),
    ended: at(`${folder}${ENDED}`),
  }
}

/** Until the renders are queued. */
export function itemsAddress({ id, storage }: Pick<Batch, 'id' | 'storage'>): ArtifactAddress {
  return { bucket: storage.bucket, key: inputKey(storage.prefix, keptUnder(id)) }
}

/** A batch id where stores ask for that of a render: items and deliveries of a batch are kept and removed in the same way. */
export function keptUnder(id: BatchId): RenderId {
  const text: string = id
  return text as RenderId
}

/** The inverse of `keptUnder`, for the id of a batch. */
export function batchIdOf(id: RenderId): BatchId {
  const text: string = id
  return text as BatchId
}

/** Takes the place of a batch that was refused although it may have been accepted. Has no renders and no receiver. */
export function refusedBatchOf(batch: Batch): Batch {
  const { webhookUrl: _url, reference: _reference, metadata: _metadata, ...rest } = batch
  return { ...rest, options: {}, renders: [] }
}

/** The part of the expiry index for the objects of a batch. Write it before them. */
export function batchExpiryOf(batch: Batch, serviceBucket: string): { key: string; bytes: Uint8Array } {
  const { account, storage, acceptedAt } = batch
  const [id, ownFolder] = [keptUnder(batch.id), { bucket: serviceBucket, prefix: batchesFolder(account) }]
  const places = [storage, ownFolder].map((place) => ({ id, storage: place, account }))
  return expiryObjectOf(dayOf(expiryOf(batch, acceptedAt + QUEUE_AGE_MS_MAX)), places)
}

export function encodeBatch(batch: Batch): Uint8Array {
  return encodeStored(batch)
}

/** Throws `NewerFormat`. Only this service writes there, so other unreadable content is a defect. */
export function decodeBatch(bytes: Uint8Array): Batch {
  // Written by `encodeBatch`. A stored shape only ever gains fields.
  return objectIn(bytes, 'renders') as Batch
}

export function encodeBatchEnd(end: BatchEnd): Uint8Array {
  return encodeStored(end)
}

/** Throws as `decodeBatch` does. */
export function decodeBatchEnd(bytes: Uint8Array): BatchEnd {
  // Written by `encodeBatchEnd`.
  return objectIn(bytes, 'endedAt') as BatchEnd
}

/** The account leads to the batch. */
export function encodeOpenBatch({ account }: Place): Uint8Array {
  return encodeStored({ account })
}

export function decodeOpenBatch(bytes: Uint8Array): Pick<Batch, 'account'> {
  // Written by `encodeOpenBatch`.
  return objectIn(bytes, 'account') as Pick<Batch, 'account'>
}

function objectIn(bytes: Uint8Array, field: string): object {
  const found = decodeStored(bytes)
  assert(field in found, 'not an object of a batch')
  return found
}

/** Store `input` at `record.data.stored` before queueing the record. */
export interface BatchRender {
  readonly record: RenderRecord
  readonly input?: Uint8Array
}

/** One after the other: all records together may be large. */
export function* rendersOf(batch: Batch, items: Uint8Array): Generator<BatchRender> {
  let from = 0
  for (const id of batch.renders) {
    const end = items.indexOf(LINE_END, from)
    const line = items.subarray(from, end < 0 ? items.length : end)
    yield renderOf(batch, id, splitItem(line))
    from = from + line.length + 1
  }
}

/** Before the data of an item. No other member has an object. */
const BEFORE_DATA = Buffer.from('"data":{')

/** A line of JSON whose data come last, so that they are found without parsing them. */
export function encodeItem({ data, ...labels }: JsonObject): Uint8Array {
  return Buffer.from(`${JSON.stringify({ ...labels, data })}\n`)
}

/** The API has checked and written the line. */
function splitItem(line: Uint8Array): { readonly item: BatchItem; readonly data: Uint8Array } {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  const at = bytes.indexOf(BEFORE_DATA)
  // Without the comma before the data, if there is one.
  const item = JSON.parse(`${bytes.subarray(0, at).toString().replace(/,$/, '')}}`) as BatchItem
  return { item, data: bytes.subarray(at + BEFORE_DATA.length - 1, -1) }
}

function renderOf(
  batch: Batch,
  id: RenderId,
  { item: { filename, ...labels }, data }: { readonly item: BatchItem; readonly data: Uint8Array },
): BatchRender {
  const {
    id: batchId,
    renders: _renders,
    eventId: _event,
    webhookUrl: _url,
    reference: _reference,
    metadata: _metadata,
    ...common
  } = batch
  const isInline = batch.requestData === undefined && data.length <= INLINE_DATA_BYTES_MAX
  const { bucket, prefix } = batch.storage
  const record: RenderRecord = {
    ...common,
    id,
    mode: 'async',
    lane: 'bulk',
    batch: batchId,
    data: isInline ? inlineData(data) : { stored: { bucket, key: inputKey(prefix, id) } },
    options: { ...batch.options, ...(filename !== undefined && { filename }) },
    ...labelsOf(labels),
  }
  if (isInline) return { record }
  return { record, input: batch.requestData === undefined ? data : encodeRequest(data, record) }
}

/** As many as a queue takes together, and few enough that other requests come in between. */
const QUEUED_AT_ONCE = 16

/** `enqueue` may have queued the renders before. No render is begun after one has failed. */
export async function queueBatch(
  { batch, items }: { readonly batch: Batch; readonly items: Uint8Array },
  enqueue: (render: BatchRender) => Promise<void>,
): Promise<void> {
  await forEachConcurrently(rendersOf(batch, items), QUEUED_AT_ONCE, enqueue)
}

/** Undefined if the batch names no receiver. Always the same for a batch and its end. */
export function batchDelivery(
  batch: Batch,
  end: BatchEnd,
  { retriesMax }: { readonly retriesMax: number },
): Delivery | undefined {
  if (batch.webhookUrl === undefined) return undefined
  return {
    id: batch.eventId,
    type: BATCH_ENDED,
    render: keptUnder(batch.id),
    tenant: batch.tenant,
    account: batch.account,
    environment: batch.environment,
    url: batch.webhookUrl,
    body: bodyOf(batch, end),
    retriesMax,
    createdAt: end.endedAt,
    requestId: batch.requestId,
    ...(batch.trace !== undefined && { trace: batch.trace }),
  }
}

function bodyOf(batch: Batch, { endedAt, succeeded, failed }: BatchEnd): string {
  const body: BatchWebhookBody = {
    batch_id: batch.id,
    template: batch.template.code,
    ...labelsOf(batch),
    status: 'ended',
    total: batch.renders.length,
    succeeded,
    failed,
    created_at: new Date(issuedAt(batch.id)).toISOString(),
    ended_at: new Date(endedAt).toISOString(),
  }
  return JSON.stringify(body)
}
