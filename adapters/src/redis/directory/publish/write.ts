/**
 * Writes a revision into Redis. One script call applies a small change. Anything larger is staged in batches, which readers do not see;
 * then one script call replaces everything. Each call is refused if a publisher with a higher epoch has written.
 */
import { FORMAT } from '@platen/contract/domain/format.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { RedisConnection } from '../../connect.ts'
import { DIRECTORY_FIELDS_PER_CALL, DIRECTORY_LOADS_MAX } from '../../limit.ts'
import type { Script } from '../../script.ts'
import type { Changes } from '../delta.ts'
import { hashKey } from '../layout.ts'
import { KINDS, type Kind, type Values } from '../value.ts'
import type { Change } from './difference.ts'

const KIB = 1024

/** Bytes of one change that is published as a change. A larger one replaces all: the store pays no more, and each reader loads once. */
export const DIRECTORY_CHANGE_BYTES_MAX = 256 * KIB

/** Changes kept for readers: 32 MiB if all are the largest. A reader that missed more loads everything. */
export const DIRECTORY_CHANGES_KEPT_MAX = 128

const SECOND_MS = 1000
/** How long staged data outlives a publisher that died: far longer than staging the next piece takes. */
const DIRECTORY_STAGED_MS = 60 * SECOND_MS

/** Another publisher has taken over. The state of this one may be out of date. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

export function fencedBy(theirs: number, ours: number | undefined): Fenced {
  return new Fenced(`another publisher has taken over: its epoch is ${theirs}, the epoch of this one is ${ours}`)
}

export interface StoredState {
  readonly epoch: number
  /** The time by the clock of Redis, in epoch milliseconds. */
  readonly now: number
  /** Those of the published revision; 0, 0 and absent if there is none. */
  readonly schema: number
  readonly revision: number
  readonly mark?: string
}

/** Claims the right to write with an epoch; absent = the next one. Restores the epoch in a Redis that has lost it. Throws `Fenced`. */
export async function claim(
  script: Script['run'],
  epoch: number | undefined,
  signal: AbortSignal,
): Promise<StoredState> {
  // The script returns these types, here and below.
  const answer = (await script({ keys: [], request: { operation: 'claim', epoch } }, signal)) as
    | ({ readonly kind: 'claimed' } & StoredState)
    | { readonly kind: 'fenced'; readonly epoch: number }
  if (answer.kind === 'fenced') throw fencedBy(answer.epoch, epoch)
  return answer
}

export interface Published {
  readonly values: Values
  /** Absent if nothing was published. */
  readonly revisionId?: string
  readonly revision: number
}

interface Write {
  readonly script: Script['run']
  readonly redis: RedisConnection
  readonly epoch: number
  /** The state in Redis, as far as is known. */
  readonly last: Published
  readonly next: Published & { readonly revisionId: string }
  /** The changes from `last` to `next`; absent = not known, so everything is written. */
  readonly changes?: readonly Change[] | undefined
}

/**
 * Returns the id of the replaced revision, '' if there was none; undefined if the call was sent twice and the first one had written it.
 * Throws `Fenced`, `RangeError` if Redis has a newer revision, or `Unavailable`; the revision may then be written or not.
 */
export async function write(what: Write, signal: AbortSignal): Promise<string | undefined> {
  const { replaced } = (await writeChange(what, signal)) ?? (await replaceAll(what, signal))
  return replaced
}

interface Written {
  readonly kind: 'published'
  /** Absent if an earlier call had written it. */
  readonly replaced?: string
}

type Answer = Written | { readonly kind: 'stale' | 'incomplete' } | { readonly kind: 'fenced'; readonly epoch: number }

/** Returns undefined if the changes are too large or not known, or if Redis has another base revision. */
async function writeChange(
  { script, epoch, last, next, changes }: Write,
  signal: AbortSignal,
): Promise<Written | undefined> {
  const text = changes && serializeChanges(changes)
  if (last.revisionId === undefined || text === undefined) return undefined
  const { revisionId, revision } = next
  const named = { schema: FORMAT, epoch, mark: revisionId, revision, after: last.revisionId }
  const request = { operation: 'change', ...named, changes: text, kept: DIRECTORY_CHANGES_KEPT_MAX }
  const answer = (await script({ keys: [], request }, signal)) as Answer
  if (answer.kind === 'fenced') throw fencedBy(answer.epoch, epoch)
  return answer.kind === 'published' ? answer : undefined
}

/** Returns undefined if the changes are too large for one call. */
function serializeChanges(changes: readonly Change[]): string | undefined {
  const spelled: { [kind in Kind]?: Record<string, string | null> } = {}
  let bytes = 0
  for (const { kind, name, text } of changes) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(text ?? '')
    if (bytes > DIRECTORY_CHANGE_BYTES_MAX) return undefined
    spelled[kind] ??= {}
    spelled[kind][name] = text
  }
  return JSON.stringify(spelled satisfies Changes)
}

async function replaceAll({ script, redis, epoch, next }: Write, signal: AbortSignal): Promise<Written> {
  const { values, revisionId, revision } = next
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, values[kind].size]))
  const request = { operation: 'replace', schema: FORMAT, epoch, mark: revisionId, revision, counts }
  const keys = KINDS.map((kind) => hashKey(kind, revisionId))
  for (let tries = 0; tries < DIRECTORY_LOADS_MAX; tries++) {
    for (const kind of KINDS) await stage(redis, { key: hashKey(kind, revisionId), values: values[kind] }, signal)
    const answer = (await script({ keys, request }, signal)) as Answer
    switch (answer.kind) {
      case 'published':
        return answer
      case 'fenced':
        throw fencedBy(answer.epoch, epoch)
      case 'stale':
        throw new RangeError(`a revision newer than ${revision} is published`)
      case 'incomplete':
        // Redis was emptied meanwhile.
        continue
    }
  }
  throw new Unavailable('Redis lost the staged settings before they were published')
}

/** Nobody reads a staged hash yet. It expires if it is never published. */
async function stage(
  redis: RedisConnection,
  { key, values }: { readonly key: string; readonly values: ReadonlyMap<string, string> },
  signal: AbortSignal,
): Promise<void> {
  for (const piece of pieces(values)) {
    await redis.call((client) => client.hset(key, ...piece), signal)
    await redis.call((client) => client.pexpire(key, DIRECTORY_STAGED_MS), signal)
  }
}

/** Yields names and values alternating, in batches that fit into one call. */
function* pieces(values: ReadonlyMap<string, string>): Generator<readonly string[]> {
  let piece: string[] = []
  let chars = 0
  for (const [name, text] of values) {
    piece.push(name, text)
    chars += text.length
    if (piece.length < 2 * DIRECTORY_FIELDS_PER_CALL && chars < DIRECTORY_CHANGE_BYTES_MAX) continue
    yield piece
    piece = []
    chars = 0
  }
  if (piece.length > 0) yield piece
}
