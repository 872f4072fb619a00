import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import {
  encodeManifest,
  MANIFEST_PREFIX,
  type Manifest,
  manifestKey,
  UnreadableManifest,
} from '@platen/contract/domain/render.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import {
  aFailure,
  aManifest,
  anAbandonedManifest,
  anEvent,
  aRecord,
  aRenderId,
  logTo,
  NEVER,
  NOON,
} from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { memoryEventLog } from '../../../test/fixture/memory/event-log.ts'
import { memoryLimiter } from '../../../test/fixture/memory/limiter.ts'
import { RECOVERY_WINDOW_MS, type Recovery, recover } from './recovery.ts'

const BUCKET = 'platen'
/** The key that signs the events in the fixtures. */

/** Builds a service at its start, with manifests that an earlier process has left. */
async function aStart(manifests: readonly Manifest[]) {
  const clock = manualClock(NOON)
  const lines: object[] = []
  const [artifacts, ledger, events, limiter] = [
    memoryArtifactStore(),
    memoryRenderLedger(clock),
    memoryEventLog(),
    memoryLimiter(clock),
  ]
  for (const manifest of manifests) {
    await artifacts.create({ bucket: BUCKET, key: manifestKey(manifest.render.id) }, encodeManifest(manifest), NEVER)
  }
  const recovery: Recovery = {
    // It may list manifests from before `since`, and this one lists all of them.
    artifacts: {
      ...artifacts,
      listManifests: (bucket, _since, signal) => artifacts.list(bucket, MANIFEST_PREFIX, signal),
    },
    ledger,
    events,
    limiter,
    log: logTo(({ fields }) => lines.push(fields)),
    serviceBucket: BUCKET,
    newest: undefined,
  }
  const appended = async (): Promise<RenderEvent[]> => {
    const last = anEvent(aManifest({ outcome: aFailure() }))
    await events.append(last, NEVER)
    const before: RenderEvent[] = []
    for await (const { event } of events.follow('test', NEVER)) {
      if (event.id === last.id) break
      before.push(event)
    }
    return before
  }
  return { artifacts, ledger, events, limiter, recovery, lines, appended }
}

const chargedIn = async ({ limiter }: { limiter: Limiter }) => {
  const { account, period } = aRecord()
  return (await limiter.usage(account, period, NEVER)).charged
}

test('an outcome that was not published is published, charged and shown', async () => {
  const manifest = aManifest({ record: aRecord({ lane: 'sync', units: 5 }) })
  const service = await aStart([manifest])
  await recover(service.recovery, NEVER)
  expect(await service.appended()).toEqual([anEvent(manifest)])
  expect(await chargedIn(service)).toBe(5)
  expect((await service.ledger.find(manifest.render.id, NEVER))?.state).toEqual(manifest.outcome)
})

test('a failed one is published and costs nothing', async () => {
  const manifest = aManifest({ outcome: aFailure() })
  const service = await aStart([manifest])
  await recover(service.recovery, NEVER)
  expect(await service.appended()).toEqual([anEvent(manifest)])
  expect(await chargedIn(service)).toBe(0)
})

test('one whose manifest is damaged holds up no other, and the log is told', async () => {
  const manifests = [aManifest(), aManifest()]
  const [damaged, whole] = manifests
  const service = await aStart(manifests)
  const half = encodeManifest(manifests[0] ?? aManifest()).subarray(0, 100)
  await service.artifacts.put({ bucket: BUCKET, key: manifestKey(damaged?.render.id ?? aRenderId()) }, half, NEVER)
  await recover(service.recovery, NEVER)
  expect(await service.appended()).toEqual([anEvent(whole)])
  expect(service.lines).toEqual([{ render: damaged?.render.id, err: expect.any(UnreadableManifest) }, { recovered: 1 }])
})

test('one that the API abandoned is not published, and is shown', async () => {
  const manifest = anAbandonedManifest()
  const service = await aStart([manifest])
  await recover(service.recovery, NEVER)
  expect(await service.appended()).toEqual([])
  expect((await service.ledger.find(manifest.render.id, NEVER))?.state).toEqual(manifest.outcome)
})

test('doing it again changes nothing, nor does a partly published end', async () => {
  const manifests = Array.from({ length: 100 }, () => aManifest())
  const service = await aStart(manifests)
  for (const manifest of manifests.slice(0, 60)) await service.events.append(anEvent(manifest), NEVER)
  for (const manifest of manifests.slice(0, 30)) await service.limiter.complete(manifest, NEVER)
  for (const manifest of manifests.slice(0, 10)) await service.ledger.complete(manifest, NEVER)
  await recover(service.recovery, NEVER)
  await recover(service.recovery, NEVER)
  const ids = (await service.appended()).map(({ manifest }) => manifest.render.id)
  expect(ids.toSorted()).toEqual(manifests.map(({ render }) => render.id).toSorted())
  // The ledger row is written last: these ten have one, so they were charged before.
  expect(await chargedIn(service)).toBe(100)
  expect(service.lines).toEqual([{ recovered: 90 }])
})

test.for([
  ['as long before the last sign of life as a render may take', -RECOVERY_WINDOW_MS, true],
  ['a moment earlier', -RECOVERY_WINDOW_MS - 1, false],
  ['after it', 1, true],
] as const)('a render that was accepted %s is looked at: %s', async ([, at, isLookedAt]) => {
  const manifest = aManifest({ record: aRecord({ id: aRenderId(NOON + at) }) })
  const service = await aStart([manifest])
  await recover({ ...service.recovery, newest: aRenderId(NOON) }, NEVER)
  expect(await service.appended()).toHaveLength(isLookedAt ? 1 : 0)
})

test('a store that is away stops the start, and what was not charged is not shown as settled', async () => {
  const manifest = aManifest()
  const { recovery, ledger } = await aStart([manifest])
  const complete = () => Promise.reject(new Unavailable('the disk is full'))
  await expect(recover({ ...recovery, limiter: { complete } }, NEVER)).rejects.toThrow('the disk is full')
  expect(await ledger.find(manifest.render.id, NEVER)).toBeUndefined()
})
