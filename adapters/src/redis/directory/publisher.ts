/**
 * The writing side of the directory in Redis. A small change is one script; anything larger is staged piece by piece, which nobody
 * sees, and one script then puts it in the place of all there was: so Redis never stands still for long, and readers see each
 * revision whole or not at all. Of several publishers the one with the highest epoch may write, and the others are told so.
 */

import { canonicalJson } from '@platen/contract/canonical-json.ts'
import {
  DIRECTORY_CHANGE_BYTES_MAX,
  DIRECTORY_CHANGES_KEPT_MAX,
  DIRECTORY_FIELDS_PER_CALL,
  DIRECTORY_LOADS_MAX,
  DIRECTORY_REPORTED_MS,
  DIRECTORY_STAGED_MS,
} from '@platen/contract/directory-limit.ts'
import type { DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { Limits, TenantId } from '@platen/contract/tenant.ts'
import type { RedisConnection } from '../connect.ts'
import { writeLimits } from '../limiter-settings.ts'
import type { Script } from '../script.ts'
import { directoryScript, hashKey, readMeta, SCHEMA, scanFields } from './layout.ts'
import { type Change, changesBetween, type Difference, differencesIn } from './publish/difference.ts'
import type { Changes } from './step.ts'
import { KINDS, type Kind, type Values, valueWriter } from './value.ts'

export interface PublisherOptions {
  readonly redis: RedisConnection
  readonly ids: Ids
  /** Refused when a higher one has written; absent = the next, which ends whoever published before. */
  readonly epoch?: number
}

export interface RedisPublisher extends DirectoryPublisher {
  readonly epoch: number
  /** Of what is published, be it by somebody else before; 0 = nothing. */
  revision(): number
  /** What of a snapshot is not published as it is. */
  differences(snapshot: DirectorySnapshot): readonly Difference[]
  /** Publishes once more what was published last, where Redis holds it no longer. Answers whether it had to. Throws as `publish` does. */
  repair(signal: AbortSignal): Promise<boolean>
  /** How many processes there are that have said which revision they enforce, and how many of them enforce the last. */
  readers(signal: AbortSignal): Promise<{ readonly all: number; readonly enforcing: number }>
}

/** Another publisher has taken over: what this one holds may be out of date. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/**
 * Takes the right to publish. `publish` throws `RangeError` for a revision that is not newer, `Fenced`, or `Unavailable`: then it is
 * not known whether the revision counts, and the next `publish` or `repair` finds out.
 */
export async function openRedisPublisher(
  { redis, ids, epoch: asked }: PublisherOptions,
  signal: AbortSignal,
): Promise<RedisPublisher> {
  const script = directoryScript(redis)
  const epoch = await claim(script, asked, signal)
  // Nobody else writes from here on, so what is read in pieces is one revision.
  let last = await readPublished(redis, signal)
  const valuesOf = valueWriter()

  const put = async (values: Values, revision: number, putSignal: AbortSignal) => {
    const mark = Buffer.from(ids.random(MARK_BYTES)).toString('hex')
    const published = { values, mark, revision }
    const write = { script, redis, epoch, last, published }
    if (!(await writeChange(write, putSignal))) await replaceAll(write, putSignal)
    last = published
  }
  return {
    epoch,
    revision: () => last.revision,
    differences: (snapshot) => differencesIn(changesBetween(last.values, valuesOf(snapshot))),
    async publish(snapshot: DirectorySnapshot, publishSignal) {
      const { revision } = snapshot
      if (!(revision > last.revision)) throw new RangeError(`revision ${revision} is not newer than ${last.revision}`)
      await claim(script, epoch, publishSignal)
      const values = valuesOf(snapshot)
      await writeLimits(redis, { revision, limits: changedLimits(snapshot, last.values, values) }, publishSignal)
      await put(values, revision, publishSignal)
    },
    async repair(repairSignal) {
      const meta = await readMeta(redis, repairSignal)
      if (last.mark === undefined || meta?.mark === last.mark) return false
      await claim(script, epoch, repairSignal)
      await put(last.values, last.revision, repairSignal)
      return true
    },
    async readers(readersSignal) {
      const request = { operation: 'readers', reportedMs: DIRECTORY_REPORTED_MS }
      // The script answers with what readers have reported through it.
      const { reports } = (await script({ keys: [], request }, readersSignal)) as ReadersAnswer
      const all = Object.values(reports)
      const isEnforcing = ({ mark, revision }: Report) => mark === last.mark || revision > last.revision
      return { all: all.length, enforcing: all.filter(isEnforcing).length }
    },
  }
}

const MARK_BYTES = 16

interface Published {
  readonly values: Values
  /** Absent where nothing was published. */
  readonly mark?: string
  readonly revision: number
}

interface Report {
  readonly mark: string
  readonly revision: number
}

interface ReadersAnswer {
  /** Lua has one empty table for lists and objects. */
  readonly reports: Readonly<Record<string, Report>>
}

type WriteAnswer =
  | { readonly kind: 'published' | 'stale' | 'incomplete' }
  | { readonly kind: 'fenced'; readonly epoch: number }

/** Also makes the epoch known again to a Redis that has lost it. */
async function claim(script: Script['run'], epoch: number | undefined, signal: AbortSignal): Promise<number> {
  const answer = (await script({ keys: [], request: { operation: 'claim', epoch } }, signal)) as {
    readonly kind: 'claimed' | 'fenced'
    readonly epoch: number
  }
  if (answer.kind === 'fenced') throw fenced(answer.epoch, epoch)
  return answer.epoch
}

function fenced(theirs: number, ours: number | undefined): Fenced {
  return new Fenced(`another publisher has taken over: its epoch is ${theirs}, and this one's is ${ours}`)
}

async function readPublished(redis: RedisConnection, signal: AbortSignal): Promise<Published> {
  const values = {
    tenants: new Map<string, string>(),
    keys: new Map<string, string>(),
    templates: new Map<string, string>(),
  }
  const meta = await readMeta(redis, signal)
  if (meta === undefined) return { values, revision: 0 }
  // What another version wrote is replaced as a whole.
  if (meta.schema !== SCHEMA) return { values, revision: meta.revision }
  for await (const fields of scanFields(redis, signal))
    for (const { kind, name, text } of fields) values[kind].set(name, text)
  return { values, revision: meta.revision, mark: meta.mark }
}

interface Write {
  readonly script: Script['run']
  readonly redis: RedisConnection
  readonly epoch: number
  readonly last: Published
  readonly published: Published
}

/** Publishes the difference; answers false where it is too large, or Redis does not hold what it was made from. */
async function writeChange({ script, epoch, last, published }: Write, signal: AbortSignal): Promise<boolean> {
  const changes = spell(changesBetween(last.values, published.values))
  if (last.mark === undefined || changes === undefined) return false
  const { mark, revision } = published
  const named = { schema: SCHEMA, epoch, mark, revision, after: last.mark }
  const request = { operation: 'change', ...named, changes, kept: DIRECTORY_CHANGES_KEPT_MAX }
  // The script answers in these words.
  const answer = (await script({ keys: [], request }, signal)) as WriteAnswer
  if (answer.kind === 'fenced') throw fenced(answer.epoch, epoch)
  return answer.kind === 'published'
}

/** What is to be written and taken away, as JSON; undefined where it is too large for one call. */
function spell(changes: readonly Change[]): string | undefined {
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
async function replaceAll({ script, redis, epoch, published }: Write, signal: AbortSignal): Promise<void> {
  const { values, mark = '', revision } = published
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, values[kind].size]))
  const request = { operation: 'replace', schema: SCHEMA, epoch, mark, revision, counts }
  const keys = KINDS.map((kind) => hashKey(kind, mark))
  for (let tries = 0; tries < DIRECTORY_LOADS_MAX; tries++) {
    for (const kind of KINDS) await stage(redis, { key: hashKey(kind, mark), values: values[kind] }, signal)
    // The script answers in these words.
    const answer = (await script({ keys, request }, signal)) as WriteAnswer
    switch (answer.kind) {
      case 'published':
        return
      case 'fenced':
        throw fenced(answer.epoch, epoch)
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

/** The limits, by account, that are not those published last. */
function changedLimits({ tenants }: DirectorySnapshot, before: Values, after: Values): ReadonlyMap<string, Limits> {
  const changed = new Map<string, Limits>()
  for (const { kind, name } of changesBetween(before, after)) {
    // The name is a tenant's id if it is the name of a tenant.
    const tenant = kind === 'tenants' ? tenants.get(name as TenantId) : undefined
    if (tenant === undefined) continue
    // Canonical JSON of equal limits is the same text, wherever it stands.
    const isSame = before.tenants.get(name)?.includes(`"limits":${canonicalJson(tenant.limits)}`) === true
    if (!isSame) changed.set(tenant.incarnation, tenant.limits)
  }
  return changed
}
