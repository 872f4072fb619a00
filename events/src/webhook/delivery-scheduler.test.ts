import { setImmediate } from 'node:timers/promises'
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import {
  type EndedManifest,
  encodeManifest,
  manifestKey,
  removedManifestOf,
  tombstoneOf,
} from '@platen/contract/domain/render.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import { assert, expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, aRecord, NEVER, NOON, SILENT } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../../../test/fixture/memory/delivery-log.ts'
import { memoryEventLog } from '../../../test/fixture/memory/event-log.ts'
import { scheduleDeliveries } from './delivery-scheduler.ts'
import { WEBHOOK_EVENTS_PER_COMMIT } from './limit.ts'

const URL = 'https://example.com/of-ada'

function aStored(): EndedManifest {
  const data = { stored: { bucket: 'platen', key: 'acme/input' } }
  const record = aRecord({ webhookUrl: URL, requestData: 'Stored', data })
  return aManifest({ record, outcome: aFailure({ error: { code: 'template_error', message: 'no total for ada' } }) })
}

test('a delivery of a stored request is as its manifest says, removed or not, and there is none of an erased or damaged one', async () => {
  const [clock, events, artifacts] = [manualClock(NOON), memoryEventLog(), memoryArtifactStore()]
  const deliveries = memoryDeliveryLog(clock)
  const [erased, gone, damaged, kept, removed] = [aStored(), aStored(), aStored(), aStored(), aStored()]
  const store = (stored: EndedManifest, bytes: Uint8Array) =>
    artifacts.put({ bucket: 'platen', key: manifestKey(stored.render.id) }, bytes, NEVER)
  await store(erased, encodeManifest(tombstoneOf(erased.render, NOON)))
  await store(damaged, Buffer.from('{'))
  await store(kept, encodeManifest(kept))
  await store(removed, encodeManifest(removedManifestOf(removed)))
  const stored = [erased, gone, damaged, kept, removed]
  const other = aManifest({ record: aRecord({ webhookUrl: URL }) })
  const happened = [...stored, other].map((manifest) => anEvent(manifest))
  expect(JSON.stringify(happened.slice(0, 5))).not.toContain('ada')
  for (const event of happened) await events.append(event, NEVER)
  const stop = new AbortController()
  const ports = { events, deliveries, artifacts, serviceBucket: 'platen', clock, log: SILENT, retriesMax: 5 }
  const running = scheduleDeliveries(ports, stop.signal)
  const [{ id: last } = anEvent()] = happened.slice(-1)
  while ((await deliveries.find(last, NEVER)) === undefined) await setImmediate()
  stop.abort()
  await running.catch(() => undefined)
  const found = await Promise.all(happened.map(async ({ id }) => (await deliveries.find(id, NEVER))?.delivery))
  expect(found.map((delivery) => delivery?.url)).toEqual([undefined, undefined, undefined, URL, URL, URL])
  expect(JSON.parse(found[3]?.body ?? '')).toMatchObject({ error_message: 'no total for ada' })
})

test('a delivery that takes long holds up no other, and no event behind it counts as read before it is stored', async () => {
  const [clock, events, artifacts] = [manualClock(NOON), memoryEventLog(), memoryArtifactStore()]
  const log = memoryDeliveryLog(clock)
  const happened = Array.from({ length: 2 * WEBHOOK_EVENTS_PER_COMMIT }, () =>
    anEvent(aManifest({ record: aRecord({ webhookUrl: URL }) })),
  )
  for (const event of happened) await events.append(event, NEVER)
  const [slow, ...others] = happened.map(({ id }) => id)
  assert(slow !== undefined)
  const answered = Promise.withResolvers<void>()
  const deliveries = {
    async schedule(due: readonly Delivery[], signal: AbortSignal) {
      if (due.some(({ id }) => id === slow)) await answered.promise
      await log.schedule(due, signal)
    },
  }
  const stop = new AbortController()
  const ports = { events, deliveries, artifacts, serviceBucket: 'platen', clock, log: SILENT, retriesMax: 5 }
  const running = scheduleDeliveries(ports, stop.signal)
  for (const id of others) while ((await log.find(id, NEVER)) === undefined) await setImmediate()
  expect([await log.find(slow, NEVER), (await firstUnread(events)).id]).toEqual([undefined, slow])
  answered.resolve()
  const marker = anEvent()
  await events.append(marker, NEVER)
  while ((await firstUnread(events)).id !== marker.id) await setImmediate()
  expect(await log.find(slow, NEVER)).toBeDefined()
  stop.abort()
  await running
})

async function firstUnread(events: EventLog): Promise<RenderEvent> {
  for await (const { event } of events.follow('webhooks', NEVER)) return event
  throw new Error('there is one')
}
