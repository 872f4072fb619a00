/**
 * Moves what was left to another time. Otherwise a test that runs later would find everything expired, and no test would still wait for
 * what was queued: the age of a render is read from its id.
 *
 * Ids are signed, and names are derived from them. Each is derived again as this version does it, but only after the same was done for
 * the time at which it was written, and gave what is there. So a version that derives them in another way still fails.
 */
import assert from 'node:assert/strict'
import { shardedKey } from '@platen/adapters/s3/shard.ts'
import { type EventKey, eventIdOf, eventOf } from '@platen/contract/event.ts'
import { type Day, decodeExpiry, EXPIRY_PREFIX, expiryObjectOf } from '@platen/contract/expiry.ts'
import { MANIFEST_PREFIX, type Manifest, monthOf } from '@platen/contract/render.ts'
import {
  type IdScope,
  issuedAt,
  type KeyRing,
  mintRenderId,
  type RenderId,
  renderIdBytes,
  renderUuid,
  verifyRenderId,
} from '@platen/contract/render-id.ts'
import type { LeftCluster, LeftEmbedded } from './left.ts'

/** Keys of the service that left it. */
export interface Keys {
  readonly ids: KeyRing
  readonly events: EventKey
}

/** A name that begins with a time: a render id in either spelling, or the id of an event. In S3 its shard is before it. */
const TIMED =
  /\b(?:[0-9a-f]{2}\/)?(?:[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b/g
/** The beginning of a record or manifest, in a text of any depth. */
const RENDER = /\bid\W+(\w{26})\W+tenant\W+\w+\W+account\W+(\w{32})\W+environment\W+(live|test)\b/g
const ENDED = ':ended:'
/** Characters of an id in the name of a set of ended renders. */
const ENDED_CHARS = 5
/** Characters of an id before those by which it is listed among the charged renders. */
const CHARGED_AT = 13

/** Moves all times, also those in ids, and charges to this month. */
export function moved<L extends LeftEmbedded | LeftCluster>(left: L, by: number, keys: Keys): L {
  assert.deepEqual(renamed(left), left)
  const text = JSON.stringify(left)
  const ids = movedIds(text, by, keys.ids)
  const names = movedNames(left, { ids, by, key: keys.events })
  const withIds = text.replace(TIMED, (name) => {
    const to = names.get(name)
    assert(to !== undefined, `nothing tells what ${name} is`)
    return to
  })
  const withCharges = [...ids].reduce(
    (all, [id, to]) => all.replaceAll(`${id.slice(CHARGED_AT)},`, `${to.slice(CHARGED_AT)},`),
    withIds,
  )
  const withTimes = withCharges
    .replace(/\b179\d{10}\b/g, (ms) => String(Number(ms) + by))
    .replace(/\b2026-1[12]-\d\d\b/g, (day) => new Date(Date.parse(day) + by).toISOString().slice(0, day.length))
    .replace(/\b2026-11\b(?!-)/g, monthOf(Date.now()))
  return renamed(JSON.parse(withTimes) as L)
}

function movedIds(text: string, by: number, keys: KeyRing): ReadonlyMap<RenderId, RenderId> {
  const renders = [...text.matchAll(RENDER)].map(([, id = '', incarnation = '', environment]) => {
    const scope = { incarnation, environment: environment as IdScope['environment'] }
    const issued = verifyRenderId(id, scope, keys)
    assert(issued !== undefined, `${id} was issued with another key`)
    const random = renderIdBytes(issued).subarray(6)
    return [issued, mintRenderId(scope, keys, { now: issuedAt(issued) + by, random })] as const
  })
  return new Map(renders)
}

interface Move {
  readonly ids: ReadonlyMap<RenderId, RenderId>
  readonly by: number
  readonly key: EventKey
}

/** All names that begin with a time, with the shards that they may have. */
function movedNames(left: LeftEmbedded | LeftCluster, { ids, by, key }: Move): ReadonlyMap<string, string> {
  const stored = Object.entries({ ...left.files, ...('objects' in left ? left.objects : {}) })
  const events = stored
    .filter(([name]) => name.includes(MANIFEST_PREFIX))
    .map(([, text]) => {
      const manifest = JSON.parse(text) as Manifest
      return [eventId(manifest, key), eventId(movedManifest(manifest, ids, by), key)] as const
    })
  const renders = [...ids].flatMap(([id, to]) => [[id, to] as const, [renderUuid(id), renderUuid(to)] as const])
  const names = [...renders, ...events].flatMap(([name, to]) => [
    [name, to] as const,
    [shardedKey(name, 0), shardedKey(to, 0)] as const,
  ])
  return new Map<string, string>(names)
}

function movedManifest(manifest: Manifest, ids: Move['ids'], by: number): Manifest {
  const { render, outcome } = manifest
  const id = ids.get(render.id) ?? render.id
  return { ...manifest, render: { ...render, id }, outcome: { ...outcome, finishedAt: outcome.finishedAt + by } }
}

/** The id that a version gives the event which stores it in the manifest; before that, it had the time of the end. */
function eventId(manifest: Manifest, key: EventKey): string {
  return manifest.eventId === undefined ? eventOf(manifest, key).id : eventIdOf(manifest, key)
}

/** Renames what is named by all the ids in it. */
function renamed<L extends LeftEmbedded | LeftCluster>(left: L): L {
  if (!('redis' in left)) return left
  return { ...left, objects: renamedObjects(left.objects), redis: renamedSets(left.redis) }
}

/** Parts of the expiry index are named by their content. */
function renamedObjects(objects: LeftCluster['objects']): LeftCluster['objects'] {
  const named = Object.entries(objects).map(([key, text]): [string, string] => {
    if (!key.startsWith(EXPIRY_PREFIX)) return [key, text]
    const day = key.slice(EXPIRY_PREFIX.length).split('/')[0] as Day
    return [expiryObjectOf(day, decodeExpiry(Buffer.from(text))).key, text]
  })
  return Object.fromEntries(named)
}

/** Sets of renders that ended without a charge are named by how their ids begin, which moved ids may do differently. */
function renamedSets(redis: LeftCluster['redis']): LeftCluster['redis'] {
  const named = Object.entries(redis).flatMap(([key, value]): [string, LeftCluster['redis'][string]][] => {
    const [account, beginning] = key.split(ENDED)
    if (beginning === undefined || !Array.isArray(value)) return [[key, value]]
    const sets = Object.groupBy(value.map(String), (id) => account + ENDED + id.slice(0, ENDED_CHARS))
    return Object.entries(sets).map(([name, ids = []]) => [name, ids])
  })
  return Object.fromEntries(named)
}
