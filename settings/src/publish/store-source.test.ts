import { type ArtifactAddress, assetKey, templateKey } from '@platen/contract/domain/render.ts'
import type { AssetDigest, TemplateCode, TemplateDigest, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { storeSources } from './store-source.ts'

// Validation assigns brands; these values are valid as written here.
const SOURCE: TemplateSource = { name: 'Invoice', code: 'invoice' as TemplateCode, version: 1, options: {} }
const [SOURCE_DIGEST, ASSET_DIGEST] = ['a'.repeat(64) as TemplateDigest, 'b'.repeat(64) as AssetDigest]
const STORED = { sources: new Map([[SOURCE_DIGEST, SOURCE]]), assets: new Map([[ASSET_DIGEST, Buffer.from('logo')]]) }
const AT = {
  source: { bucket: 'platen', key: templateKey(SOURCE_DIGEST) },
  asset: { bucket: 'platen', key: assetKey(ASSET_DIGEST) },
}

test('puts sources and assets where renderers look for them, a source only when its assets are there', async ({
  signal,
}) => {
  const artifacts = memoryArtifactStore()
  const textAt = async (address: ArtifactAddress) =>
    Buffer.from((await artifacts.get(address, signal)) ?? []).toString()
  const missing: string[] = []
  const put: typeof artifacts.put = async (address, bytes, putSignal) => {
    if (!(await artifacts.has(AT.asset, putSignal))) missing.push(address.key)
    await artifacts.put(address, bytes, putSignal)
  }
  await storeSources({ artifacts: { ...artifacts, put }, serviceBucket: 'platen' }, STORED, signal)
  expect(missing).toEqual([AT.asset.key])
  expect(await textAt(AT.asset)).toBe('logo')
  expect(await textAt(AT.source)).toBe('{"code":"invoice","name":"Invoice","options":{},"version":1}')
})

test('writes nothing that is there', async ({ signal }) => {
  const artifacts = memoryArtifactStore()
  for (const address of Object.values(AT)) await artifacts.put(address, Buffer.from('there'), signal)
  await storeSources({ artifacts, serviceBucket: 'platen' }, STORED, signal)
  for (const address of Object.values(AT)) expect(await artifacts.get(address, signal)).toEqual(Buffer.from('there'))
})

test('does not wait for one before it stores the next', async ({ signal }) => {
  const artifacts = memoryArtifactStore()
  const both = Promise.withResolvers<void>()
  let begun = 0
  const put: typeof artifacts.put = async (...values) => {
    begun += 1
    if (begun === 2) both.resolve()
    await both.promise
    await artifacts.put(...values)
  }
  const sources = new Map([...STORED.sources, ['c'.repeat(64) as TemplateDigest, SOURCE]])
  await storeSources(
    { artifacts: { ...artifacts, put }, serviceBucket: 'platen' },
    { sources, assets: new Map() },
    signal,
  )
  for (const digest of sources.keys())
    expect(await artifacts.has({ bucket: 'platen', key: templateKey(digest) }, signal)).toBe(true)
})
