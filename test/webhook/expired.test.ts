/** How renders are removed where no database knows which are past their time, over stores in memory, and over files and a database. */

import { type ArtifactAddress, manifestKey } from '@platen/contract/domain/render.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import { EXPIRY_WRITTEN_EVERY_MS } from '@platen/events/retention/expiry-index.ts'
import { type RetentionPorts, runRetention } from '@platen/events/retention/retention.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aRecord, NEVER, NOON } from '../fixture/build.ts'
import {
  aDay,
  aProcess,
  DAY_MS,
  DUE,
  end,
  existing,
  index,
  indexed,
  inMemory,
  inSteps,
  isManifest,
  onDisk,
  openScene,
  type Scene,
  type Stores,
} from './retention-scene.ts'

let scene: Scene
let over: AbortController
beforeEach(() => {
  over = new AbortController()
})
afterEach(async () => {
  over.abort()
  await scene[Symbol.asyncDispose]()
})

describe.each([
  ['in memory', inMemory],
  ['on files and a database', onDisk],
])('%s', (_, open) => {
  beforeEach(async () => {
    scene = await openScene(open)
  })

  test.for([
    ['that succeeded', undefined],
    ['that failed', aFailure()],
  ] as const)(
    'a render %s is gone with all that was stored of it when the day is over on which its days end, not a moment before',
    async ([, outcome]) => {
      const record = aDay({ storage: { bucket: 'own-bucket', prefix: 'pdf/of/acme/' } })
      const stored = await end(scene, record, outcome)
      const longer = await end(scene, aRecord({ retentionDays: 2 }))
      await index(scene)
      await scene.clock.advance(DUE - NOON - 1)
      await removeExpired(aProcess(scene), NEVER)
      expect(await existing(scene, stored)).toEqual(stored)
      expect(await scene.stores.deliveries.listByRender(record.id, NEVER)).toHaveLength(1)
      await scene.clock.advance(1)
      await removeExpired(aProcess(scene), NEVER)
      expect(await existing(scene, stored)).toEqual([])
      expect(await Array.fromAsync(scene.stores.artifacts.list('own-bucket', '', NEVER))).toEqual([])
      expect(await scene.stores.deliveries.listByRender(record.id, NEVER)).toEqual([])
      expect(await existing(scene, longer)).toEqual(longer)
      expect(await indexed(scene)).toHaveLength(1)
    },
  )

  test('a pass in which nothing is due lists the days of the index, and no object of it', async () => {
    for (const retentionDays of [1, 2, 30]) await end(scene, aRecord({ retentionDays }))
    await index(scene)
    const listed: string[] = []
    const list: Stores['artifacts']['list'] = (bucket, prefix, signal) => {
      listed.push(prefix)
      return scene.stores.artifacts.list(bucket, prefix, signal)
    }
    const ports = aProcess(scene, { artifacts: { ...scene.stores.artifacts, list } })
    await scene.clock.advance(DUE - NOON - 1)
    await removeExpired(ports, NEVER)
    expect(listed).toEqual([])
    await scene.clock.advance(1)
    await removeExpired(ports, NEVER)
    expect(listed[0]).toBe('expiry/2026-11-22/')
    expect(listed.filter((prefix) => prefix.startsWith('expiry/'))).toHaveLength(1)
  })

  test('a process that is killed while it keeps the index, wherever, leaves every render to the next', async () => {
    for (let steps = 0; ; steps++) {
      const records = [aDay(), aDay(), aRecord({ retentionDays: 2 })]
      for (const record of records) await end(scene, record)
      const { ports, killed } = killedAfter(scene.stores, steps, over.signal)
      const ending = await Promise.race([killed, index(scene, ports)])
      await index(scene)
      const ids = (await indexed(scene)).flat()
      expect(records.filter(({ id }) => !ids.includes(id))).toEqual([])
      // Three days to write, that of the end of the log among them, and the place in the log.
      if (ending !== 'killed') return expect(steps).toBe(4)
    }
  })

  test('a process that is killed while it removes, wherever, leaves no render half there, and the next ends it', async () => {
    for (let steps = 0; ; steps++) {
      const record = aDay()
      const stored = await end(scene, record)
      await index(scene)
      await scene.clock.advance(Math.max(DUE - scene.clock.now(), 0))
      const { ports, killed } = killedAfter(scene.stores, steps, over.signal)
      const ending = await Promise.race([killed, removeExpired(aProcess(scene, ports), over.signal)])
      const left = await existing(scene, stored)
      // A manifest that is still there gives a link, which has to lead to a PDF; and the index leads to all that is left.
      if (left.some(isManifest)) expect(left).toEqual(stored)
      const deliveries = await scene.stores.deliveries.listByRender(record.id, NEVER)
      if (left.length + deliveries.length > 0) expect((await indexed(scene)).flat()).toContain(record.id)
      await removeExpired(aProcess(scene), NEVER)
      expect(await existing(scene, stored)).toEqual([])
      expect(await scene.stores.deliveries.listByRender(record.id, NEVER)).toEqual([])
      expect(await indexed(scene)).toEqual([])
      // All that is stored, the deliveries, and the object of the index.
      if (ending !== 'killed') return expect(steps).toBe(stored.length + 2)
    }
  })

  test('a render that cannot be removed holds up no other, is reported once, and is tried again a day later', async () => {
    const [stuck, other] = [aDay(), aDay()]
    const [kept, gone] = [await end(scene, stuck), await end(scene, other)]
    await index(scene)
    await scene.clock.advance(DUE - NOON)
    let tries = 0
    let isStuck = true
    const remove = async (address: ArtifactAddress, signal: AbortSignal) => {
      if (address.key === manifestKey(stuck.id)) tries += 1
      if (isStuck && address.key === manifestKey(stuck.id)) throw new Error('the store says no')
      await scene.stores.artifacts.delete(address, signal)
    }
    const ports = aProcess(scene, { artifacts: { ...scene.stores.artifacts, delete: remove } })
    await removeExpired(ports, NEVER)
    await removeExpired(ports, NEVER)
    expect(await existing(scene, [...kept, ...gone])).toEqual(kept)
    expect(tries).toBe(1)
    expect(scene.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { fields: { kind: 'render', failed: 1 } },
    ])
    expect(await indexed(scene)).toEqual([[stuck.id]])
    isStuck = false
    await scene.clock.advance(DAY_MS)
    await removeExpired(ports, NEVER)
    expect(await existing(scene, kept)).toEqual([])
    expect(await indexed(scene)).toEqual([])
  })

  test('a process that is killed while it puts off a render, wherever, leaves it in the index', async () => {
    const refuse = () => Promise.reject(new Error('the store says no'))
    for (let steps = 0; ; steps++) {
      const stuck = aDay()
      await end(scene, stuck)
      await index(scene)
      await scene.clock.advance(Math.max(DUE - scene.clock.now(), DAY_MS))
      const { ports, killed } = killedAfter(scene.stores, steps, over.signal)
      const refusing = { ...ports, deliveries: { forget: refuse } }
      const ending = await Promise.race([killed, removeExpired(aProcess(scene, refusing), over.signal)])
      expect((await indexed(scene)).flat()).toContain(stuck.id)
      await scene.clock.advance(DAY_MS)
      await removeExpired(aProcess(scene), NEVER)
      expect(await indexed(scene)).toEqual([])
      // Its objects, the new part of the index, and the old one.
      if (ending !== 'killed') return expect(steps).toBe(6)
    }
  })

  test('two processes at once remove every render, and none before its time', async () => {
    const records = Array.from({ length: 40 }, (_, at) => aRecord({ retentionDays: 1 + (at % 2) }))
    const stored = (await Promise.all(records.map((record) => end(scene, record)))).flat()
    const early: string[] = []
    const remove = async (address: ArtifactAddress, signal: AbortSignal) => {
      const record = records.find(({ id }) => address.key === manifestKey(id))
      if (record !== undefined && scene.clock.now() < NOON + 500 + record.retentionDays * DAY_MS) early.push(record.id)
      await scene.stores.artifacts.delete(address, signal)
    }
    const stopping = new AbortController()
    const ports = () => aProcess(scene, { artifacts: { ...scene.stores.artifacts, delete: remove } })
    const processes = [runRetention(ports(), stopping.signal), runRetention(ports(), stopping.signal)]
    while ((await existing(scene, stored)).length > 0 || (await indexed(scene)).length > 0)
      await scene.clock.advance(EXPIRY_WRITTEN_EVERY_MS)
    stopping.abort()
    await Promise.all(processes)
    expect(early).toEqual([])
    expect(scene.clock.now()).toBeGreaterThanOrEqual(DUE + DAY_MS)
    expect(scene.lines.filter(({ level }) => level !== 'info')).toEqual([])
  })
})

/** Takes so many steps of a process, and then none, as if it were killed. `over` ends the step that it hangs in. */
function killedAfter(stores: Stores, steps: number, over: AbortSignal) {
  let taken = 0
  const killed = Promise.withResolvers<'killed'>()
  const dead = Promise.withResolvers<never>()
  dead.promise.catch(() => undefined)
  over.addEventListener('abort', () => dead.reject(over.reason), { once: true })
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken++ < steps) return await work()
    killed.resolve('killed')
    return await dead.promise
  }
  const ports: Partial<RetentionPorts> = {
    ...inSteps(stores, step),
    events: {
      async *follow(reader, signal) {
        for await (const given of stores.events.follow(reader, signal))
          yield { event: given.event, done: () => step(() => given.done()) }
      },
    },
  }
  return { ports, killed: killed.promise }
}
