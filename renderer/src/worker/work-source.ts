/**
 * Collects the inputs of a queue record for an engine: the template by its digest, its assets, and data too large for the record. Verifies
 * every object that has a digest after reading it: a damaged object is never rendered.
 */
import assert from 'node:assert/strict'
import { type ArtifactAddress, assetKey, type RenderRecord, templateKey } from '@platen/contract/domain/render.ts'
import { decodeRequest, type StoredRequest, withRequest } from '@platen/contract/domain/stored-request.ts'
import type { Asset, AssetReference, TemplateDigest, TemplateSource } from '@platen/contract/domain/tenant.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
import type { RenderWork } from '../port/engine.ts'
import { shared } from '../port/shared-bytes.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Bytes of assets that one renderer process caches (LRU). */
const ASSET_CACHE_BYTES_MAX = 128 * MIB

interface WorkSource {
  /** Throws `Unavailable` if the artifact store cannot be reached, and another error if a stored object is not what was put there. */
  workOf(record: RenderRecord, signal: AbortSignal): Promise<RenderWork>
  /**
   * The record of a render with its file name and webhook URL, even if those are stored. Without them if the stored request is gone: then
   * the render was erased, or has ended. Throws `Unavailable`.
   */
  withRequest(record: RenderRecord, signal: AbortSignal): Promise<RenderRecord>
  /** Call it after the render has ended. */
  removeInput(record: RenderRecord, signal: AbortSignal): Promise<void>
}

type StoredData = Extract<RenderRecord['data'], { stored: unknown }>

/** Templates in the LRU cache. With 128 KiB of source each, this is a few tens of MiB at most. */
const TEMPLATES_MAX = 200

export function openWorkSource(artifacts: ArtifactStore, serviceBucket: string): WorkSource {
  const templates = openLruCache<TemplateSource>(TEMPLATES_MAX)
  const assets = openLruCache<Uint8Array>(ASSET_CACHE_BYTES_MAX, ({ byteLength }) => byteLength)

  async function templateOf(digest: TemplateDigest, signal: AbortSignal): Promise<TemplateSource> {
    const address = { bucket: serviceBucket, key: templateKey(digest) }
    const known = templates.get(digest)
    if (known !== undefined) return known
    const bytes = verified(await readObject(artifacts, address, signal), { address, digest })
    return templates.set(digest, parseJson(bytes) as TemplateSource)
  }

  async function assetOf({ name, digest }: AssetReference, signal: AbortSignal): Promise<Asset> {
    const address = { bucket: serviceBucket, key: assetKey(digest) }
    const known = assets.get(digest)
    if (known !== undefined) return { name, digest, bytes: known }
    const bytes = verified(await readObject(artifacts, address, signal), { address, digest })
    return { name, digest, bytes: assets.set(digest, shared(bytes)) }
  }

  const requests = openStoredRequests(artifacts)

  async function dataOf({ data, requestData }: RenderRecord, signal: AbortSignal): Promise<Uint8Array> {
    if (!('stored' in data)) return new TextEncoder().encode('text' in data ? data.text : JSON.stringify(data.inline))
    if (requestData === undefined) return await readObject(artifacts, data.stored, signal)
    const request = await requests.get(data, signal)
    assert(request !== undefined, noObjectAt(data.stored))
    return request.data
  }

  return {
    async workOf(record, signal) {
      const { digest } = record.template
      const template = await templateOf(digest, signal)
      const [data, ...found] = await Promise.all([
        dataOf(record, signal),
        ...(template.assets ?? []).map((asset) => assetOf(asset, signal)),
      ])
      const { locale, date } = record.options
      return {
        render: record.id,
        tenant: record.tenant,
        digest,
        template: locale === undefined ? template : { ...template, locale },
        assets: found,
        data,
        options: { ...template.options, ...record.options },
        date: date === undefined ? record.acceptedAt : Date.parse(date),
        javascriptEnabled: record.javascriptEnabled,
        isSandbox: record.environment === 'test',
        isSync: record.mode === 'sync',
      }
    },
    async withRequest(record, signal) {
      if (record.requestData === undefined || !('stored' in record.data)) return record
      const request = await requests.get(record.data, signal)
      return request === undefined ? record : withRequest(record, request)
    },
    async removeInput(record, signal) {
      if ('stored' in record.data) await artifacts.delete(record.data.stored, signal)
    },
  }
}

/** Fetches each stored request of the running renders once. */
function openStoredRequests(artifacts: Pick<ArtifactStore, 'get'>) {
  /** By the data of a record: all copies of the record share this object, and it is freed with the last of them. */
  const known = new WeakMap<StoredData, StoredRequest>()
  return {
    /** Undefined if it is gone. */
    async get(data: StoredData, signal: AbortSignal): Promise<StoredRequest | undefined> {
      const request = known.get(data)
      if (request !== undefined) return request
      const bytes = await artifacts.get(data.stored, signal)
      if (bytes === undefined) return undefined
      const fetched = decodeRequest(bytes)
      known.set(data, fetched)
      return fetched
    },
  }
}

/** This service wrote the object before the record that names it. So it is what was written, or it is damaged. */
function parseJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString())
}

function verified(bytes: Uint8Array, { address, digest }: { address: ArtifactAddress; digest: string }): Uint8Array {
  if (sha256(bytes) === digest) return bytes
  throw new Error(`the object at ${address.bucket}/${address.key} was changed: its SHA-256 differs`)
}

async function readObject(
  artifacts: ArtifactStore,
  address: ArtifactAddress,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const bytes = await artifacts.get(address, signal)
  assert(bytes !== undefined, noObjectAt(address))
  return bytes
}

function noObjectAt({ bucket, key }: ArtifactAddress): string {
  return `no object at ${bucket}/${key}`
}
