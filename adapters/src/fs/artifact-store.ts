/**
 * Objects as files below one folder, `<root>/<bucket>/<key>`, and the signed URLs under which the service itself serves them. Manifests are
 * in folders by hour: see `manifest-folder.ts`.
 *
 * An object appears whole and durable. It is written and flushed under `<root>/.tmp/`, then renamed (put) or linked (create) to its name;
 * then the folder that holds the name is flushed. One process has one store on a root at a time.
 */
import assert from 'node:assert/strict'
import {
  type FileHandle,
  link,
  mkdir,
  open,
  opendir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type ArtifactAddress, isArtifactAddress, MANIFEST_PREFIX } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import {
  createFlushed,
  durableFolders,
  flushFolder,
  ignoring,
  isErrno,
  makeDurableFolder,
  NOT_THERE,
} from './durable-folder.ts'
import { keyOfPath, MANIFEST_FOLDER, manifestsSince, pathOfKey } from './manifest-folder.ts'
import { type Resolution, resolveUrl, signUrl } from './signed-url.ts'

interface FileArtifactStoreOptions {
  /** Absolute path of the folder; created when missing. */
  readonly root: string
  /** Where callers reach this service, such as `https://pdf.example.com`. A function, as the port may be known only after listening. */
  readonly publicUrl: () => string
  /** Signs URLs; at least 32 bytes. A new key makes all issued URLs invalid. */
  readonly urlKey: Uint8Array
  readonly clock: Pick<Clock, 'now'>
}

export interface FileArtifactStore extends ArtifactStore {
  /** Opens the file of an object; the caller reads it in pieces and closes it. Undefined when there is none. Throws `Unavailable`. */
  open(address: ArtifactAddress): Promise<FileHandle | undefined>
  /**
   * Lists the manifests of renders that were accepted at `since` or later, and a few older ones. Its cost does not grow with the number of
   * kept manifests. Throws `Unavailable`.
   */
  listManifests(bucket: string, since: Instant, signal: AbortSignal): AsyncIterable<ArtifactAddress>
  /** Checks a signed URL, given its path and query as received. Accepts any text. Does not check whether the object exists. */
  resolve(pathAndQuery: string): Resolution
}

/** Opens the store, and removes temporary files of interrupted writes. Throws `Unavailable` when the folder cannot be used. */
export async function openFileArtifactStore(options: FileArtifactStoreOptions): Promise<FileArtifactStore> {
  const { root, publicUrl, urlKey, clock } = options
  assert(urlKey.length >= 32, 'the URL key has at least 32 bytes')
  const temporary = join(root, '.tmp')
  await orUnavailable(async () => {
    await rm(temporary, { recursive: true, force: true })
    await makeDurableFolder(root)
    await mkdir(temporary, { mode: 0o700 })
  })
  const folders = durableFolders(root)
  const pathOf = (address: ArtifactAddress) => join(root, requireAddress(address).bucket, pathOfKey(address.key))
  let written = 0

  const write = async (address: ArtifactAddress, bytes: Uint8Array, commit: Commit): Promise<boolean> => {
    const target = pathOf(address)
    const temporaryFile = join(temporary, `${++written}`)
    let isMoved = false
    try {
      await createFlushed(temporaryFile, bytes)
      const isWritten = await folders.changeIn(dirname(target), () => commit(temporaryFile, target))
      isMoved = commit === replace
      return isWritten
    } finally {
      if (!isMoved) await unlink(temporaryFile).catch(ignoring('ENOENT'))
    }
  }

  return {
    put: (address, bytes, signal) => orUnavailable(async () => void (await write(address, bytes, replace)), signal),
    create: (address, bytes, signal) => orUnavailable(() => write(address, bytes, linkIfAbsent), signal),
    get: (address, signal) => orUnavailable(() => orUndefined(readFile(pathOf(address))), signal),
    getPart: (address, range, signal) => orUnavailable(() => orUndefined(readPart(pathOf(address), range)), signal),
    has: (address, signal) =>
      orUnavailable(async () => (await orUndefined(stat(pathOf(address))))?.isFile() ?? false, signal),
    delete: (address, signal) => orUnavailable(() => remove(pathOf(address), join(root, address.bucket)), signal),
    async *list(bucket, prefix, signal) {
      // The prefix is safe to walk if it becomes a valid address with a name appended.
      requireAddress({ bucket, key: `${prefix}name` })
      const folders = prefix === MANIFEST_PREFIX ? [prefix, MANIFEST_FOLDER] : [prefix]
      const keys = inTurn(folders.map((folder) => walk(join(root, bucket), folder)))
      for await (const address of addressed(bucket, keys, signal)) if (address.key.startsWith(prefix)) yield address
    },
    async *listFolders(bucket, prefix, signal) {
      requireAddress({ bucket, key: `${prefix}name` })
      const entries = await orUnavailable(() => orUndefined(readdir(join(root, bucket, prefix), FOLDERS)), signal)
      for (const entry of entries ?? []) if (entry.isDirectory()) yield entry.name
    },
    listManifests: (bucket, since, signal) => addressed(bucket, manifestsSince(join(root, bucket), since), signal),
    async presign(address, { expiresAt, filename }, signal) {
      signal.throwIfAborted()
      return (
        publicUrl().replace(/\/+$/, '') + signUrl({ address: requireAddress(address), filename, expiresAt }, urlKey)
      )
    },
    open: (address) => orUnavailable(() => orUndefined(open(pathOf(address)))),
    resolve: (pathAndQuery) => resolveUrl(pathAndQuery, urlKey, clock.now()),
  }
}

const FOLDERS = { withFileTypes: true } as const

/** Moves a temporary file to its name. Returns false when the name existed; the existing object then stays. */
type Commit = (temporaryFile: string, target: string) => Promise<boolean>

async function replace(temporaryFile: string, target: string): Promise<boolean> {
  await rename(temporaryFile, target)
  return true
}

async function linkIfAbsent(temporaryFile: string, target: string): Promise<boolean> {
  try {
    await link(temporaryFile, target)
    return true
  } catch (cause) {
    if (isErrno(cause, 'EEXIST')) return false
    throw cause
  }
}

async function readPart(
  path: string,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<Uint8Array> {
  await using file = await open(path)
  const part = Buffer.allocUnsafe(end - start + 1)
  let length = 0
  while (length < part.length) {
    const { bytesRead } = await file.read(part, length, part.length - length, start + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return part.subarray(0, length)
}

/** Removes a file and the folders that become empty, up to the bucket. Without that, every render would leave a folder behind. */
async function remove(path: string, bucket: string): Promise<void> {
  try {
    await unlink(path)
    await flushFolder(dirname(path))
    for (let folder = dirname(path); folder !== bucket; folder = dirname(folder)) await rmdir(folder)
  } catch (cause) {
    if (!isErrno(cause, 'ENOTEMPTY', ...NOT_THERE)) throw cause
  }
}

/** Lists keys. Leaves out files that disappear meanwhile. */
async function* walk(bucket: string, path: string): AsyncGenerator<string> {
  const folder = await orUndefined(opendir(join(bucket, path)))
  for await (const entry of folder ?? []) {
    if (entry.isDirectory()) yield* walk(bucket, `${path}${entry.name}/`)
    if (entry.isFile()) yield keyOfPath(path + entry.name)
  }
}

async function* inTurn(all: readonly AsyncIterable<string>[]): AsyncGenerator<string> {
  for (const each of all) yield* each
}

/** Leaves out files that are no objects. */
async function* addressed(
  bucket: string,
  keys: AsyncIterable<string>,
  signal: AbortSignal,
): AsyncGenerator<ArtifactAddress> {
  try {
    for await (const key of keys) {
      signal.throwIfAborted()
      if (isArtifactAddress({ bucket, key })) yield { bucket, key }
    }
  } catch (cause) {
    throw asUnavailable(cause)
  }
}

async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (cause) {
    if (isErrno(cause, ...NOT_THERE)) return undefined
    throw cause
  }
}

async function orUnavailable<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted()
  try {
    return await work()
  } catch (cause) {
    throw asUnavailable(cause)
  }
}

function asUnavailable(cause: unknown): unknown {
  return isErrno(cause)
    ? new Unavailable(`the artifact folder refused a read or write: ${cause.code}`, { cause })
    : cause
}

function requireAddress(address: ArtifactAddress): ArtifactAddress {
  assert(isArtifactAddress(address), 'not an artifact address')
  return address
}
