/**
 * How a revision comes into Redis. A small change is one script; anything larger is staged piece by piece, which nobody sees, and one
 * script then puts it in the place of all there was. Each is refused where a publisher of a higher epoch has been there.
 */
import {
  DIRECTORY_CHANGE_BYTES_MAX,
  DIRECTORY_CHANGES_KEPT_MAX,
  DIRECTORY_FIELDS_PER_CALL,
  DIRECTORY_LOADS_MAX,
  DIRECTORY_STAGED_MS,
} from '@platen/contract/directory-limit.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { RedisConnection } from '../../connect.ts'
import type { Script } from '../../script.ts'
import type { Changes } from '../delta.ts'
import { hashKey, SCHEMA } from '../layout.ts'
import { KINDS, type Kind, type Values } from '../value.ts'
import type { Change } from './difference.ts'

/** Another publisher has taken over: what this one holds may be out of date. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/** The error for who has this epoch where another has that. */
export function fencedBy(theirs: number, ours: number | undefined): Fenced {
  return new Fenced(`another publisher has taken over: its epoch is ${theirs}, and this one's is ${ours}`)
}

/** What stands in Redis. */
export interface StoredState {
  readonly epoch: number
  /** When it was asked, by its own clock, in epoch milliseconds. */
  readonly now: number
  /** Of the revision in force; 0, 0 and absent where there is none. */
  readonly schema: number
  readonly revision: number
  readonly mark?: string
}

/** Takes the right to write with an epoch, the next where none is given; also makes it known again to a Redis that has lost it. Throws `Fenced`. */
export async function claim(
  script: Script['run'],
  epoch: number | undefined,
  signal: AbortSignal,
): Promise<StoredState> {
  // The script answers in these words.
  const answer = (await script({ keys: [], request: { operation: 'claim', epoch } }, signal)) as
    | ({ readonly kind: 'claimed' } & StoredState)
    | { readonly kind: 'fenced'; readonly epoch: number }
  if (answer.kind === 'fenced') throw fencedBy(answer.epoch, epoch)
  return answer
}

export interface Published {
  readonly values: Values
  /** Absent where nothing was published. */
  readonly revisionId?: string
  readonly revision: number
}

export interface Write {
  readonly script: Script['run']
  readonly redis: RedisConnection
  readonly epoch: number
  /** What stands there, as far as is known. */
  readonly last: Published
  readonly next: Published & { readonly revisionId: string }
  /** What makes that this; absent = not known, and all is written. */
  readonly changes?: readonly Change[] | undefined
}

/** Throws `Fenced`, `RangeError` where a newer revision stands there, or `Unavailable`: then it is not known whether it counts. */
export async function write(what: Write, signal: AbortSignal): Promise<void> {
  if (!(await writeChange(what, signal))) await replaceAll(what, signal)
}

type Answer =
  | { readonly kind: 'published' | 'stale' | 'incomplete' }
  | { readonly kind: 'fenced'; readonly epoch: number }

/** Answers false where the changes are too large or not known, or Redis does not hold what they were made from. */
async function writeChange({ script, epoch, last, next, changes }: Write, signal: AbortSignal): Promise<boolean> {
  const text = changes && serializeChanges(changes)
  if (last.revisionId === undefined || text === undefined) return false
  const { revisionId, revision } = next
  const named = { schema: SCHEMA, epoch, mark: revisionId, revision, after: last.revisionId }
  const request = { operation: 'change', ...named, changes: text, kept: DIRECTORY_CHANGES_KEPT_MAX }
  // The script answers in these words.
  const answer = (await script({ keys: [], request }, signal)) as Answer
  if (answer.kind === 'fenced') throw fencedBy(answer.epoch, epoch)
  return answer.kind === 'published'
}

/** What is to be written and taken away, as JSON; undefined where it is too large for one call. */
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

/** Stages all, then puts it in the place of what is there. */
async function replaceAll({ script, redis, epoch, next }: Write, signal: AbortSignal): Promise<void> {
  const { values, revisionId, revision } = next
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, values[kind].size]))
  const request = { operation: 'replace', schema: SCHEMA, epoch, mark: revisionId, revision, counts }
  const keys = KINDS.map((kind) => hashKey(kind, revisionId))
  for (let tries = 0; tries < DIRECTORY_LOADS_MAX; tries++) {
    for (const kind of KINDS) await stage(redis, { key: hashKey(kind, revisionId), values: values[kind] }, signal)
    // The script answers in these words.
    const answer = (await script({ keys, request }, signal)) as Answer
    switch (answer.kind) {
      case 'published':
        return
      case 'fenced':
        throw fencedBy(answer.epoch, epoch)
      case 'stale':
        throw new RangeError(`a revision newer than ${revision} is published`)
      case 'incomplete':
        // Redis was emptied meanwhile.
        continue
    }
  }
  throw new Unavailable('Redis lost what was staged before it could be published')
}

/** Writes a hash that nobody reads yet, and that goes by itself if nobody ever will. */
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

/** Names and values in turn, as much as goes into one call. */
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
