/** How renders are erased, alone and by the order for a tenant, over stores in memory, and over files and a database. */

import {
  decodeErasure,
  ERASURE_HELD_MS,
  type ErasureOrder,
  encodeErasure,
  erasureKey,
  held,
  LISTED_ERASURE_AGAIN_MS,
  type ListedErasureOrder,
  listedErasureKey,
} from '@platen/contract/domain/erasure.ts'
import { ERASED_KEPT_DAYS } from '@platen/contract/domain/limit.ts'
import { type ArtifactAddress, decodeManifest, inputKey, type RenderRecord } from '@platen/contract/domain/render.ts'
import { batchAddresses, batchIdOf } from '@platen/contract/stored/batch.ts'
import { encodeClaim, idempotencyFolder } from '@platen/contract/stored/idempotency.ts'
import { type ErasurePorts, eraseRenders } from '@platen/events/retention/erasure.ts'
import { workOffErasures } from '@platen/events/retention/erasure-order.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import { ERASURES_LOOKED_FOR_EVERY_MS } from '@platen/events/retention/limit.ts'
import { runRetention } from '@platen/events/retention/retention.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aRecord, aRenderId, NEVER, NOON } from '../fixture/build.ts'
import {
  aProcess,
  BUCKET,
  DAY_MS,
  end,
  existing,
  index,
  indexed,
  inMemory,
  inSteps,
  isManifest,
  manifestOf,
  onDisk,
  openScene,
  type Scene,
} from './retention-scene.ts'

const PERSONAL = { webhookUrl: 'https://hooks.example.com/ada', options: { filename: 'ada.pdf' }, requestId: 'for ada' }
const ALL = { isWanted: () => true }

let scene: Scene
afterEach(() => scene[Symbol.asyncDispose]())

describe.each([
  ['in memory', inMemory],
  ['on files and a database', onDisk],
] as const)('%s', (_, open) => {
  beforeEach(async () => {
    scene = await openScene(open)
  })

  const round = (changes: Partial<ErasurePorts> = {}) =>
    workOffErasures({ ...aProcess(scene, changes), findRenders: scene.stores.findRenders }, NEVER)

  test.for([
    ['succeeded', undefined],
    ['failed', aFailure()],
  ] as const)('of a render that %s nothing is left but a tombstone without data, for a week', async ([, outcome]) => {
    const record = aRecord({ storage: { bucket: 'own-bucket', prefix: 'pdf/of/acme/' }, ...PERSONAL })
    const [stored, other] = [await end(scene, record, outcome), await end(scene, aRecord())]
    const result = await eraseRenders({ ids: [record.id], ...ALL }, aProcess(scene), NEVER)
    expect(result).toEqual({ erased: [{ id: record.id, hadManifest: true }], failed: [] })
    expect(await existing(scene, [...stored, ...other])).toEqual([manifestOf(record), ...other])
    const bytes = await scene.stores.artifacts.get(manifestOf(record), NEVER)
    expect(decodeManifest(bytes ?? Buffer.of())).toMatchObject({ kind: 'erased', isComplete: true })
    expect(Buffer.from(bytes ?? []).toString()).not.toContain('ada')
    expect(await scene.stores.deliveries.listByRender(record.id, NEVER)).toEqual([])
    expect((await scene.stores.ledger.find(record.id, NEVER))?.state).toMatchObject({ error: { code: 'canceled' } })
    // Written too late, by a renderer that was killed before it met the tombstone.
    await scene.stores.artifacts.put(
      { bucket: 'own-bucket', key: `pdf/of/acme/${record.id}/late.pdf` },
      Buffer.of(1),
      NEVER,
    )
    await scene.clock.advance(ERASED_KEPT_DAYS * DAY_MS)
    await removeExpired(aProcess(scene), NEVER)
    expect(await existing(scene, [manifestOf(record)])).toEqual([manifestOf(record)])
    await scene.clock.advance(DAY_MS)
    await removeExpired(aProcess(scene), NEVER)
    expect(await existing(scene, [manifestOf(record), ...other])).toEqual(other)
    expect(await Array.fromAsync(scene.stores.artifacts.list('own-bucket', '', NEVER))).toEqual([])
    expect(await indexed(scene)).toEqual([])
  })

  test('an old render leaves nothing but its tombstone, and an unknown one no harm', async () => {
    const record = aRecord()
    const stored = await end(scene, record)
    await scene.clock.advance(ERASED_KEPT_DAYS * DAY_MS)
    const unknown = aRenderId(scene.clock.now())
    const { erased } = await eraseRenders({ ids: [record.id, record.id, unknown], ...ALL }, aProcess(scene), NEVER)
    expect(erased.toSorted((one, other) => Number(other.hadManifest) - Number(one.hadManifest))).toEqual([
      { id: record.id, hadManifest: true },
      { id: unknown, hadManifest: false },
    ])
    expect(await existing(scene, stored)).toEqual([manifestOf(record)])
    expect(await scene.stores.ledger.find(record.id, NEVER)).toBeUndefined()
    expect((await indexed(scene)).map((ids) => ids.toSorted())).toEqual([[record.id, unknown].toSorted()])
    await scene.clock.advance((ERASED_KEPT_DAYS + 1) * DAY_MS)
    await removeExpired(aProcess(scene), NEVER)
    expect(await existing(scene, stored)).toEqual([])
  })

  test('an erasure that is killed, wherever, leaves no link to a PDF that is gone, and erasing again completes it', async () => {
    for (let steps = 0; ; steps++) {
      const record = aRecord()
      const stored = await end(scene, record)
      const killed = await eraseRenders(
        { ids: [record.id], ...ALL },
        aProcess(scene, failingAfter(scene, steps)),
        NEVER,
      ).then(
        ({ failed }) => failed.length > 0,
        () => true,
      )
      const left = await existing(scene, stored)
      const bytes = await scene.stores.artifacts.get(manifestOf(record), NEVER)
      if (decodeManifest(bytes ?? Buffer.of()).kind !== 'erased') expect(left).toEqual(stored)
      else expect((await indexed(scene)).flat()).toContain(record.id)
      await eraseRenders({ ids: [record.id], ...ALL }, aProcess(scene), NEVER)
      expect(await existing(scene, stored)).toEqual([manifestOf(record)])
      expect(await scene.stores.deliveries.listByRender(record.id, NEVER)).toEqual([])
      // The index, the tombstone, the objects, the deliveries, twice the ledger, and the tombstone again.
      if (!killed) return expect(steps).toBe(stored.length - 1 + 6)
    }
  })

  /** Stores an accepted batch. */
  async function batchIn(account: string): Promise<ArtifactAddress> {
    const { accepted } = batchAddresses({ id: batchIdOf(aRenderId()), account }, BUCKET)
    await scene.stores.artifacts.put(accepted, Buffer.from('{}'), NEVER)
    return accepted
  }

  test('by the order for a tenant go its renders, claims and batches, those that ran as soon as they end, and nobody else’s', async () => {
    const { account, storage } = aRecord()
    const [ended, failed, running] = [aRecord(), aRecord(), aRecord()]
    const foreign = aRecord({ account: 'other', storage: { bucket: BUCKET, prefix: 'other/' } })
    // A tenant that was created later under the same name has the same folder.
    const later = aRecord({ id: aRenderId(NOON + 2 * DAY_MS), account: 'later' })
    const own = [...(await end(scene, ended)), ...(await end(scene, failed, aFailure()))]
    const kept = await end(scene, foreign)
    const input = { bucket: storage.bucket, key: inputKey(storage.prefix, running.id) }
    await scene.stores.artifacts.put(input, Buffer.from('{}'), NEVER)
    const [claim, others] = [await claimed(ended), await claimed(foreign)]
    const batches = await Promise.all([account, 'other'].map(batchIn))
    await index(scene)
    const order = { tenant: 'acme', account, storage, orderedAt: NOON + 1, by: 'test' }
    const address = { bucket: BUCKET, key: erasureKey(order) }
    await scene.stores.artifacts.put(address, encodeErasure(order), NEVER)
    await round()
    expect((await existing(scene, own)).filter((each) => !isManifest(each))).toEqual([])
    expect(await existing(scene, [...kept, claim, others, input])).toEqual([...kept, others, input])
    expect(await existing(scene, batches)).toEqual(batches.slice(1))
    const late = await end(scene, running)
    await index(scene)
    await round()
    expect(await existing(scene, late)).toEqual(late)
    await scene.clock.advance(2 * DAY_MS)
    const laterInput = { bucket: BUCKET, key: inputKey(storage.prefix, later.id) }
    await scene.stores.artifacts.put(laterInput, Buffer.from('{}'), NEVER)
    await round()
    expect((await existing(scene, late)).filter((each) => !isManifest(each))).toEqual([])
    expect(await existing(scene, [address])).toEqual([address])
    await scene.clock.advance(ERASED_KEPT_DAYS * DAY_MS)
    await round()
    expect(await existing(scene, [address, laterInput])).toEqual([laterInput])
    await scene.clock.advance(2 * DAY_MS)
    await removeExpired(aProcess(scene), NEVER)
    expect(await existing(scene, [...own, ...late, ...kept])).toEqual(kept)
  })

  test('an order up to a time leaves what was accepted later', async () => {
    const [old, young] = [aRecord(), aRecord({ id: aRenderId(NOON + 1), acceptedAt: NOON + 1 })]
    const [gone, kept] = [await end(scene, old), await end(scene, young)]
    await index(scene)
    const { account, storage } = old
    const order = { tenant: 'acme', account, storage, before: NOON + 1, orderedAt: NOON + 1, by: 'test' }
    await scene.stores.artifacts.put({ bucket: BUCKET, key: erasureKey(order) }, encodeErasure(order), NEVER)
    await round()
    expect(await existing(scene, [...gone, ...kept])).toEqual([manifestOf(old), ...kept])
  })

  test('an order that could not be worked off is tried again, and stops no other', async () => {
    const [stuck, other] = [aRecord(), aRecord({ account: 'other', storage: { bucket: BUCKET, prefix: 'other/' } })]
    const [kept, gone] = [await end(scene, stuck), await end(scene, other)]
    await index(scene)
    for (const { account, storage } of [stuck, other]) {
      const order = { tenant: 'acme', account, storage, orderedAt: NOON, by: 'test' }
      await scene.stores.artifacts.put({ bucket: BUCKET, key: erasureKey(order) }, encodeErasure(order), NEVER)
    }
    const put = async (...[address, ...rest]: Parameters<typeof scene.stores.artifacts.put>) => {
      if (address.key === manifestOf(stuck).key) throw new Error('the store says no')
      await scene.stores.artifacts.put(address, ...rest)
    }
    await round({ artifacts: { ...scene.stores.artifacts, put } })
    expect(await existing(scene, [...kept, ...gone])).toEqual([...kept, manifestOf(other)])
    expect(scene.lines.filter(({ level }) => level === 'warn')).toMatchObject([{ fields: { erased: 0, failed: 1 } }])
    await scene.clock.advance(ERASURE_HELD_MS)
    await round()
    expect(await existing(scene, kept)).toEqual([manifestOf(stuck)])
  })

  test('listed renders go if they are the tenant’s, those that ran when they have ended, and every id is accounted for', async () => {
    const [ended, running, foreign] = [aRecord(), aRecord(), aRecord({ account: 'other' })]
    const [own, kept] = [await end(scene, ended), await end(scene, foreign)]
    const renders = [ended.id, running.id, foreign.id, aRenderId(NOON - ERASED_KEPT_DAYS * DAY_MS)]
    const address = await ordered({ renders })
    await round()
    expect(await existing(scene, [...own, ...kept])).toEqual([manifestOf(ended), ...kept])
    expect(await orderAt(address)).toMatchObject({ erased: 1, notFound: 2, unfinished: [running.id] })
    const late = await end(scene, running)
    await round()
    expect(await existing(scene, late)).toEqual(late)
    await scene.clock.advance(LISTED_ERASURE_AGAIN_MS)
    await round()
    expect(await existing(scene, [...late, ...kept])).toEqual([manifestOf(running), ...kept])
    expect(await orderAt(address)).toMatchObject({ erased: 2, notFound: 2, unfinished: [] })
    await scene.clock.advance(ERASED_KEPT_DAYS * DAY_MS)
    await round()
    expect(await existing(scene, [address])).toEqual([address])
    await scene.clock.advance(DAY_MS)
    await round()
    expect(await existing(scene, [address])).toEqual([])
  })

  test('an order that nobody worked off in time is worked off all the same, and can be read for a day', async () => {
    const record = aRecord()
    const stored = await end(scene, record)
    const address = await ordered({ renders: [record.id] })
    await scene.clock.advance(2 * ERASED_KEPT_DAYS * DAY_MS)
    await round()
    expect(await existing(scene, stored)).toEqual([manifestOf(record)])
    await scene.clock.advance(DAY_MS - 1)
    await round()
    expect(await orderAt(address)).toMatchObject({ erased: 1, unfinished: [] })
    await scene.clock.advance(1)
    await round()
    expect(await existing(scene, [address])).toEqual([])
  })

  test('an id that never gets an outcome keeps an order open until it is too old to get one', async () => {
    const address = await ordered({ renders: [aRenderId(NOON)] })
    for (const unfinished of [1, 1, 0]) {
      await round()
      expect((await orderAt(address)).unfinished).toHaveLength(unfinished)
      await scene.clock.advance((ERASED_KEPT_DAYS / 2) * DAY_MS)
    }
    expect(await orderAt(address)).toMatchObject({ erased: 0, notFound: 1 })
  })

  test.for(['listed renders', 'a tenant'] as const)(
    'an erasure of %s that is killed, wherever, is completed by the next round, also of old renders',
    async (what) => {
      for (let steps = 0; ; steps++) {
        const old = aRecord({ id: aRenderId(scene.clock.now()) })
        await scene.clock.advance(ERASED_KEPT_DAYS * DAY_MS)
        const records = [old, aRecord({ id: aRenderId(scene.clock.now()) })]
        const stored = (await Promise.all(records.map((record) => end(scene, record)))).flat()
        await index(scene)
        await scene.clock.advance(1)
        const address = await ordered(what === 'a tenant' ? {} : { renders: records.map(({ id }) => id) })
        scene.lines.length = 0
        await round(failingAfter(scene, steps))
        const isKilled = scene.lines.some(({ level }) => level === 'warn')
        await scene.clock.advance(ERASURE_HELD_MS)
        await round()
        expect(await existing(scene, stored)).toEqual(records.map(manifestOf))
        for (const { id } of records) expect(await scene.stores.deliveries.listByRender(id, NEVER)).toEqual([])
        if (what === 'listed renders')
          expect(await orderAt(address)).toMatchObject({ erased: 2, notFound: 0, unfinished: [] })
        if (isKilled) continue
        expect(await orderAt(address)).toMatchObject({ erased: 2 })
        return
      }
    },
  )

  test('the last round for a tenant that is killed, wherever, is completed by the next one, also of what has no manifest', async () => {
    for (let steps = 0; ; steps++) {
      const { id, storage } = aRecord({ id: aRenderId(scene.clock.now()) })
      const input = { bucket: storage.bucket, key: inputKey(storage.prefix, id) }
      await scene.stores.artifacts.put(input, Buffer.from('{}'), NEVER)
      await scene.clock.advance(1)
      await ordered({})
      await scene.clock.advance((ERASED_KEPT_DAYS + 1) * DAY_MS)
      scene.lines.length = 0
      await round(failingAfter(scene, steps))
      const isKilled = scene.lines.some(({ level }) => level === 'warn')
      await scene.clock.advance(ERASURE_HELD_MS)
      await round()
      expect(await existing(scene, [input])).toEqual([])
      if (!isKilled) return expect(steps).toBeGreaterThan(3)
    }
  })

  test('of two processes one does a round, until it has said for ten minutes no more that it does', async () => {
    const record = aRecord()
    const stored = await end(scene, record)
    await index(scene)
    const { account, storage } = record
    const order = held({ tenant: 'acme', account, storage, orderedAt: NOON, by: 'test' }, NOON)
    const address = { bucket: BUCKET, key: erasureKey(order) }
    await scene.stores.artifacts.put(address, encodeErasure(order), NEVER)
    await scene.clock.advance(ERASURE_HELD_MS - 1)
    await round()
    expect(await existing(scene, stored)).toEqual(stored)
    await scene.clock.advance(1)
    await round()
    expect(await existing(scene, stored)).toEqual([manifestOf(record)])
    expect(await orderAt(address)).toMatchObject({ erased: 1, workedOffAt: NOON + ERASURE_HELD_MS })
  })
})

test('a process that removes expired data works off orders, as soon as it looks for them', async () => {
  scene = await openScene(inMemory)
  const record = aRecord()
  const stored = await end(scene, record)
  await index(scene)
  const { account, storage } = record
  const order = { tenant: 'acme', account, storage, orderedAt: NOON, by: 'test' }
  await scene.stores.artifacts.put({ bucket: BUCKET, key: erasureKey(order) }, encodeErasure(order), NEVER)
  const stopping = new AbortController()
  const process = runRetention(aProcess(scene), stopping.signal)
  await scene.clock.advance(ERASURES_LOOKED_FOR_EVERY_MS)
  stopping.abort()
  await process
  expect(await existing(scene, stored)).toEqual([manifestOf(record)])
})

/** Gives an order to erase renders of the fixtures' tenant: those that are listed, or all that were accepted before now. */
async function ordered({ renders }: Partial<Pick<ListedErasureOrder, 'renders'>>): Promise<ArtifactAddress> {
  const { account, storage } = aRecord()
  const orderedAt = scene.clock.now()
  const order: ErasureOrder = { tenant: 'acme', account, storage, before: orderedAt, orderedAt, by: 'test' }
  const key = renders === undefined ? erasureKey(order) : listedErasureKey(`uid-${orderedAt}`)
  const address = { bucket: BUCKET, key }
  await scene.stores.artifacts.put(address, encodeErasure({ ...order, ...(renders && { renders }) }), NEVER)
  return address
}

/** An order as it is stored now; of listed renders, if it lists any. */
async function orderAt(address: ArtifactAddress): Promise<Partial<ListedErasureOrder>> {
  return decodeErasure((await scene.stores.artifacts.get(address, NEVER)) ?? Buffer.of())
}

/** Claims a key for a render. */
async function claimed({ data: _data, ...record }: RenderRecord): Promise<ArtifactAddress> {
  const folder = idempotencyFolder({ account: record.account, environment: 'live' }, 'key')
  const address = { bucket: BUCKET, key: `${folder}1` }
  await scene.stores.artifacts.create(address, encodeClaim({ fingerprint: 'f', claimedAt: NOON, record }), NEVER)
  return address
}

/** The ports of a process that fails after so many steps. */
function failingAfter({ stores }: Scene, steps: number): Partial<ErasurePorts> {
  const { ledger } = stores
  let taken = 0
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken++ < steps) return await work()
    throw new Error('killed')
  }
  return {
    ...inSteps(stores, step),
    ledger: {
      forget: (...args) => step(() => ledger.forget(...args)),
      complete: (...args) => step(() => ledger.complete(...args)),
    },
  }
}
