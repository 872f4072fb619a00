/**
 * Keeps the list of renders in Redis equal to the event log. The processes that accept and end renders update the list themselves, and
 * sooner. This projection adds what the list missed, and rebuilds it when Redis has lost it.
 *
 * An event says that a render has ended; the listed fields come from its manifest, because an event cannot be erased. An erased render has
 * a tombstone in place of its manifest, a removed one has a manifest that says so, and an expired one has none. The event of a stored
 * request also lacks the labels.
 *
 * It does the same for the list of deliveries, from the delivery log.
 */
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { NewerFormat } from '@platen/contract/domain/format.ts'
import {
  decodeManifest,
  expiryOf,
  manifestAddress,
  monthOf,
  UnreadableManifest,
} from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { EventBatch } from '@platen/contract/port/event-log.ts'
import { listedDelivery } from '@platen/contract/port/listed-delivery.ts'
import { listedEnded } from '@platen/contract/port/listed-render.ts'
import type { RenderListView } from '@platen/contract/port/render-list.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import { retrying } from '@platen/lib/retry.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { applyEvents, type ReplayPorts } from '../replay.ts'

/** Events compared with the list at a time. Each missing one costs a GET of the artifact store, which serves some hundreds at once. */
const LISTED_AT_ONCE = 64

export interface ListPorts extends ReplayPorts {
  readonly list: Pick<RenderListView, 'put' | 'isSettled'>
  readonly deliveryList: Pick<DeliveryListView, 'add' | 'isSettled'>
  readonly deliveries: Pick<DeliveryLog, 'find'>
  readonly artifacts: Pick<ArtifactStore, 'get'>
  readonly serviceBucket: string
}

const LIST_READER = 'list'

/** Runs until `signal` aborts. Any number of processes may run it; they share the log. Rejects only because of a defect. */
export async function runListProjection(ports: ListPorts, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports
  const store = { clock, log, dependency: 'artifact store' }
  const artifacts = retrying(ports.artifacts, ['get'], store)
  const deliveries = retrying(ports.deliveries, ['find'], store)
  const apply = async (batches: readonly EventBatch[]) => {
    const events = batches.flatMap((batch) => batch.events)
    await forEachConcurrently(events, LISTED_AT_ONCE, async (event) => {
      const { render, outcome } = event.manifest
      if (expiryOf(render, outcome.finishedAt) <= clock.now()) return
      await listRender(event, { ...ports, artifacts }, signal)
      await listDelivery(event, { ...ports, deliveries }, signal)
    })
    const period = monthOf(ports.clock.now())
    return batches.map(() => ({ period, charged: new Map() }))
  }
  await applyEvents({ reader: LIST_READER, apply }, ports, signal).catch(throwUnlessAborted(signal))
}

async function listRender(
  { manifest: { render } }: RenderEvent,
  { list, artifacts, serviceBucket, log }: ListPorts,
  signal: AbortSignal,
): Promise<void> {
  if (await list.isSettled(render, render.id, signal)) return
  const bytes = await artifacts.get(manifestAddress(render.id, serviceBucket), signal)
  try {
    const manifest = bytes && decodeManifest(bytes)
    if (manifest?.kind === 'ended') await list.put(render, listedEnded(manifest), signal)
  } catch (err) {
    if (!(err instanceof UnreadableManifest || err instanceof NewerFormat)) throw err
    log.error({ render: render.id, err }, 'render not listed, outcome unreadable')
  }
}

/** The dispatcher lists deliveries. This adds what the list has lost, from the delivery log. */
async function listDelivery(
  { id, manifest: { render } }: RenderEvent,
  { deliveryList, deliveries, log }: ListPorts,
  signal: AbortSignal,
): Promise<void> {
  if (render.webhookUrl === undefined && render.requestData === undefined) return
  const scope = render
  if (await deliveryList.isSettled(scope, render.id, signal)) return
  try {
    const record = await deliveries.find(id, signal)
    const listed = record && listedDelivery(record)
    if (listed !== undefined) await deliveryList.add(scope, listed, signal)
  } catch (err) {
    // The object is damaged. A request for the delivery reports that.
    if (err instanceof Unavailable || signal.aborted) throw err
    log.error({ render: render.id, delivery: id, err }, 'delivery not listed, record unreadable')
  }
}
