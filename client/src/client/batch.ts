/** Batches: many renders of one template that are accepted together, or not at all. */

import type { CallOptions } from '../transport.ts'
import type { BatchItem, BatchRecord, BatchRequest } from '../wire.ts'
import { type AcceptedBatch, jsonOf, readAcceptedBatch } from './answer.ts'
import { getCall, type RenderCallOptions, type Service, startCall } from './call.ts'
import { BATCH_END, type EndedBatch, POLL_ATTEMPT_MS, pollUntilEnd, type TimeLeft } from './wait.ts'

export interface BatchInput extends Omit<BatchRequest, 'items'> {
  /** 1 to 1,000. */
  readonly items: readonly BatchItemInput[]
}

export interface BatchItemInput extends Omit<BatchItem, 'data'> {
  /** The payload, valid under the template's `variablesSchema`. */
  readonly data: object
}

export async function createBatch(
  { send, url, brand }: Service,
  input: BatchInput,
  call?: RenderCallOptions,
): Promise<AcceptedBatch> {
  return await send({
    ...startCall(url('batches'), input, call),
    read: (response) => readAcceptedBatch(response, brand),
  })
}

const readBatch = jsonOf<BatchRecord>({ batchId: 'string', status: 'string' })

export async function getBatch(
  { send, url }: Service,
  batchId: string,
  call?: CallOptions & { readonly attemptMs?: number },
): Promise<BatchRecord> {
  return await send({ ...getCall(url(`batches/${encodeURIComponent(batchId)}`), call), read: readBatch })
}

export async function waitForBatch(service: Service, batchId: string, call: CallOptions = {}): Promise<EndedBatch> {
  const ask = ({ timeoutMs }: TimeLeft) =>
    getBatch(service, batchId, { ...call, timeoutMs, attemptMs: POLL_ATTEMPT_MS })
  return await pollUntilEnd({ ask, ...BATCH_END }, call, service.clock)
}
