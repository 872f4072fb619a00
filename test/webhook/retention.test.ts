/** How the expiry index is kept from the event log, and how a process that keeps it and removes by it begins, goes on and ends. */

import { IDEMPOTENCY_MS, REMOVE_EVERY_MS } from '@platen/contract/domain/limit.ts'
import { type ArtifactAddress, encodeManifest, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import { EXPIRY_PREFIX } from '@platen/contract/stored/expiry.ts'
import { encodeClaim, idempotencyFolder } from '@platen/contract/stored/idempotency.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import { EXPIRY_WRITTEN_EVERY_MS, maintainExpiryIndex } from '@platen/events/retention/expiry-index.ts'
import { EXPIRY_RENDERS_MAX, RENDERS_REMOVED_AT_ONCE } from '@platen/events/retention/limit.ts'
import { CLAIMS_REMOVED_EVERY_MS, runRetention } from '@platen/events/retention/retention.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aManifest, anEvent, aRecord, NEVER, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import {
  aDay,
  aProcess,
  BUCKET,
  DUE,
  end,
  existing,
  index,
  indexed,
  inMemory,
  isManifest,
  manifestOf,
  openScene,
  type Scene,
  watched,
} from './retention-scene.ts'

let scene: Scene

beforeEach(async () => {
  scene = ofTest(await openScene(inMemory))
})

describe('the index', () => {
  test('is written when a render has waited for minutes, however few there are', async () => {
    const record = aDay()
    await end(scene, record)
    const taken = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    const events: Pick<EventLog, 'follow'> = {
      async *follow(reader, signal) {
        for await (const given of watched(scene.stores.events, () => taken.resolve()).follow(reader, signal))
          yield { event: given.event, done: () => given.done().then(done.resolve) }
      },
    }
    const stopping = new AbortController()
    const ended = maintainExpiryIndex(aProcess(scene, { events }), stopping.signal)
    await taken.promise
    await scene.clock.advance(EXPIRY_WRITTEN_EVERY_MS - 1)
    expect(await indexed(scene)).toEqual([])
    await scene.clock.advance(1)
    await done.promise
    expect(await indexed(scene)).toEqual([[record.id]])
    stopping.abort()
    await ended
  })

  test('of ten thousand renders is made and used up a few at a time', async () => {
    const records = Array.from({ length: 10_000 }, () => aDay())
    for (const record of records) {
      const manifest = aManifest({ record })
      await scene.stores.artifacts.create(manifestOf(record), encodeManifest(manifest), NEVER)
      await scene.stores.events.append(anEvent(manifest), NEVER)
    }
    let waiting = 0
    let waitingMost = 0
    const done = async (given: ReceivedEvent) => {
      await given.done()
      waiting = 0
    }
    const events: Pick<EventLog, 'follow'> = {
      async *follow(reader, signal) {
        for await (const given of scene.stores.events.follow(reader, signal)) {
          waitingMost = Math.max(waitingMost, ++waiting)
          yield { event: given.event, done: () => done(given) }
        }
      },
    }
    await index(scene, { events })
    expect(waitingMost).toBe(EXPIRY_RENDERS_MAX)
    const sizes = (await indexed(scene)).map(({ length }) => length)
    expect(sizes).toEqual(Array.from({ length: 10_000 / EXPIRY_RENDERS_MAX }, () => EXPIRY_RENDERS_MAX))
    await scene.clock.advance(DUE - NOON)
    let removing = 0
    let removingMost = 0
    const forget = async () => {
      removing -= 1
    }
    const remove = async (address: ArtifactAddress, signal: AbortSignal) => {
      if (isManifest(address)) removingMost = Math.max(removingMost, ++removing)
      await scene.stores.artifacts.delete(address, signal)
    }
    const artifacts = { ...scene.stores.artifacts, delete: remove }
    await removeExpired(aProcess(scene, { artifacts, deliveries: { forget } }), NEVER)
    expect(removingMost).toBe(RENDERS_REMOVED_AT_ONCE)
    expect(await existing(scene, records.map(manifestOf))).toEqual([])
    expect(await indexed(scene)).toEqual([])
    expect(scene.lines).toContainEqual(expect.objectContaining({ fields: { kind: 'render', removed: records.length } }))
  })

  test('takes in no more than it can hold while the store is away, and all when it is back', async () => {
    const records = Array.from({ length: 2 * EXPIRY_RENDERS_MAX }, () => aDay())
    for (const record of records) await scene.stores.events.append(anEvent(aManifest({ record })), NEVER)
    let given = 0
    let isAway = true
    const tried = Promise.withResolvers<void>()
    const put: ArtifactStore['put'] = async (...args) => {
      if (!isAway) return await scene.stores.artifacts.put(...args)
      tried.resolve()
      throw new Unavailable('connection refused')
    }
    const all = Promise.withResolvers<void>()
    const events = watched(scene.stores.events, () => ++given === records.length && all.resolve())
    const stopping = new AbortController()
    const ports = aProcess(scene, { events, artifacts: { ...scene.stores.artifacts, put } })
    const ended = maintainExpiryIndex(ports, stopping.signal)
    await tried.promise
    await scene.clock.advance(EXPIRY_WRITTEN_EVERY_MS)
    expect(given).toBeLessThan(EXPIRY_RENDERS_MAX)
    isAway = false
    while (given < records.length) await scene.clock.advance(EXPIRY_WRITTEN_EVERY_MS)
    await all.promise
    stopping.abort()
    await ended
    expect((await indexed(scene)).flat().toSorted()).toEqual(records.map(({ id }) => id).toSorted())
  })

  test('acknowledges no event before all events up to it are written', async () => {
    const records = Array.from({ length: EXPIRY_RENDERS_MAX + 1 }, () => aDay())
    const append = async (each: readonly RenderRecord[]) => {
      for (const record of each) await scene.stores.events.append(anEvent(aManifest({ record })), NEVER)
    }
    await append(records.slice(0, 1))
    const [taken, slow, written] = [0, 1, 2].map(() => Promise.withResolvers<void>())
    let puts = 0
    let dones = 0
    const put: ArtifactStore['put'] = async (...args) => {
      if (++puts === 1) await slow?.promise
      await scene.stores.artifacts.put(...args)
    }
    let given = 0
    const events: Pick<EventLog, 'follow'> = {
      async *follow(reader, signal) {
        for await (const { event } of scene.stores.events.follow(reader, signal)) {
          if (++given === records.length) written?.resolve()
          yield { event, done: async () => void (dones += 1) }
          taken?.resolve()
        }
      },
    }
    const stopping = new AbortController()
    const ports = aProcess(scene, { events, artifacts: { ...scene.stores.artifacts, put } })
    const ended = maintainExpiryIndex(ports, stopping.signal)
    await taken?.promise
    await scene.clock.advance(EXPIRY_WRITTEN_EVERY_MS)
    await append(records.slice(1))
    await written?.promise
    // The event loop turns with each.
    for (let turn = 0; turn < 10; turn++) await scene.clock.advance(1)
    expect([puts, dones]).toEqual([1, 0])
    slow?.resolve()
    stopping.abort()
    await ended
    expect([puts, dones]).toEqual([2, 2])
  })

  test('loses no render where the log is away in between', async () => {
    const records = [aDay(), aDay(), aDay()]
    for (const record of records) await end(scene, record)
    let isAway = true
    const back = Promise.withResolvers<void>()
    const events: Pick<EventLog, 'follow'> = {
      async *follow(reader, signal) {
        for await (const given of watched(scene.stores.events, (id) => id === last.id && back.resolve()).follow(
          reader,
          signal,
        )) {
          yield given
          if (isAway) throw new Unavailable('connection lost')
        }
      },
    }
    const last = anEvent()
    await scene.stores.events.append(last, NEVER)
    const stopping = new AbortController()
    const ended = runRetention(aProcess(scene, { events }), stopping.signal)
    await scene.clock.advance(1000)
    expect(scene.lines).toMatchObject([{ message: 'dependency call failed, retrying' }])
    isAway = false
    await scene.clock.advance(1000)
    await back.promise
    stopping.abort()
    await ended
    const ids = (await indexed(scene)).flat()
    expect(records.filter(({ id }) => !ids.includes(id))).toEqual([])
  })

  test('continues if a part of it is damaged, and reports it', async () => {
    const record = aDay()
    const stored = await end(scene, record)
    await index(scene)
    const damaged = { bucket: BUCKET, key: `${EXPIRY_PREFIX}2026-11-22/damaged.json` }
    await scene.stores.artifacts.put(damaged, Buffer.from('{'), NEVER)
    await scene.clock.advance(DUE - NOON)
    await removeExpired(aProcess(scene), NEVER)
    expect(await existing(scene, [...stored, damaged])).toEqual([damaged])
    expect(scene.lines.filter(({ level }) => level === 'warn')).toMatchObject([{ fields: { failed: 1, removed: 1 } }])
  })
})

describe('a process', () => {
  test('ends by a defect of the log instead of going on without it', async () => {
    const stopping = new AbortController()
    const follow: EventLog['follow'] = () => {
      throw new TypeError('a defect')
    }
    const ended = runRetention(aProcess(scene, { events: { follow } }), stopping.signal)
    await expect(ended).rejects.toThrow('a defect')
    stopping.abort()
  })

  test('waits for the steps in hand when it is told to stop, and takes no other', async () => {
    const records = Array.from({ length: 2 * RENDERS_REMOVED_AT_ONCE }, () => aDay())
    for (const record of records) await end(scene, record)
    await index(scene)
    await scene.clock.advance(DUE - NOON)
    const [first, others, begun] = [0, 1, 2].map(() => Promise.withResolvers<void>())
    let steps = 0
    const remove = async () => {
      const isFirst = ++steps === 1
      if (steps === RENDERS_REMOVED_AT_ONCE) begun?.resolve()
      await (isFirst ? first : others)?.promise
    }
    const stopping = new AbortController()
    let isOver = false
    const process = (async () => {
      await runRetention(aProcess(scene, { artifacts: { ...scene.stores.artifacts, delete: remove } }), stopping.signal)
      isOver = true
    })()
    await scene.clock.advance(REMOVE_EVERY_MS)
    await begun?.promise
    stopping.abort()
    others?.resolve()
    // The event loop turns with each.
    for (let turn = 0; turn < 10; turn++) await scene.clock.advance(1)
    expect(isOver).toBe(false)
    first?.resolve()
    await process
    expect(steps).toBe(RENDERS_REMOVED_AT_ONCE)
    expect(scene.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })

  test('removes idempotency claims that are a day old, and reads each about once a day', async () => {
    const { data: _data, ...record } = aRecord()
    const scope = { account: record.account, environment: 'live' } as const
    const address = { bucket: BUCKET, key: `${idempotencyFolder(scope, 'key')}1` }
    await scene.stores.artifacts.create(address, encodeClaim({ fingerprint: 'f', claimedAt: NOON, record }), NEVER)
    let reads = 0
    const get: ArtifactStore['get'] = (...args) => {
      reads += 1
      return scene.stores.artifacts.get(...args)
    }
    const stopping = new AbortController()
    const ended = runRetention(aProcess(scene, { artifacts: { ...scene.stores.artifacts, get } }), stopping.signal)
    await scene.clock.advance(IDEMPOTENCY_MS - 1)
    expect([await existing(scene, [address]), reads]).toEqual([[address], 1])
    while ((await existing(scene, [address])).length > 0) await scene.clock.advance(REMOVE_EVERY_MS)
    expect(scene.clock.now()).toBeLessThanOrEqual(NOON + IDEMPOTENCY_MS + CLAIMS_REMOVED_EVERY_MS)
    expect(reads).toBe(2)
    stopping.abort()
    await ended
  })
})
