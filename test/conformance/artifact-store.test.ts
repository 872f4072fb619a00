import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FileArtifactStore, openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { expect, test } from 'vitest'
import { NOON } from '../fixture/build.ts'
import { type ArtifactStoreHarness, describeArtifactStore } from './artifact-store.suite.ts'
import { memoryHarness } from './harness.ts'

describeArtifactStore('memory', () => memoryHarness(memoryArtifactStore))
describeArtifactStore('files', fileHarness)

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
  await using harness = await fileHarness()
  const store = await harness.open()
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
      const bytes = await store?.get(resolution.address, AbortSignal.timeout(1000))
      return bytes === undefined ? 'refused' : { bytes, filename: resolution.filename }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
