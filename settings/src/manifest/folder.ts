/**
 * A folder of manifest files. Broken parts keep the last good state: a refused document, an unreadable file, and every document missing
 * from a file in which a document is too broken to identify. Only resources that are cleanly removed are gone.
 */
import { constants, watch } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import type { ReadResource } from '@platen/contract/schema/resource/reader.ts'
import { brokenChanges } from '@platen/contract/schema/resource/rule.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { MANIFEST_FILE_BYTES_MAX } from './limit.ts'
import type { ManifestDocument, ManifestFault, ParsedParts } from './text/parse.ts'
import type { ReadAhead } from './text/read-ahead.ts'

/** A folder that keeps changing is read anyway after this many such waits. */
const MANIFEST_DEBOUNCES_MAX = 50

/** How long a folder must stay unchanged before it is read: editors and `git checkout` write in bursts. */
const MANIFEST_DEBOUNCE_MS = 100

interface FileState {
  /** SHA-256 of the bytes; absent for a file that could not be read. */
  readonly digest?: string
  readonly documents: readonly ManifestDocument[]
  readonly faults: readonly ManifestFault[]
  /** Absent if the file is not UTF-8. */
  readonly text?: string
  readonly parts?: ParsedParts
}

/** Files are sorted by name. */
export interface FolderState {
  readonly files: ReadonlyMap<string, FileState>
  /** In force, each place once. */
  readonly documents: readonly ManifestDocument[]
  readonly faults: readonly ManifestFault[]
}

export const EMPTY_FOLDER: FolderState = { files: new Map(), documents: [], faults: [] }

/**
 * `documents` has each place once. `digests` has the SHA-256 of the files without other documents; they are not parsed until they change.
 */
export function folderFromDocuments(
  documents: readonly ManifestDocument[],
  digests: ReadonlyMap<string, string> = new Map(),
): FolderState {
  const byFile = Map.groupBy(documents, ({ file }) => file)
  const files = [...byFile].map(([name, documents]): [string, FileState] => {
    const digest = digests.get(name)
    return [name, { documents, faults: [], ...(digest !== undefined && { digest }) }]
  })
  return { files: new Map(files), documents, faults: [] }
}

/** Keeps only the texts. In the next read, refused documents are not in force, and unchanged texts are not parsed again. */
export function withoutDocuments({ files }: FolderState): FolderState {
  const parsed = [...files].map(([name, { parts }]): [string, FileState] => {
    return [name, { documents: [], faults: [], ...(parts && { parts }) }]
  })
  return { files: new Map(parsed), documents: [], faults: [] }
}

export function isManifest(name: string): boolean {
  return /^[^.].*\.ya?ml$/.test(name)
}

export interface Reader {
  readonly read: ReadResource
  /** Parses large changes in another thread, before they are needed here; absent = nothing else needs this thread. */
  readonly readAhead?: ReadAhead | undefined
}

/** Parses changed files only. Throws the file system's error if the folder cannot be listed. */
export async function readFolder(dir: string, previous: FolderState, reader: Reader): Promise<FolderState> {
  const names = (await readdir(dir)).filter(isManifest).sort()
  const files = new Map<string, FileState>()
  const sizes = new Map<string, number>()
  for (const name of names) {
    const before = previous.files.get(name)
    const bytes = await readManifest(join(dir, name), sizes)
    if (bytes === undefined) continue
    if (typeof bytes === 'string') {
      files.set(name, { documents: before?.documents ?? [], faults: [{ file: name, message: bytes }] })
      continue
    }
    sizes.set(name, bytes.byteLength)
    const digest = sha256(bytes)
    files.set(name, before?.digest === digest ? before : await parseFile({ name, bytes, digest, before }, reader))
  }
  return { files, ...merge(files, previous.documents) }
}

/** The bytes of a file, why they cannot be read, or undefined if there is no file (any more). `sizes` has the manifests before it. */
async function readManifest(
  path: string,
  sizes: ReadonlyMap<string, number>,
): Promise<Uint8Array | string | undefined> {
  const bytesMax = MANIFEST_FILE_BYTES_MAX - sumOf(sizes)
  try {
    // Non-blocking: opening a pipe with the name of a manifest must not wait for its writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const { size } = await file.stat().then((stat) => (stat.isFile() ? stat : { size: undefined }))
    if (size === undefined) return undefined
    const buffer = Buffer.alloc(Math.min(size, bytesMax) + 1)
    const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, 0)
    if (bytesRead > bytesMax) return tooLarge(size, sizes)
    return buffer.subarray(0, bytesRead)
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined
    return isErrno(cause) ? `cannot be read (${cause.code})` : 'cannot be read'
  }
}

function sumOf(sizes: ReadonlyMap<string, number>): number {
  return sizes.values().reduce((sum, size) => sum + size, 0)
}

/** Also names the largest manifest: the one that is too much may be small. */
function tooLarge(size: number, sizes: ReadonlyMap<string, number>): string {
  const sum = sumOf(sizes) + size
  const [largest] = Array.from(sizes).sort(([, one], [, other]) => other - one)
  const other = largest !== undefined && largest[1] > size ? `; the largest is ${largest[0]} with ${largest[1]}` : ''
  return `is too large: with its ${size} bytes the manifests have ${sum}, and ${MANIFEST_FILE_BYTES_MAX} are allowed for all together${other}`
}

interface ChangedFile {
  readonly name: string
  readonly bytes: Uint8Array
  readonly digest: string
  readonly before: FileState | undefined
}

async function parseFile(
  { name, bytes, digest, before }: ChangedFile,
  { read, readAhead }: Reader,
): Promise<FileState> {
  const text = decode(bytes)
  if (text === undefined) {
    const fault = { file: name, message: 'is not UTF-8' }
    return { digest, documents: before?.documents ?? [], faults: [fault] }
  }
  // Loaded here, because a start whose files have not changed parses none.
  const [{ parseManifests }, { splitText }] = await Promise.all([
    import('./text/parse.ts'),
    import('./text/yaml-text.ts'),
  ])
  const last: ParsedParts = before?.parts ?? new Map()
  const unknown = new Set(splitText(text).map(({ part }) => part)).difference(last)
  const known = new Map([...last, ...((await readAhead?.([...unknown])) ?? [])])
  const { documents, faults, refused, hasUnknown, parts } = parseManifests({ text, file: name, read, known })
  const good = new Set(documents.map(({ place }) => place))
  const kept = (before?.documents ?? []).filter(({ place }) => !good.has(place) && (hasUnknown || refused.has(place)))
  return { digest, documents: [...documents, ...kept], faults, text, parts }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * The first declaration of a resource wins: two files that disagree are a mistake that somebody must correct. A forbidden change leaves the
 * resource as it was, until it is removed and declared again.
 */
function merge(
  files: ReadonlyMap<string, FileState>,
  previous: readonly ManifestDocument[],
): Omit<FolderState, 'files'> {
  const before = new Map(previous.map((document) => [document.place, document]))
  const byPlace = new Map<string, ManifestDocument>()
  const faults: ManifestFault[] = []
  for (const file of files.values()) {
    faults.push(...file.faults)
    for (const document of file.documents) {
      const first = byPlace.get(document.place)
      if (first !== undefined) {
        faults.push(duplicate(document, first))
        continue
      }
      const last = before.get(document.place)
      const broken = last === undefined ? [] : brokenChanges(last.written, document.written)
      const { file, line, place } = document
      for (const { path, message } of broken) faults.push({ file, line, place, path, message })
      byPlace.set(place, last !== undefined && broken.length > 0 ? last : document)
    }
  }
  return { documents: [...byPlace.values()], faults }
}

function duplicate({ file, line, place }: ManifestDocument, first: ManifestDocument): ManifestFault {
  return { file, line, place, message: `is declared already in ${first.file}, line ${first.line}` }
}

export interface FolderWatch extends Disposable {
  /** Resolves when something in the folder has changed since the watch began, and then nothing for `MANIFEST_DEBOUNCE_MS`. */
  changed(signal: AbortSignal): Promise<void>
  /** Since the watch began. */
  hasChanged(): boolean
}

interface WatchOptions {
  /** Only files with such names count, and the folder itself; absent = all. */
  readonly isOfInterest?: (name: string) => boolean
  /** Whether the watch keeps the process alive. */
  readonly isPersistent?: boolean
}

/**
 * Watches a folder for one change. Begin the next watch before the folder is read, so that no change is missed, and so that a folder that
 * was removed and created again is found. Throws the file system's error.
 */
export function watchFolder(
  dir: string,
  clock: Clock,
  { isOfInterest = () => true, isPersistent = false }: WatchOptions = {},
): FolderWatch {
  const changed = Promise.withResolvers<void>()
  let changes = 0
  const onChange = () => {
    changes++
    changed.resolve()
  }
  // A broken watch counts as a change: the next read of the folder shows what happened.
  const watcher = watch(dir, { persistent: isPersistent }).on('error', onChange)
  watcher.on('change', (_kind, name) => {
    // Some systems do not report the name. A change of the folder itself has the folder's own name.
    if (typeof name !== 'string' || isOfInterest(name) || name === basename(dir)) onChange()
  })
  return {
    async changed(signal) {
      await raceAbort(changed.promise, signal)
      for (let waits = 0, seen = -1; seen !== changes && waits < MANIFEST_DEBOUNCES_MAX; waits++) {
        seen = changes
        await clock.sleep(MANIFEST_DEBOUNCE_MS, signal)
      }
    },
    hasChanged: () => changes > 0,
    [Symbol.dispose]: () => watcher.close(),
  }
}
