import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { memoryDeliveryLog } from '@platen/adapters/memory/delivery-log.ts'
import { memoryEventLog } from '@platen/adapters/memory/event-log.ts'
import { encodeManifest, type Manifest, manifestKey, tombstoneOf } from '@platen/contract/render.ts'
import { expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, aRecord, NEVER, NOON, SILENT } from '../../../test/fixture/build.ts'
import { scheduleDeliveries } from './delivery-scheduler.ts'

const URL = 'https://example.com/of-ada'

function aStored(): Manifest {
  const data = { stored: { bucket: 'platen', key: 'acme/input' } }
  const record = aRecord({ webhookUrl: URL, requestData: 'Stored', data })
  return aManifest({ record, outcome: aFailure({ error: { code: 'template_error', message: 'no total for ada' } }) })
}

test('a delivery of a stored request is as its manifest says, and there is none of an erased or damaged one', async () => {
  const [clock, events, artifacts] = [manualClock(NOON), memoryEventLog(), memoryArtifactStore()]
  const deliveries = memoryDeliveryLog(clock)
  const [erased, gone, damaged, kept] = [aStored(), aStored(), aStored(), aStored()]
  const store = (stored: Manifest, bytes: Uint8Array) =>
    artifacts.put({ bucket: 'platen', key: manifestKey(stored.render.id) }, bytes, NEVER)
  await store(erased, encodeManifest(tombstoneOf(erased.render, NOON)))
  await store(damaged, Buffer.from('{'))
  await store(kept, encodeManifest(kept))
  const happened = [erased, gone, damaged, kept, aManifest({ record: aRecord({ webhookUrl: URL }) })].map(anEvent)
  expect(JSON.stringify(happened.slice(0, 4))).not.toContain('ada')
  for (const event of happened) await events.append(event, NEVER)
  const stop = new AbortController()
  const ports = { events, deliveries, artifacts, serviceBucket: 'platen', clock, log: SILENT, retriesMax: 5 }
  const running = scheduleDeliveries(ports, stop.signal)
  const [{ id: last } = anEvent()] = happened.slice(-1)
  while ((await deliveries.find(last, NEVER)) === undefined) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  await running.catch(() => undefined)
  const found = await Promise.all(happened.map(async ({ id }) => (await deliveries.find(id, NEVER))?.delivery))
  expect(found.map((delivery) => delivery?.url)).toEqual([undefined, undefined, undefined, URL, URL])
  expect(JSON.parse(found[3]?.body ?? '')).toMatchObject({ error_message: 'no total for ada' })
})
