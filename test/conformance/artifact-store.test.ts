import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FileArtifactStore, openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { NOON } from '../fixture/build.ts'
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
