/** Last station: into the queue, or into nothing. From here on a render exists, and every way out says what became of it. */
import { PORT_CALL_MS_MAX } from '@platen/contract/limit.ts'
import {
  type ArtifactAddress,
  decodeManifest,
  encodeManifest,
  type Manifest,
  manifestKey,
  manifestOf,
  type RenderRecord,
} from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { ApiPorts } from '../ports.ts'
import { unavailable } from '../problem.ts'
import type { Admission } from './admit.ts'

/**
 * Queues an admitted render; resolves when it is durable. Throws `RENDER_UNAVAILABLE` when that failed or cannot be known, having
 * abandoned the render, so that the caller may try again without paying twice.
 */
export async function submit({ record, input }: Admission, ports: ApiPorts): Promise<void> {
  const { queue, artifacts, clock } = ports
  if (input !== undefined && 'stored' in record.data) {
    await artifacts.put(record.data.stored, input, clock.timeout(PORT_CALL_MS_MAX))
  }
  try {
    await queue.enqueue(record, clock.timeout(PORT_CALL_MS_MAX))
  } catch (cause) {
    await abandon(record, ports)
    throw unavailable(cause)
  }
}

/**
 * Ends a render whose caller gets a refusal, by writing the outcome `failed/canceled` unless another stands: should the record
 * be in the queue after all, the renderer's manifest loses, and no charge, event or webhook comes of it. Returns the outcome
 * that stands instead, if there is one and it can be read. Never throws: the caller has its refusal either way.
 */
export async function abandon(record: RenderRecord, ports: ApiPorts): Promise<Manifest | undefined> {
  const { artifacts, ledger, clock, log, settings } = ports
  const error = { code: 'canceled', message: 'the request was refused before a renderer began' } as const
  const manifest = manifestOf(record, 0, { status: 'failed', finishedAt: clock.now(), durationMs: 0, error })
  try {
    const address = manifestAddress(record.id, settings.serviceBucket)
    const isOurs = await artifacts.create(address, encodeManifest(manifest), clock.timeout(PORT_CALL_MS_MAX))
    if (!isOurs) return await readManifest(record.id, ports)
    await ledger.settle(manifest, clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    log.error({ tenant: record.tenant, render: record.id, requestId: record.requestId, err }, 'render not abandoned')
  }
  return undefined
}

/** The outcome of a render, once there is one. Throws `Unavailable`. */
export async function readManifest(id: RenderId, ports: ApiPorts): Promise<Manifest | undefined> {
  const { artifacts, clock, settings } = ports
  const bytes = await artifacts.get(manifestAddress(id, settings.serviceBucket), clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeManifest(bytes)
}

function manifestAddress(id: RenderId, bucket: string): ArtifactAddress {
  return { bucket, key: manifestKey(id) }
}
