import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FileArtifactStore, openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { type ArtifactAddress, manifestAddress } from '@platen/contract/domain/render.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { aRenderId, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type S3Server, startS3 } from '../topology/server/s3.ts'
import { type ArtifactStoreHarness, describeArtifactStore } from './artifact-store.suite.ts'
import { memoryHarness, opened } from './harness.ts'

describeArtifactStore('memory', () => memoryHarness(memoryArtifactStore))
describeArtifactStore('files', fileHarness)

describe.skipIf(!hasServer('s3'))('on a real S3', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3(['platen', 'other', 'plates'])
    return () => server[Symbol.asyncDispose]()
  })
  describeArtifactStore('S3', () => s3Harness(server))
})

test('files cut short by a crash are swept when the store is opened', async () => {
  await using harness = await fileHarness()
  await harness.open()
  await writeFile(join(harness.root, '.tmp', '1'), 'half an obj')
  await harness.reopen()
  expect(await readdir(join(harness.root, '.tmp'))).toStrictEqual([])
})

test('a folder that becomes empty is removed, and written to again', async ({ signal }) => {
  await using harness = await fileHarness()
  const store = await harness.open()
  const address = { bucket: 'platen', key: 'acme/one/a.pdf' }
  await store.put(address, Buffer.from('1'), signal)
  await store.delete(address, signal)
  expect(await readdir(join(harness.root, 'platen'))).toStrictEqual([])
  await store.put(address, Buffer.from('2'), signal)
  expect(await readdir(join(harness.root, 'platen', 'acme', 'one'))).toStrictEqual(['a.pdf'])
})

/** A manifest of each of these hours of 26 November, by the hour. */
function manifestsOf(hours: readonly number[]): ReadonlyMap<number, ArtifactAddress> {
  const idAt = (hour: number) => aRenderId(Date.UTC(2026, 10, 26, hour, 30))
  return new Map(hours.map((hour) => [hour, manifestAddress(idAt(hour), 'platen')]))
}

const NOWHERE = { bucket: '', key: '' }

const keysIn = async (listed: AsyncIterable<ArtifactAddress>) =>
  (await Array.fromAsync(listed, ({ key }) => key)).toSorted()

test('manifests are listed from an hour on, and all of them under their prefix', async ({ signal }) => {
  await using harness = await fileHarness()
  const store = await harness.open()
  const manifests = manifestsOf([1, 8, 9, 23])
  for (const address of manifests.values()) await store.create(address, Buffer.from('{}'), signal)
  const keys = [...manifests.values()].map(({ key }) => key)
  expect(await keysIn(store.list('platen', 'manifest/', signal))).toEqual(keys)
  expect(await keysIn(store.list('platen', '', signal))).toEqual(keys)
  const since = (hour: number, minute: number) =>
    keysIn(store.listManifests('platen', Date.UTC(2026, 10, 26, hour, minute), signal))
  expect(await since(0, 0)).toEqual(keys)
  expect(await since(8, 59)).toEqual(keys.slice(1))
  expect(await since(9, 0)).toEqual(keys.slice(2))
  expect(await since(24, 0)).toEqual([])
  expect(await keysIn(store.listManifests('other', 0, signal))).toEqual([])
  // So a start reads no other names than those of these hours.
  expect(await readdir(join(harness.root, 'platen', 'manifest-by-hour', '2026-11-26T08'))).toHaveLength(1)
  for (const address of manifests.values()) await store.delete(address, signal)
  expect(await readdir(join(harness.root, 'platen'))).toEqual([])
})

test('a tenant whose folder has the name of that of manifests has its own objects', async ({ signal }) => {
  await using harness = await fileHarness()
  const store = await harness.open()
  const [manifest = NOWHERE] = manifestsOf([1]).values()
  const own = { bucket: 'platen', key: `manifest-by-hour/${aRenderId()}/a.pdf` }
  for (const address of [manifest, own]) await store.put(address, Buffer.from('1'), signal)
  expect(await keysIn(store.list('platen', 'manifest-by-hour/', signal))).toEqual([own.key])
  expect(await keysIn(store.list('platen', 'manifest/', signal))).toEqual([manifest.key])
  expect(await keysIn(store.listManifests('platen', 0, signal))).toEqual([manifest.key])
})

test('nothing is left in the draft folder after any write', async ({ signal }) => {
  await using harness = await fileHarness()
  const store = await harness.open()
  const address = { bucket: 'platen', key: 'a' }
  await store.put(address, Buffer.from('1'), signal)
  await store.create(address, Buffer.from('2'), signal)
  expect(await readdir(join(harness.root, '.tmp'))).toStrictEqual([])
})

test('what the file system refuses is Unavailable', async ({ signal }) => {
  const store = await opened(fileHarness())
  await store.put({ bucket: 'platen', key: 'a' }, Buffer.from('a file'), signal)
  const below = { bucket: 'platen', key: 'a/b' }
  await expect(store.put(below, Buffer.from('needs a folder'), signal)).rejects.toThrow(Unavailable)
})

interface FileHarness extends ArtifactStoreHarness {
  readonly root: string
  open(): Promise<FileArtifactStore>
  reopen(): Promise<FileArtifactStore>
}

async function fileHarness(): Promise<FileHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-files-'))
  const root = join(folder, 'artifacts')
  let now = NOON
  let store: FileArtifactStore | undefined
  const open = async () => {
    const publicUrl = () => 'https://pdf.example.com/base/'
    const clock = { now: () => now }
    store = await openFileArtifactStore({ root, publicUrl, urlKey: Buffer.alloc(32, 1), clock })
    return store
  }
  return {
    root,
    open,
    reopen: open,
    async fetch(url, at) {
      now = at
      const { href, origin } = new URL(url)
      const resolution = store?.resolve(href.slice(`${origin}/base`.length))
      if (resolution === undefined || typeof resolution === 'string') return 'refused'
      const bytes = await store?.get(resolution.address, AbortSignal.timeout(20_000))
      return bytes === undefined ? 'refused' : { bytes, filename: resolution.filename }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

/** A minute of the suite takes this long here. S3 uses its own clock, so the test must really wait until a URL expires. */
const MINUTE_MS = 6000

/** One server serves all tests. Each test gets it empty. */
async function s3Harness(server: S3Server): Promise<ArtifactStoreHarness> {
  const stores: Disposable[] = []
  const beganAt = Date.now()
  const realTime = (at: number) => beganAt + ((at - NOON) * MINUTE_MS) / 60_000
  const open = async () => {
    const namespace = { bucket: 'platen', prefix: '', installation: 'test' }
    const options = { ...server, isPathStyle: true, namespace, clock: systemClock(), ids: systemIds() }
    const store = await openS3ArtifactStore(options, AbortSignal.timeout(10_000))
    stores.push(store)
    const presign: typeof store.presign = (address, { expiresAt, filename }, signal) =>
      store.presign(address, { expiresAt: realTime(expiresAt), filename }, signal)
    return { ...store, presign }
  }
  return {
    open,
    async reopen() {
      await server.kill()
      await server.start()
      return open()
    },
    async fetch(url, at) {
      if (at > NOON + 60_000) await sleep(realTime(at) - Date.now())
      const answer = await fetch(url)
      const bytes = new Uint8Array(await answer.arrayBuffer())
      if (answer.status >= 400 && answer.status < 500) return 'refused'
      const [, name = ''] = /filename\*=UTF-8''(.*)$/.exec(answer.headers.get('content-disposition') ?? '') ?? []
      return { bytes, filename: decodeURIComponent(name) }
    },
    async [Symbol.asyncDispose]() {
      await server.empty()
      for (const store of stores) store[Symbol.dispose]()
    },
  }
}
