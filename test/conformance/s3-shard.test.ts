/** Tests the keys of objects in a real S3 with S3's own client: with a shard in a new installation, and as before for older objects. */
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { deliveryStoreIn } from '@platen/adapters/kafka/delivery/delivery-store.ts'
import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { shardedKey } from '@platen/adapters/s3/shard.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { sha256 } from '@platen/contract/canonical-json.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import {
  encodeManifest,
  inputKey,
  MANIFEST_PREFIX,
  manifestKey,
  pdfKey,
  type RenderRecord,
  renderPrefix,
} from '@platen/contract/render.ts'
import { removeRender } from '@platen/events/retention/removal.ts'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aDelivery, aManifest, anEvent, aRecord, aRenderId, NOON } from '../fixture/build.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type S3Server, startS3 } from '../topology/server/s3.ts'
import { all } from './harness.ts'

const BUCKET = 'platen'
const HOME = { bucket: BUCKET, prefix: 'pdf/', installation: 'platen' }
const DAY_MS = 24 * 60 * 60 * 1000
const SINCE = 'pdf/.sharded-since'
const BYTES = Buffer.from('bytes')

describe.skipIf(!hasServer('s3'))('the shards of a real S3', () => {
  let server: S3Server
  let client: S3Client
  beforeAll(async () => {
    server = await startS3()
    const { endpoint, region, credentials } = server
    client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
    return async () => {
      client.destroy()
      await server[Symbol.asyncDispose]()
    }
  })
  afterEach(() => server.empty())

  const open = (now: number, signal: AbortSignal) => {
    const clock = { ...systemClock(), now: () => now }
    return openS3ArtifactStore({ ...server, isPathStyle: true, namespace: HOME, clock, ids: systemIds() }, signal)
  }
  const write = (key: string, bytes: Uint8Array | string = '') =>
    client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: bytes }))
  const textOf = async (key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }))
    return Body?.transformToString()
  }
  const keys = async () => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }))
    return Contents.map(({ Key = '' }) => Key).filter((key) => !key.includes('/.'))
  }

  test('are in every key of a new installation that has an id', async ({ signal }) => {
    using store = await open(NOON, signal)
    // The render is older than the installation, so no older version can look for it under another key.
    const record = aRecord({ id: aRenderId(NOON - DAY_MS) })
    await storeAll(store, record, signal)
    const found = await keys()
    expect(found).toHaveLength(5)
    const [shard, id] = [shardedKey(record.id, 0).slice(0, 2), record.id]
    expect(found).toEqual(expect.arrayContaining([`pdf/manifest/${shard}/${id}.json`, `pdf/acme/${shard}/${id}/input`]))
    const folders = /^pdf\/(?:manifest|acme|delivery\/of|delivery\/by-id)\/[0-9a-f]{2}\//
    expect(found.filter((key) => !folders.test(key))).toEqual([])
    await remove(store, record, signal)
    expect(await keys()).toEqual([])
  })

  test('leave what an older version has written where it is: found, listed, fetched and removed', async ({
    signal,
  }) => {
    const record = aRecord({ id: aRenderId(NOON) })
    // Older versions stored an object under the same key that the service uses for it.
    const older = memoryArtifactStore()
    await storeAll(older, record, signal)
    const addresses = await all(older.list(BUCKET, '', signal))
    await write('pdf/.installation', 'platen')
    for (const address of addresses) await write(`pdf/${address.key}`, await older.get(address, signal))

    using store = await open(NOON + 3 * DAY_MS, signal)
    for (const address of addresses) {
      expect(await store.get(address, signal)).toEqual(await older.get(address, signal))
      expect(await store.has(address, signal)).toBe(true)
      expect(await store.create(address, BYTES, signal)).toBe(false)
      const url = await store.presign(address, { expiresAt: Date.now() + 60_000, filename: 'a.pdf' }, signal)
      expect((await fetch(url)).status).toBe(200)
    }
    expect(await all(store.list(BUCKET, renderPrefix('acme/', record.id), signal))).toHaveLength(2)
    expect(await deliveryStoreIn(store, { bucket: BUCKET, format: 1 }).listByRender(record.id, signal)).toHaveLength(1)
    await remove(store, record, signal)
    expect(await keys()).toEqual([])
  })

  test('begin a day after the first process that knows of them, at one instant for all', async ({ signal }) => {
    await write('pdf/.installation', 'platen')
    using first = await open(NOON, signal)
    using later = await open(NOON + 5 * DAY_MS, signal)
    expect(await textOf(SINCE)).toBe(new Date(NOON + DAY_MS).toISOString())
    const [before, after] = [manifestKey(aRenderId(NOON + DAY_MS - 1)), manifestKey(aRenderId(NOON + DAY_MS))]
    for (const key of [before, after]) {
      const address = { bucket: BUCKET, key }
      expect(await first.create(address, BYTES, signal)).toBe(true)
      expect(await later.create(address, BYTES, signal)).toBe(false)
    }
    expect((await keys()).toSorted()).toEqual([`pdf/${before}`, `pdf/${shardedKey(after, NOON)}`].toSorted())
    // One listing returns both kinds of keys.
    const listed = await all(first.list(BUCKET, MANIFEST_PREFIX, signal))
    expect(listed.map(({ key }) => key).toSorted()).toEqual([before, after].toSorted())
  })

  test('have been there from the beginning for all of those that begin together', async ({ signal }) => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => open(NOON, signal)))
    for (const store of opened) store[Symbol.dispose]()
    expect(await textOf(SINCE)).toBe('1970-01-01T00:00:00.000Z')
  })

  test('are those of the folder above, when a tenant has one that is named as a shard', async ({ signal }) => {
    using store = await open(NOON, signal)
    const id = aRenderId(NOON)
    const shard = shardedKey(id, 0).slice(0, 2)
    const [outer, inner] = [`acme/${id}/input`, `acme/${shard}/${id}/input`].map((key) => ({ bucket: BUCKET, key }))
    if (outer === undefined || inner === undefined) throw new Error('there are two')
    await store.put(outer, Buffer.from('outer'), signal)
    await store.put(inner, Buffer.from('inner'), signal)
    expect(Buffer.from((await store.get(outer, signal)) ?? []).toString()).toBe('outer')
    expect(await all(store.list(BUCKET, `acme/${shard}/`, signal))).toEqual([inner])
  })

  test('are not guessed: a marker that says no time is refused', async ({ signal }) => {
    await write('pdf/.installation', 'platen')
    await write(SINCE, 'yesterday')
    const fault = await open(NOON, signal).catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(ArtifactStoreUnfit)
    expect(fault).toMatchObject({
      message: expect.stringMatching(/^pdf\/\.sharded-since in the bucket platen is not an RFC 3339 time/),
    })
  })
})

/** Stores everything of an ended render: outcome, PDF, input, and the delivery of its event in two objects. */
async function storeAll(store: ArtifactStore, record: RenderRecord, signal: AbortSignal): Promise<void> {
  const manifest = aManifest({ record })
  await store.create({ bucket: BUCKET, key: manifestKey(record.id) }, encodeManifest(manifest), signal)
  const digest = sha256(BYTES)
  await store.put({ bucket: BUCKET, key: pdfKey(record, digest) }, BYTES, signal)
  await store.put({ bucket: BUCKET, key: inputKey(record.storage.prefix, record.id) }, BYTES, signal)
  const delivery = aDelivery({ id: anEvent(manifest).id, render: record.id })
  await deliveryStoreIn(store, { bucket: BUCKET, format: 1 }).create(delivery, NOON, signal)
}

/** Removes a render in the same way as retention. */
async function remove(artifacts: ArtifactStore, record: RenderRecord, signal: AbortSignal): Promise<void> {
  const ports = {
    artifacts,
    deliveries: deliveryStoreIn(artifacts, { bucket: BUCKET, format: 1 }),
    serviceBucket: BUCKET,
  }
  await removeRender(record, ports, signal)
}
