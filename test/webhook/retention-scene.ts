/** What the tests of retention in a cluster stand on: stores, a clock that the test moves, and processes that read, remove and are killed. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { retentionMeter } from '@platen/adapters/prometheus/event/retention.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import type { ErasureOrder } from '@platen/contract/domain/erasure.ts'
import {
  type ArtifactAddress,
  encodeManifest,
  inputKey,
  manifestKey,
  pdfKey,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { EventLog } from '@platen/contract/port/event-log.ts'
import type { ErasableRenderLedger } from '@platen/contract/port/render-ledger.ts'
import { decodeExpiry, EXPIRY_PREFIX } from '@platen/contract/stored/expiry.ts'
import { rendersInIndex, rendersInLedger } from '@platen/events/retention/erasure-order.ts'
import { maintainExpiryIndex } from '@platen/events/retention/expiry-index.ts'
import type { RetentionPorts } from '@platen/events/retention/retention.ts'
import { aDelivery, aManifest, anEvent, aRecord, type LogLine, logTo, NEVER, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../fixture/memory/delivery-log.ts'
import { memoryEventLog } from '../fixture/memory/event-log.ts'

export const DAY_MS = 24 * 60 * 60 * 1000
export const BUCKET = 'platen'
/** The first midnight after a render of the fixtures that is kept a day has expired, at noon of that day. */
export const DUE = Date.UTC(2026, 10, 23)

/** What the processes of a cluster share. */
export interface Stores extends AsyncDisposable {
  readonly artifacts: ArtifactStore
  readonly events: EventLog
  readonly deliveries: DeliveryLog
  readonly ledger: ErasableRenderLedger
  /** Finds the renders of an account as the topology with these stores does. */
  readonly findRenders: (order: ErasureOrder, signal: AbortSignal) => AsyncIterable<RenderId>
}

export async function inMemory(clock: ManualClock): Promise<Stores> {
  const logs = { events: memoryEventLog(), deliveries: memoryDeliveryLog(clock) }
  const artifacts = memoryArtifactStore()
  const findRenders: Stores['findRenders'] = (order, signal) =>
    rendersInIndex(order, { artifacts, serviceBucket: BUCKET }, signal)
  const stores = { ...logs, artifacts, ledger: memoryRenderLedger(clock), findRenders }
  return { ...stores, [Symbol.asyncDispose]: async () => {} }
}

/** What a removal changes, each change as one `step`. */
export function inSteps(
  { artifacts, deliveries }: Stores,
  step: <T>(change: () => Promise<T>) => Promise<T>,
): Pick<RetentionPorts, 'artifacts' | 'deliveries'> {
  return {
    artifacts: {
      ...artifacts,
      put: (...args) => step(() => artifacts.put(...args)),
      delete: (...args) => step(() => artifacts.delete(...args)),
    },
    deliveries: { forget: (...args) => step(() => deliveries.forget(...args)) },
  }
}

export async function onDisk(clock: ManualClock): Promise<Stores> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-expiry-'))
  const database = await openDatabase({ path: join(folder, 'platen.db'), signal: AbortSignal.timeout(10_000) })
  const urls = { publicUrl: () => 'http://localhost', urlKey: Buffer.alloc(32) }
  const artifacts = await openFileArtifactStore({ root: join(folder, 'artifacts'), clock, ...urls })
  const ledger = sqliteRenderLedger(database, clock)
  return {
    artifacts,
    events: sqliteEventLog(database),
    deliveries: await openSqliteDeliveryLog(database, { clock }, NEVER),
    ledger,
    findRenders: (order, signal) => rendersInLedger(order, { artifacts, serviceBucket: BUCKET, ledger }, signal),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

export interface Scene extends AsyncDisposable {
  readonly clock: ManualClock
  readonly stores: Stores
  readonly lines: LogLine[]
}

/** A cluster in which nothing has happened, at noon. */
export async function openScene(open: (clock: ManualClock) => Promise<Stores>): Promise<Scene> {
  const clock = manualClock(NOON)
  const stores = await open(clock)
  return { clock, stores, lines: [], [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose]() }
}

export function aProcess({ clock, stores, lines }: Scene, changes: Partial<RetentionPorts> = {}): RetentionPorts {
  return {
    ...stores,
    serviceBucket: BUCKET,
    clock,
    meter: retentionMeter(openMetrics({ isRead: false, deployable: 'test' }), clock),
    // Half of all chances: a process waits half of each rhythm before its first time.
    ids: { random: (bytes) => Buffer.alloc(bytes).fill(0x80, 0, 1) },
    log: logTo((line) => lines.push(line)),
    ...changes,
  }
}

/** Ends a render as its renderer does; with the PDF of an attempt that came too late, an input that was never swept, and a delivery. */
export async function end(
  { stores }: Scene,
  record: RenderRecord,
  outcome = aManifest({ record }).outcome,
): Promise<ArtifactAddress[]> {
  const { bucket, prefix } = record.storage
  const manifest = aManifest({ record, outcome })
  const stored = [pdfKey(record, 'late'), inputKey(prefix, record.id)].map((key) => ({ bucket, key }))
  if (outcome.status === 'succeeded') stored.push(outcome.pdf.address)
  for (const address of stored) await stores.artifacts.put(address, Buffer.from('bytes'), NEVER)
  await stores.artifacts.create(manifestOf(record), encodeManifest(manifest), NEVER)
  await stores.ledger.complete(manifest, NEVER)
  await stores.deliveries.schedule([aDelivery({ render: record.id })], NEVER)
  await stores.events.append(anEvent(manifest), NEVER)
  return [...stored, manifestOf(record)]
}

export function manifestOf({ id }: RenderRecord): ArtifactAddress {
  return { bucket: BUCKET, key: manifestKey(id) }
}

/** A render that is kept for a day. */
export const aDay = (fields: Partial<RenderRecord> = {}) => aRecord({ retentionDays: 1, ...fields })

/** Has one process read into the index all that is in the log by now, and stops it. */
export async function index(scene: Scene, changes: Partial<RetentionPorts> = {}): Promise<void> {
  const last = anEvent(aManifest({ record: aRecord({ retentionDays: 3650 }) }))
  await scene.stores.events.append(last, NEVER)
  const stopping = new AbortController()
  const ports = aProcess(scene, changes)
  const events = watched(ports.events, (id) => id === last.id && stopping.abort())
  await maintainExpiryIndex({ ...ports, events }, stopping.signal)
}

/** The log; it reports the id of each event when its reader has taken it and asks for the next. */
export function watched(events: Pick<EventLog, 'follow'>, onTaken: (id: string) => unknown): Pick<EventLog, 'follow'> {
  return {
    async *follow(reader, signal) {
      for await (const given of events.follow(reader, signal)) {
        yield given
        onTaken(given.event.id)
      }
    },
  }
}

export async function existing({ stores }: Scene, addresses: readonly ArtifactAddress[]): Promise<ArtifactAddress[]> {
  const here = await Promise.all(addresses.map((address) => stores.artifacts.has(address, NEVER)))
  return addresses.filter((_, at) => here[at])
}

/** The contents of the index, object by object, without what only a test put at the end of the log. */
export async function indexed({ stores }: Scene): Promise<string[][]> {
  const objects = await Array.fromAsync(stores.artifacts.list(BUCKET, EXPIRY_PREFIX, NEVER))
  const bytes = await Promise.all(objects.map((address) => stores.artifacts.get(address, NEVER)))
  const near = bytes.filter((_, at) => !objects[at]?.key.startsWith(`${EXPIRY_PREFIX}2036`))
  // One may be removed after it is listed.
  return near.filter((each) => each !== undefined).map((each) => decodeExpiry(each).map(({ id }) => id))
}

export const isManifest = ({ key }: ArtifactAddress) => key.startsWith('manifest/')
