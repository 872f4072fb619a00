/** Objects in memory, for unit tests. Nobody serves its URLs, and nothing survives the process. */
import assert from 'node:assert/strict'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { type ArtifactAddress, isArtifactAddress } from '@platen/contract/render.ts'

/** Makes an empty store. Copies bytes on their way in and out, so that no caller can change a stored object. */
export function memoryArtifactStore(): ArtifactStore {
  const objects = new Map<string, { readonly address: ArtifactAddress; readonly bytes: Uint8Array }>()

  async function* list(bucket: string, prefix: string, signal: AbortSignal): AsyncGenerator<ArtifactAddress> {
    assert(isArtifactAddress({ bucket, key: `${prefix}name` }), 'not an artifact address')
    for (const { address } of objects.values()) {
      signal.throwIfAborted()
      if (address.bucket === bucket && address.key.startsWith(prefix)) yield address
    }
  }

  async function* listFolders(bucket: string, prefix: string, signal: AbortSignal): AsyncGenerator<string> {
    const names = new Set<string>()
    for await (const { key } of list(bucket, prefix, signal)) {
      const [name = '', ...below] = key.slice(prefix.length).split('/')
      if (below.length > 0) names.add(name)
    }
    yield* names
  }

  return {
    list,
    listFolders,
    async put(address, bytes, signal) {
      objects.set(pathOf(address, signal), { address, bytes: bytes.slice() })
    },
    async create(address, bytes, signal) {
      const path = pathOf(address, signal)
      if (objects.has(path)) return false
      objects.set(path, { address, bytes: bytes.slice() })
      return true
    },
    get: async (address, signal) => objects.get(pathOf(address, signal))?.bytes.slice(),
    getPart: async (address, { start, end }, signal) =>
      objects.get(pathOf(address, signal))?.bytes.slice(start, end + 1),
    has: async (address, signal) => objects.has(pathOf(address, signal)),
    delete: async (address, signal) => void objects.delete(pathOf(address, signal)),
    async presign(address, { expiresAt, filename }, signal) {
      const query = new URLSearchParams({ expires: `${expiresAt}`, filename })
      return `https://artifacts.invalid/${pathOf(address, signal)}?${query.toString()}`
    },
  }
}

function pathOf(address: ArtifactAddress, signal: AbortSignal): string {
  signal.throwIfAborted()
  assert(isArtifactAddress(address), 'not an artifact address')
  return `${address.bucket}/${address.key}`
}
