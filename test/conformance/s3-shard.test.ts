/** Tests the keys of objects in a real S3 with S3's own client: with a shard before each id. */
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { deliveryStoreIn } from '@platen/adapters/kafka/delivery/delivery-store.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { shardedKey } from '@platen/adapters/s3/shard.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { encodeManifest, inputKey, manifestKey, pdfKey, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { removeRender } from '@platen/events/retention/removal.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aDelivery, aManifest, anEvent, aRecord, aRenderId, NOON } from '../fixture/build.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type S3Server, startS3 } from '../topology/server/s3.ts'
import { all } from './harness.ts'

const BUCKET = 'platen'
const HOME = { bucket: BUCKET, prefix: 'pdf/', installation: 'platen' }
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

  const open = (signal: AbortSignal) => {
    const ports = { clock: systemClock(), ids: systemIds() }
    return openS3ArtifactStore({ ...server, isPathStyle: true, namespace: HOME, ...ports }, signal)
  }
  const keys = async () => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }))
    return Contents.map(({ Key = '' }) => Key).filter((key) => !key.includes('/.'))
  }

  test('are in every key that has an id', async ({ signal }) => {
    using store = await open(signal)
    const record = aRecord({ id: aRenderId(NOON) })
    await storeAll(store, record, signal)
    const found = await keys()
    expect(found).toHaveLength(5)
    const [shard, id] = [shardedKey(record.id).slice(0, 2), record.id]
    expect(found).toEqual(expect.arrayContaining([`pdf/manifest/${shard}/${id}.json`, `pdf/acme/${shard}/${id}/input`]))
    const folders = /^pdf\/(?:manifest|acme|delivery\/of|delivery\/by-id)\/[0-9a-f]{2}\//
    expect(found.filter((key) => !folders.test(key))).toEqual([])
    await remove(store, record, signal)
    expect(await keys()).toEqual([])
  })

  test('are those of the folder above, when a tenant has one that is named as a shard', async ({ signal }) => {
    using store = await open(signal)
    const id = aRenderId(NOON)
    const shard = shardedKey(id).slice(0, 2)
    const [outer, inner] = [`acme/${id}/input`, `acme/${shard}/${id}/input`].map((key) => ({ bucket: BUCKET, key }))
    if (outer === undefined || inner === undefined) throw new Error('there are two')
    await store.put(outer, Buffer.from('outer'), signal)
    await store.put(inner, Buffer.from('inner'), signal)
    expect(Buffer.from((await store.get(outer, signal)) ?? []).toString()).toBe('outer')
    expect(await all(store.list(BUCKET, `acme/${shard}/`, signal))).toEqual([inner])
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
  await deliveryStoreIn(store, { bucket: BUCKET }).create(delivery, NOON, signal)
}

/** Removes a render in the same way as retention. */
async function remove(artifacts: ArtifactStore, record: RenderRecord, signal: AbortSignal): Promise<void> {
  const ports = {
    artifacts,
    deliveries: deliveryStoreIn(artifacts, { bucket: BUCKET }),
    serviceBucket: BUCKET,
  }
  await removeRender(record, ports, signal)
}
