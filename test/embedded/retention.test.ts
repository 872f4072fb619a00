/** How long things are kept, over real files and a real database, on a clock that the test moves. */
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileArtifactStore, openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { retentionMeter } from '@platen/adapters/prometheus/event/retention.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { type Database, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { type SqliteEventLog, sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { sqliteRenderList } from '@platen/adapters/sqlite/render-ledger/render-list.ts'
import { type SqliteRenderLedger, sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { encodeErasure, erasureKey } from '@platen/contract/domain/erasure.ts'
import { IDEMPOTENCY_MS, REMOVE_EVERY_MS } from '@platen/contract/domain/limit.ts'
import {
  type ArtifactAddress,
  decodeManifest,
  encodeManifest,
  inputKey,
  type Manifest,
  manifestKey,
  pdfKey,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import { encodeClaim, idempotencyFolder } from '@platen/contract/stored/idempotency.ts'
import { EVENTS_KEPT_MS } from '@platen/embedded/store/limit.ts'
import { keepRetention, type Retention } from '@platen/embedded/store/retention.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { all } from '../conformance/harness.ts'
import {
  aFailure,
  aManifest,
  anAbandonedManifest,
  anEvent,
  aRecord,
  type LogLine,
  logTo,
  NEVER,
  NOON,
} from '../fixture/build.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { ACME_LIVE, GLOBEX_LIVE, invoice, manifests } from '../fixture/manifests.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { ended, submit } from '../topology/service.ts'
import { aDay, BUCKET, DAY_MS, isManifest, manifestOf } from '../webhook/retention-scene.ts'

/** When the manifests of the fixtures end, and a render ends that is kept a day from then. */
const END = NOON + 500

let folder: string
let clock: ManualClock
let database: Database
let artifacts: FileArtifactStore
let ledger: SqliteRenderLedger
let events: SqliteEventLog
let deliveries: DeliveryLog
let lines: LogLine[]

beforeEach(async () => {
  folder = aFolder()
  clock = manualClock(NOON)
  database = await openDatabase({ path: join(folder, 'platen.db'), signal: AbortSignal.timeout(10_000) })
  const urls = { publicUrl: () => 'http://localhost', urlKey: Buffer.alloc(32) }
  artifacts = await openFileArtifactStore({ root: join(folder, 'artifacts'), clock, ...urls })
  ledger = sqliteRenderLedger(database, clock)
  events = sqliteEventLog(database)
  deliveries = await openSqliteDeliveryLog(database, { clock }, NEVER)
  lines = []
})
afterEach(async () => {
  await database[Symbol.asyncDispose]()
})

/** Starts removing; `pass` resolves when the service has nothing more to remove for an hour, which it then lets go by next time. */
function start(changes: Partial<Retention> = {}) {
  let resting = Promise.withResolvers<number>()
  const retention: Retention = {
    ledger,
    artifacts,
    deliveries,
    serviceBucket: BUCKET,
    facts: [events],
    meter: retentionMeter(openMetrics({ isRead: false, deployable: 'test' }), clock),
    log: logTo((line) => lines.push(line)),
    ...changes,
    clock: {
      ...clock,
      sleep(ms, signal) {
        const asleep = clock.sleep(ms, signal)
        resting.resolve(ms)
        return asleep
      },
    },
  }
  const kept = keepRetention(retention)
  return {
    first: () => resting.promise,
    /** Lets time pass, with the work that is due then. */
    async after(ms: number) {
      resting = Promise.withResolvers()
      await clock.advance(ms)
      await resting.promise
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}

/** Ends a render as its renderer does; with the PDF of an attempt that came too late, and an input that was never swept. */
async function end(record: RenderRecord, manifest: Manifest = aManifest({ record })): Promise<ArtifactAddress[]> {
  const { bucket, prefix } = record.storage
  const keys = [pdfKey(record, 'late'), inputKey(prefix, record.id)]
  const stored = keys.map((key) => ({ bucket, key }))
  if (manifest.outcome.status === 'succeeded') stored.push(manifest.outcome.pdf.address)
  for (const address of stored) await artifacts.put(address, Buffer.from('bytes'), NEVER)
  await artifacts.create(manifestOf(record), encodeManifest(manifest), NEVER)
  await ledger.complete(manifest, NEVER)
  return [...stored, manifestOf(record)]
}

async function existing(addresses: readonly ArtifactAddress[]): Promise<ArtifactAddress[]> {
  const here = await Promise.all(addresses.map((address) => artifacts.has(address, NEVER)))
  return addresses.filter((_, at) => here[at])
}

describe('a render', () => {
  test.for([
    ['that succeeded', undefined],
    ['that failed', aFailure()],
  ] as const)(
    '%s is gone with all that was stored of it when its days are over, not a moment before',
    async ([, outcome]) => {
      const record = aDay({ storage: { bucket: 'own-bucket', prefix: 'pdf/of/acme/' } })
      const stored = await end(record, aManifest({ record, ...(outcome && { outcome }) }))
      await clock.advance(END - NOON + DAY_MS - REMOVE_EVERY_MS - 1)
      await using retention = start()
      await retention.first()
      await retention.after(REMOVE_EVERY_MS)
      expect(await existing(stored)).toEqual(stored)
      expect(await ledger.find(record.id, NEVER)).toBeDefined()
      await retention.after(REMOVE_EVERY_MS)
      expect(await existing(stored)).toEqual([])
      expect(await ledger.find(record.id, NEVER)).toBeUndefined()
      expect(await all(artifacts.list('own-bucket', '', NEVER))).toEqual([])
    },
  )

  test('is kept by its own plan, whatever others are kept by', async () => {
    const [short, long] = [aDay(), aRecord({ retentionDays: 2 })]
    await end(short)
    const stored = await end(long)
    await clock.advance(END - NOON + DAY_MS)
    await using retention = start()
    await retention.first()
    expect(await ledger.find(short.id, NEVER)).toBeUndefined()
    expect(await existing(stored)).toEqual(stored)
    expect(await ledger.find(long.id, NEVER)).toBeDefined()
  })

  test('that never ended leaves no input behind', async () => {
    const record = aDay()
    const input = { bucket: BUCKET, key: inputKey(record.storage.prefix, record.id) }
    await artifacts.put(input, Buffer.from('{}'), NEVER)
    await ledger.markQueued(record, NEVER)
    await clock.advance(2 * DAY_MS)
    await using retention = start()
    await retention.first()
    expect(await existing([input])).toEqual([])
  })

  test('is never half there, wherever the removal is cut off, and the next start ends it', async () => {
    for (let steps = 0; ; steps++) {
      const record = aDay()
      const manifest = aManifest({ record })
      const stored = await end(record, manifest)
      await clock.advance(Math.max(END + DAY_MS - clock.now(), 0))
      const isCut = await removeUntil(steps)
      const [kept, row] = [await existing(stored), await ledger.find(record.id, NEVER)]
      // A manifest that is still there gives a link, which has to lead to a PDF; and the row leads to all that is left.
      const pdf = manifest.outcome.status === 'succeeded' ? [manifest.outcome.pdf.address] : []
      if ((await existing([manifestOf(record)])).length > 0) expect(await existing(pdf)).toEqual(pdf)
      if (kept.length > 0) expect(row).toBeDefined()
      await using retention = start()
      await retention.first()
      expect(await existing(stored)).toEqual([])
      expect(await ledger.find(record.id, NEVER)).toBeUndefined()
      if (!isCut) return expect(steps).toBe(stored.length + 1)
    }
  })

  /** One pass that is killed after so many of its steps. False when it came to its end before. */
  async function removeUntil(steps: number): Promise<boolean> {
    let taken = 0
    const killed = Promise.withResolvers<boolean>()
    const step = async (work: () => Promise<void>) => {
      if (taken++ < steps) return await work()
      killed.resolve(true)
      return await new Promise<never>(() => {})
    }
    const retention = start({
      artifacts: { ...artifacts, delete: (address, signal) => step(() => artifacts.delete(address, signal)) },
      ledger: {
        ...ledger,
        forget: (id, signal) => step(() => ledger.forget(id, signal)),
      },
    })
    return await Promise.race([killed.promise, retention.first().then(() => false)])
  }

  test('that cannot be removed holds up no other, is reported once, and is tried again an hour later', async () => {
    const [stuck, other] = [aDay(), aDay()]
    await end(stuck, aManifest({ record: stuck, outcome: aFailure({ finishedAt: NOON }) }))
    await end(other)
    await clock.advance(2 * DAY_MS)
    let isStuck = true
    await using retention = start({
      artifacts: {
        ...artifacts,
        delete: async (address, signal) => {
          if (isStuck && address.key === manifestKey(stuck.id)) throw new Error('the disk says no')
          await artifacts.delete(address, signal)
        },
      },
    })
    await retention.first()
    expect(await ledger.find(other.id, NEVER)).toBeUndefined()
    expect(await ledger.find(stuck.id, NEVER)).toBeDefined()
    expect(lines).toMatchObject([{ fields: { kind: 'render', removed: 1, failed: 1 } }])
    isStuck = false
    await retention.after(REMOVE_EVERY_MS)
    expect(await ledger.find(stuck.id, NEVER)).toBeUndefined()
  })
})

test('an idempotency claim is removed when it is a day old', async () => {
  const { data: _data, ...record } = aRecord()
  const claim = { fingerprint: 'f', claimedAt: NOON, record }
  const scope = { account: record.account, environment: 'live' } as const
  const address = { bucket: BUCKET, key: `${idempotencyFolder(scope, 'key')}1` }
  const later = { bucket: BUCKET, key: `${idempotencyFolder(scope, 'other')}1` }
  await artifacts.create(address, encodeClaim(claim), NEVER)
  await artifacts.create(later, encodeClaim({ ...claim, claimedAt: NOON + REMOVE_EVERY_MS }), NEVER)
  await clock.advance(IDEMPOTENCY_MS - REMOVE_EVERY_MS)
  await using retention = start()
  await retention.first()
  expect(await existing([address, later])).toEqual([address, later])
  await retention.after(REMOVE_EVERY_MS)
  expect(await existing([address, later])).toEqual([later])
})

test('an event is removed after forty days', async () => {
  const [old, young] = [anEvent(), anEvent(aManifest({ outcome: aFailure({ finishedAt: NOON + 501 }) }))]
  await events.append(old, NEVER)
  await events.append(young, NEVER)
  await clock.advance(END - NOON + EVENTS_KEPT_MS + 1)
  await using retention = start()
  await retention.first()
  for await (const { event } of events.follow('test', NEVER)) {
    expect(event.id).toBe(young.id)
    break
  }
})

test('a database that is away is reported, and costs no more than the hour', async () => {
  let isAway = true
  const prune = async () => {
    if (isAway) throw new Error('away')
    lines = []
  }
  await using retention = start({ facts: [{ prune }] })
  await retention.first()
  expect(lines).toHaveLength(1)
  isAway = false
  await retention.after(REMOVE_EVERY_MS)
  expect(lines).toEqual([])
})

test('closing waits for the step in hand, and takes no other', async () => {
  const records = [aDay(), aDay()]
  for (const record of records) await end(record)
  await clock.advance(2 * DAY_MS)
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const retention = start({
    artifacts: {
      ...artifacts,
      async delete(address, signal) {
        begun.resolve()
        await go.promise
        await artifacts.delete(address, signal)
      },
    },
  })
  await begun.promise
  const closed = retention[Symbol.asyncDispose]()
  go.resolve()
  await closed
  const rows = await Promise.all(records.map(({ id }) => ledger.find(id, NEVER)))
  expect(rows.filter((row) => row === undefined)).toEqual([])
  expect(lines).toEqual([])
})

test('the service removes what is past its time when it starts', async () => {
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none' })
  await service.stop()
  const made = aManifest({ record: aRecord({ acceptedAt: Date.now() - 2 * DAY_MS, retentionDays: 1 }) })
  const past: Manifest = { ...made, outcome: { ...made.outcome, finishedAt: made.render.acceptedAt } }
  const address = { bucket: BUCKET, key: manifestKey(past.render.id) }
  {
    await using stores = await service.openStores(NEVER)
    await stores.artifacts.create(address, encodeManifest(past), NEVER)
    await stores.report(past, NEVER)
  }
  await service.start()
  await poll(() => service.log()).until((log) => log.includes('expired data removed'))
  await service.stop()
  await using stores = await service.openStores(NEVER)
  expect(await stores.artifacts.has(address, NEVER)).toBe(false)
})

test('an erasure erases what the tenant has, listed or not, and reads no manifest of another', async () => {
  const [sandbox, abandoned, unlisted] = [aRecord({ environment: 'test' }), aRecord(), aRecord()]
  const own = [
    await end(aRecord()),
    await end(sandbox),
    await end(abandoned, anAbandonedManifest(abandoned)),
    await end(unlisted),
  ].flat()
  await sqliteRenderList(database, clock).remove(unlisted, unlisted.id, NEVER)
  const others = (await Promise.all(Array.from({ length: 9 }, (_, at) => end(aRecord({ account: `${at}` }))))).flat()
  const order = { tenant: 'acme', account: aRecord().account, orderedAt: NOON, by: 'test' }
  await artifacts.put({ bucket: BUCKET, key: erasureKey(order) }, encodeErasure(order), NEVER)
  const read: string[] = []
  const get = (address: ArtifactAddress, signal: AbortSignal) => {
    read.push(address.key)
    return artifacts.get(address, signal)
  }
  await using retention = start({ artifacts: { ...artifacts, get } })
  await retention.first()
  expect((await existing(own)).map(({ key }) => key).filter((key) => !key.startsWith('manifest/'))).toEqual([])
  expect(await existing(others)).toEqual(others)
  expect(others.filter(({ key }) => read.includes(key))).toEqual([])
  const manifests = await Promise.all(own.filter(isManifest).map((address) => artifacts.get(address, NEVER)))
  expect(manifests.map((bytes) => decodeManifest(bytes ?? Buffer.of()))).toMatchObject(
    Array.from({ length: 4 }, () => ({ kind: 'erased', isComplete: true })),
  )
})

test('the renders of a removed tenant are erased if its deletionPolicy says so', async () => {
  const text = manifests().replace('"namespaces":["team-acme"]', '"namespaces":["team-acme"],"deletionPolicy":"Delete"')
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none' }, text)
  for (const key of [ACME_LIVE, GLOBEX_LIVE])
    await ended(service, key, await submit(service, key, { template: 'invoice', data: invoice(1) }))
  // A folder may go between its name and what is in it. Then there is something else to list.
  const stored = (): Promise<string[]> =>
    readdir(join(service.dataDir, 'artifacts/platen'), { recursive: true }).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err
      return stored()
    })
  const pdfs = async () => (await stored()).filter((name) => name.endsWith('.pdf')).map((name) => name.split('/')[0])
  expect(new Set(await pdfs())).toEqual(new Set(['acme', 'globex']))
  const draft = join(service.manifestsDir, '../all.yaml.draft')
  const others = text.split('---\n').filter((each) => !(each.includes('Tenant') && each.includes('team-acme')))
  await writeFile(draft, others.join('---\n'))
  await rename(draft, join(service.manifestsDir, 'all.yaml'))
  await poll(stored).until((names) => names.some((name) => name.startsWith('erasure/') && name.endsWith('.json')))
  await service.stop()
  await service.start()
  await poll(pdfs).until((tenants) => !tenants.includes('acme'))
  expect(await pdfs()).toEqual(['globex'])
})

test('a link to a PDF that is no longer there is answered as gone, in the shape of all errors', async () => {
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none' })
  const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
  const { pdf_url: url } = await ended(service, ACME_LIVE, id)
  const stored = await readdir(join(service.dataDir, 'artifacts'), { recursive: true })
  for (const path of stored.filter((name) => name.endsWith('.pdf'))) await rm(join(service.dataDir, 'artifacts', path))
  const answer = await fetch(String(url))
  expect([answer.status, await answer.json()]).toMatchObject([410, { error: { code: 'RENDER_EXPIRED' } }])
})
