/** The promises of every artifact store. The doc comments of the port describe them. */

import type { ArtifactAddress } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { all, type Harness } from './harness.ts'

export interface ArtifactStoreHarness extends Harness<ArtifactStore> {
  /** Downloads a URL without credentials, as if at time `at`. Absent when the store serves no URLs. */
  fetch?(url: string, at: number): Promise<Download | 'refused'>
}

interface Download {
  readonly bytes: Uint8Array
  readonly filename: string
}

const PDF: ArtifactAddress = { bucket: 'platen', key: 'acme/01KAJ/0f3a.pdf' }

export function describeArtifactStore(name: string, makeHarness: () => Promise<ArtifactStoreHarness>): void {
  describe(`artifact store: ${name}`, () => {
    let harness: ArtifactStoreHarness
    let store: ArtifactStore
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      store = await harness.open()
    })

    test.for([
      ['nothing', new Uint8Array()],
      ['text', bytesOf('%PDF-1.7 Ελληνικά')],
      ['every byte', Uint8Array.from({ length: 1024 }, (_, i) => i % 256)],
      ['8 MiB', new Uint8Array(8 * 1024 * 1024).fill(0xa5)],
    ] as const)('gives back %s as it was put', async ([, bytes], { signal }) => {
      await store.put(PDF, bytes, signal)
      const found = await store.get(PDF, signal)
      expect(Buffer.from(bytes).equals(found ?? Buffer.from('absent'))).toBe(true)
      expect(await store.has(PDF, signal)).toBe(true)
    })

    test('gives a part of an object, as far as there is one', async ({ signal }) => {
      await store.put(PDF, bytesOf('0123456789'), signal)
      const partOf = async (start: number, end: number) => {
        const part = await store.getPart(PDF, { start, end }, signal)
        return part && Buffer.from(part).toString()
      }
      expect([await partOf(0, 0), await partOf(2, 5), await partOf(0, 9)]).toEqual(['0', '2345', '0123456789'])
      expect([await partOf(8, 20), await partOf(10, 20)]).toEqual(['89', ''])
      expect(await store.getPart({ ...PDF, key: 'acme/none.pdf' }, { start: 0, end: 1 }, signal)).toBeUndefined()
    })

    test('knows nothing of what was not put', async ({ signal }) => {
      await store.put(PDF, bytesOf('pdf'), signal)
      for (const key of ['acme', 'acme/01KAJ', 'acme/01KAJ/0f3a', `${PDF.key}.gz`, `${PDF.key}/part`, 'other']) {
        expect(await store.get({ bucket: 'platen', key }, signal)).toBeUndefined()
        expect(await store.has({ bucket: 'platen', key }, signal)).toBe(false)
      }
      expect(await store.has({ bucket: 'other', key: PDF.key }, signal)).toBe(false)
    })

    test('keeps what it was given, whatever the giver does with the bytes later', async ({ signal }) => {
      const bytes = bytesOf('first')
      await store.put(PDF, bytes, signal)
      bytes.fill(0)
      const found = await store.get(PDF, signal)
      found?.fill(0)
      expect(await read(store, PDF, signal)).toBe('first')
    })

    test('replaces an object that is put again', async ({ signal }) => {
      await store.put(PDF, bytesOf('a long first version'), signal)
      await store.put(PDF, bytesOf('second'), signal)
      expect(await read(store, PDF, signal)).toBe('second')
    })

    test('shows readers one version or the other, never a mixture', async ({ signal }) => {
      const versions = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(1 << 18))
      await store.put(PDF, bytesOf(versions[0] ?? ''), signal)
      const writing = Promise.all(versions.map((version) => store.put(PDF, bytesOf(version), signal)))
      for (let i = 0; i < 20; i++) expect(versions).toContain(await read(store, PDF, signal))
      await writing
    })

    test('creates an object once, and the first stays', async ({ signal }) => {
      expect(await store.create(PDF, bytesOf('first'), signal)).toBe(true)
      expect(await store.create(PDF, bytesOf('second'), signal)).toBe(false)
      expect(await read(store, PDF, signal)).toBe('first')
    })

    test('creates nothing where something was put, and again where it was deleted', async ({ signal }) => {
      await store.put(PDF, bytesOf('put'), signal)
      expect(await store.create(PDF, bytesOf('created'), signal)).toBe(false)
      await store.delete(PDF, signal)
      expect(await store.create(PDF, bytesOf('created'), signal)).toBe(true)
      expect(await read(store, PDF, signal)).toBe('created')
    })

    test('lets exactly one of fifty racing creators win, and keeps its bytes', async ({ signal }) => {
      for (let round = 0; round < 5; round++) {
        const address = { bucket: 'platen', key: `manifest/new-${round}/${round}.json` }
        const created = await Promise.all(
          Array.from({ length: 50 }, (_, i) => store.create(address, bytesOf(`writer ${i}`), signal)),
        )
        expect(created.filter(Boolean)).toHaveLength(1)
        expect(await read(store, address, signal)).toBe(`writer ${created.indexOf(true)}`)
      }
    })

    test('deletes an object, and nothing twice', async ({ signal }) => {
      const neighbour = { ...PDF, key: 'acme/01KAJ/input' }
      await store.put(PDF, bytesOf('pdf'), signal)
      await store.put(neighbour, bytesOf('input'), signal)
      await store.delete(PDF, signal)
      await store.delete(PDF, signal)
      await store.delete({ bucket: 'other', key: 'never/there' }, signal)
      expect(await store.get(PDF, signal)).toBeUndefined()
      expect(await read(store, neighbour, signal)).toBe('input')
    })

    test('loses nothing that is written while its neighbours are deleted', async ({ signal }) => {
      const keys = Array.from({ length: 40 }, (_, i) => `acme/same/${i}`)
      await Promise.all(
        keys.map(async (key, i) => {
          const address = { bucket: 'platen', key }
          await store.put(address, bytesOf(key), signal)
          if (i % 2 === 0) await store.delete(address, signal)
        }),
      )
      const left = await all(store.list('platen', 'acme/same/', signal))
      expect(left.map(({ key }) => key).sort()).toStrictEqual(keys.filter((_, i) => i % 2 === 1).sort())
    })

    test('lists a bucket by prefix', async ({ signal }) => {
      const keys = ['acme/1/a', 'acme/1/b', 'acme/2/a', 'acme2/1/a', 'top']
      for (const key of keys) await store.put({ bucket: 'platen', key }, bytesOf(key), signal)
      await store.put({ bucket: 'other', key: 'acme/1/c' }, bytesOf('other'), signal)
      const list = async (prefix: string) =>
        (await all(store.list('platen', prefix, signal))).map(({ key }) => key).sort()
      expect(await list('')).toStrictEqual(keys.toSorted())
      expect(await list('acme/')).toStrictEqual(['acme/1/a', 'acme/1/b', 'acme/2/a'])
      expect(await list('acme/1/')).toStrictEqual(['acme/1/a', 'acme/1/b'])
      expect(await list('nobody/')).toStrictEqual([])
      expect(await all(store.list('nobody', '', signal))).toStrictEqual([])
    })

    test('names the folders below a prefix, however many objects are in them', async ({ signal }) => {
      const keys = ['days/2026-11-21/a', 'days/2026-11-21/b', 'days/2026-11-22/deep/c', 'days/top', 'days2/other/d']
      for (const key of keys) await store.put({ bucket: 'platen', key }, bytesOf(key), signal)
      const namesIn = async (prefix: string) => (await all(store.listFolders('platen', prefix, signal))).sort()
      expect(await namesIn('days/')).toStrictEqual(['2026-11-21', '2026-11-22'])
      expect(await namesIn('nobody/')).toStrictEqual([])
      await store.delete({ bucket: 'platen', key: 'days/2026-11-22/deep/c' }, signal)
      expect(await namesIn('days/')).toStrictEqual(['2026-11-21'])
      await expect(namesIn('../')).rejects.toThrow('artifact address')
    })

    test.for([
      '',
      '/etc/passwd',
      '../outside',
      'acme/../../outside',
      'acme/./a',
      'acme//a',
      'acme/',
      '.tmp/1',
      'acme/.hidden',
      'acme\\..\\a',
      'acme/a\u0000.pdf',
      'acme/a b',
      'acme/%2e%2e/a',
      'acme/Ä',
    ])('refuses the key %j', (key, { signal }) => refuses(store, key, signal))

    test.for([
      ['a name', 'a'.repeat(255), 'a'.repeat(256)],
      ['a key', `${'a/'.repeat(511)}aa`, `${'a/'.repeat(512)}a`],
    ] as const)('takes %s of the greatest length and none longer', async ([, longest, longer], { signal }) => {
      await store.put({ bucket: 'platen', key: longest }, bytesOf('x'), signal)
      expect(await read(store, { bucket: 'platen', key: longest }, signal)).toBe('x')
      await refuses(store, longer, signal)
    })

    test.for(['', '.', '..', '.tmp', 'a/b', '/'])('refuses the bucket %j', async (bucket, { signal }) => {
      await expect(store.put({ bucket, key: 'a' }, bytesOf('x'), signal)).rejects.toThrow('artifact address')
      await expect(all(store.list(bucket, '', signal))).rejects.toThrow('artifact address')
    })

    test('does nothing for a caller that has gone already', async ({ signal }) => {
      const reason = new Error('gone')
      const gone = AbortSignal.abort(reason)
      await expect(store.put(PDF, bytesOf('x'), gone)).rejects.toBe(reason)
      await expect(store.create(PDF, bytesOf('x'), gone)).rejects.toBe(reason)
      await expect(store.get(PDF, gone)).rejects.toBe(reason)
      expect(await store.has(PDF, signal)).toBe(false)
    })

    test('presigns an absolute URL of an object that need not exist', async ({ signal }) => {
      const url = new URL(await store.presign(PDF, { expiresAt: NOON, filename: 'a.pdf' }, signal))
      expect(url.protocol).toMatch(/^https?:$/)
      expect(url.pathname).toContain(PDF.key)
    })

    test('lets a stranger fetch a presigned object under its file name until it expires', async ({ signal, skip }) => {
      if (harness.fetch === undefined) return skip('nobody serves its URLs')
      const filename = 'Märchen & 100% "Ελληνικά" + 🧾.pdf'
      await store.put(PDF, bytesOf('pdf'), signal)
      const url = await store.presign(PDF, { expiresAt: NOON + 60_000, filename }, signal)
      const download = await harness.fetch(url, NOON + 59_000)
      expect(download).toMatchObject({ filename })
      expect(download === 'refused' ? download : Buffer.from(download.bytes).toString()).toBe('pdf')
      expect(await harness.fetch(url, NOON + 61_000)).toBe('refused')
    })

    test.for([
      ['another object', (url: string) => url.replace('0f3a.pdf', '0f3b.pdf')],
      ['another bucket', (url: string) => url.replace('platen', 'plates')],
      ['a later end', (url: string) => url.replace(/(expires=|Expires=)\d/i, '$19')],
      ['another signature', (url: string) => url.replace(/(signature=)./i, (_, name) => `${name}_`)],
      ['no signature', (url: string) => url.replace(/&?[^&?]*signature=[^&]*/i, '')],
      ['no query', (url: string) => url.replace(/\?.*/, '')],
    ] as const)('refuses a presigned URL changed to %s', async ([, change], { signal, skip }) => {
      if (harness.fetch === undefined) return skip('nobody serves its URLs')
      for (const key of [PDF.key, 'acme/01KAJ/0f3b.pdf'])
        await store.put({ bucket: 'platen', key }, bytesOf('x'), signal)
      const url = await store.presign(PDF, { expiresAt: NOON + 60_000, filename: 'a.pdf' }, signal)
      expect(change(url)).not.toBe(url)
      expect(await harness.fetch(change(url), NOON)).toBe('refused')
    })

    test('keeps its objects over a restart', async ({ signal, skip }) => {
      if (harness.reopen === undefined) return skip('nothing in it is durable')
      await store.put(PDF, bytesOf('pdf'), signal)
      const again = await harness.reopen()
      expect(await read(again, PDF, signal)).toBe('pdf')
      expect(await again.create(PDF, bytesOf('late'), signal)).toBe(false)
    })
  })
}

async function refuses(store: ArtifactStore, key: string, signal: AbortSignal): Promise<void> {
  const address = { bucket: 'platen', key }
  const attempts = [
    store.put(address, bytesOf('x'), signal),
    store.create(address, bytesOf('x'), signal),
    store.get(address, signal),
    store.has(address, signal),
    store.delete(address, signal),
    store.presign(address, { expiresAt: NOON, filename: 'a.pdf' }, signal),
  ]
  for (const attempt of await Promise.allSettled<unknown>(attempts)) {
    expect(attempt).toMatchObject({ status: 'rejected', reason: { message: 'not an artifact address' } })
  }
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

async function read(store: ArtifactStore, address: ArtifactAddress, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await store.get(address, signal)
  return bytes && new TextDecoder().decode(bytes)
}
