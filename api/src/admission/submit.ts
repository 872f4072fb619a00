/** The last step of admission: queues a render or abandons it. From here on a render exists, and every way out records its outcome. */

import { QUEUE_AGE_MS_MAX } from '@platen/contract/domain/limit.ts'
import {
  type AbandonedManifest,
  abandonedManifestOf,
  encodeManifest,
  expiryOf,
  type Manifest,
  manifestAddress,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import { withoutRequest } from '@platen/contract/domain/stored-request.ts'
import { dayOf, expiryObjectOf } from '@platen/contract/stored/expiry.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import { unavailable } from '../problem.ts'
import type { Admission } from './admit.ts'
import { readManifest } from './manifest.ts'
import { admissionObserver } from './observer.ts'

/**
 * Queues an admitted render. Resolves when it is durable. If that fails or cannot be known, abandons the render and throws
 * `RENDER_UNAVAILABLE`, so that the caller may try again without paying twice.
 */
export async function submit(admission: Admission, ports: ApiPorts): Promise<void> {
  try {
    await enqueue(admission, ports)
  } catch (cause) {
    await abandon(admission.record, ports)
    throw unavailable(cause)
  }
}

/** Queues a render that may be in the queue already: there, one id is one render. Throws `Unavailable`, and abandons nothing. */
export async function enqueue({ record, input }: Admission, ports: ApiPorts): Promise<void> {
  const { artifacts, clock } = ports
  if (input !== undefined && 'stored' in record.data) {
    await artifacts.put(record.data.stored, input, clock.timeout(PORT_CALL_MS_MAX))
  }
  await send(record, ports)
  admissionObserver(ports).queued(record)
  // Not awaited: the renderer that claims the render confirms again, and the reservation lasts until then.
  void confirm(record, ports)
}

function send(record: RenderRecord, ports: ApiPorts): Promise<void> {
  const { queue, clock } = ports
  return admissionObserver(ports).sending(record, (traced) =>
    queue.enqueue(withoutRequest(traced), clock.timeout(PORT_CALL_MS_MAX)),
  )
}

async function confirm(record: RenderRecord, ports: ApiPorts): Promise<void> {
  try {
    await ports.limiter.confirm(record, ports.clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    admissionObserver(ports).notConfirmed(record, err)
  }
}

/**
 * Ends a render whose caller gets a refusal: writes the outcome `failed/canceled` unless it has an outcome. If the record is in the queue
 * after all, the manifest of the renderer loses, and no charge, event or webhook follows. Returns an existing outcome if it can be read.
 * Never throws: the caller gets the refusal in any case.
 */
export async function abandon(record: RenderRecord, ports: ApiPorts): Promise<Manifest | undefined> {
  const { artifacts, ledger, limiter, clock, settings } = ports
  const observer = admissionObserver(ports)
  const manifest = abandonedManifest(record, ports)
  try {
    const address = manifestAddress(record.id, settings.serviceBucket)
    const creating = artifacts.create(address, encodeManifest(manifest), clock.timeout(PORT_CALL_MS_MAX))
    const [isOurs] = await Promise.all([creating, recordExpiry(record, ports)])
    if (!isOurs) return await readManifest(record.id, ports)
  } catch (err) {
    observer.notAbandoned(record, err)
    return undefined
  }
  const signal = clock.timeout(PORT_CALL_MS_MAX)
  const results = await Promise.allSettled([ledger.complete(manifest, signal), limiter.complete(manifest, signal)])
  for (const each of results) {
    // Only the manifest is essential, and it is written. The next process that finds it completes the render again.
    if (each.status === 'rejected') observer.abandonedNotCompleted(record, each.reason)
  }
  return undefined
}

/**
 * Records when to remove the stored objects of a render, because no event will. If a renderer ends the render after all, this does not
 * shorten how long it is kept. Never throws: an object that is not removed is small.
 */
export async function recordExpiry(
  record: Pick<RenderRecord, 'id' | 'tenant' | 'account' | 'storage' | 'acceptedAt' | 'retentionDays'>,
  ports: ApiPorts,
): Promise<void> {
  const { artifacts, clock, settings } = ports
  const day = dayOf(expiryOf(record, record.acceptedAt + QUEUE_AGE_MS_MAX))
  const { key, bytes } = expiryObjectOf(day, [{ id: record.id, storage: record.storage, account: record.account }])
  try {
    await artifacts.put({ bucket: settings.serviceBucket, key }, bytes, clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    admissionObserver(ports).expiryNotRecorded(record, err)
  }
}

/** For a render that never went to the queue. Never throws: a reservation that is not released lapses. */
export async function releaseReservation(record: RenderRecord, ports: ApiPorts): Promise<void> {
  const { limiter, clock } = ports
  try {
    await limiter.complete(abandonedManifest(record, ports), clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    admissionObserver(ports).notReleased(record, err)
  }
}

function abandonedManifest(record: RenderRecord, { clock }: ApiPorts): AbandonedManifest {
  const error = { code: 'canceled', message: 'the request was refused before a renderer began' } as const
  return abandonedManifestOf(record, { status: 'failed', finishedAt: clock.now(), durationMs: 0, error })
}

/** A failure changes nothing: the queue has the render, so it is accepted. */
export async function markQueued(record: RenderRecord, ports: ApiPorts): Promise<void> {
  try {
    await ports.ledger.markQueued(record, ports.clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    admissionObserver(ports).notShown(record, err)
  }
}
