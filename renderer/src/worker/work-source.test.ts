import { type ArtifactAddress, assetKey, templateKey } from '@platen/contract/domain/render.ts'
import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import { encodeRequest } from '@platen/contract/domain/stored-request.ts'
import type { AssetDigest, TemplateCode, TemplateDigest } from '@platen/contract/domain/tenant.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { expect, test } from 'vitest'
import { aRecord, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { openWorkSource } from './work-source.ts'

const LOGO = Buffer.from('a logo')
const LOGO_DIGEST = sha256(LOGO) as AssetDigest

/** A store that holds an asset and a template with the options `own`, and a render of that template. */
async function aStore(own: RenderOptions, options: RenderOptions = {}) {
  const artifacts = memoryArtifactStore()
  const { signal } = new AbortController()
  const source = Buffer.from(JSON.stringify({ options: own, assets: [{ name: 'logo.png', digest: LOGO_DIGEST }] }))
  const digest = sha256(source) as TemplateDigest
  const record = aRecord({ options, template: { code: 'invoice' as TemplateCode, version: 1, digest } })
  const addresses = {
    template: { bucket: 'platen', key: templateKey(digest) },
    asset: { bucket: 'platen', key: assetKey(LOGO_DIGEST) },
  }
  await artifacts.put(addresses.template, source, signal)
  await artifacts.put(addresses.asset, LOGO, signal)
  return { artifacts, record, addresses }
}

test.for([
  ['has the options of its template', {}, { page_size: 'A5', margin: { left: 10 } }],
  ['lays those of its request over them', { page_size: 'A4' }, { page_size: 'A4', margin: { left: 10 } }],
  ['replaces a margin as a whole', { margin: { top: 5 } }, { page_size: 'A5', margin: { top: 5 } }],
] as const)('a render %s', async ([, options, expected], { signal }) => {
  const { artifacts, record } = await aStore({ page_size: 'A5', margin: { left: 10 } }, options)
  const work = await openWorkSource(artifacts, 'platen').workOf(record, signal)
  expect(work.options).toEqual(expected)
})

test.for([
  ['is dated by its acceptance', {}, NOON],
  ['takes the date of its request', { date: '2026-11-25T01:30:00.5+01:00' }, Date.UTC(2026, 10, 25, 0, 30, 0, 500)],
] as const)('a render %s', async ([, options, expected], { signal }) => {
  const { artifacts, record } = await aStore({}, options)
  expect((await openWorkSource(artifacts, 'platen').workOf(record, signal)).date).toBe(expected)
})

test.for([
  ['sync', true],
  ['async', false],
] as const)('the work of a render of the mode %s says whether a caller waits', async ([mode, expected], { signal }) => {
  const { artifacts, record } = await aStore({})
  expect((await openWorkSource(artifacts, 'platen').workOf({ ...record, mode }, signal)).isSync).toBe(expected)
})

test.for(['template', 'asset'] as const)(
  'a damaged %s is told as that, and used again when it is whole',
  async (damaged, { signal }) => {
    const { artifacts, record, addresses } = await aStore({})
    const address: ArtifactAddress = addresses[damaged]
    const whole = (await artifacts.get(address, signal)) ?? Buffer.alloc(0)
    // Still valid JSON, so that only the digest shows the damage.
    await artifacts.put(address, Buffer.concat([whole, Buffer.from(' ')]), signal)
    const source = openWorkSource(artifacts, 'platen')
    await expect(source.workOf(record, signal)).rejects.toThrow(`the object at platen/${address.key} was changed`)
    await artifacts.put(address, whole, signal)
    const [logo] = (await source.workOf(record, signal)).assets
    expect(Buffer.from(logo?.bytes ?? [])).toEqual(LOGO)
  },
)

test('a stored request is fetched once, and a render whose request is gone goes without', async ({ signal }) => {
  const { artifacts, record } = await aStore({})
  const address = { bucket: 'platen', key: 'acme/input' }
  const request = { options: { filename: 'ada.pdf' }, webhookUrl: 'https://example.com/ada' }
  await artifacts.put(address, encodeRequest(Buffer.from('{"number":1}'), request), signal)
  const queued = { ...record, requestData: 'Stored', data: { stored: address } } as const
  const source = openWorkSource(artifacts, 'platen')
  expect(Buffer.from((await source.workOf(queued, signal)).data).toString()).toBe('{"number":1}')
  await source.removeInput(queued, signal)
  expect(await source.withRequest({ ...queued, attempt: 2 } as typeof queued, signal)).toMatchObject(request)
  const other = { ...queued, data: { stored: address } }
  expect(await openWorkSource(artifacts, 'platen').withRequest(other, signal)).toBe(other)
  await expect(source.workOf(other, signal)).rejects.toThrow('no object at platen/acme/input')
})
