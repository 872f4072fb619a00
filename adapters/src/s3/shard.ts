/**
 * Where an object stands in S3. A store splits keys among its partitions by how they begin, and one partition takes some 3,500 writes
 * a second. Ids of renders and of events begin with the time, so all that is written at one moment would fall to one partition. So a
 * key has a shard, made of the id, before its first name that is such an id: `manifest/3f/<id>.json` and not `manifest/<id>.json`.
 *
 * The shard stands behind the folder and not before it: rules of the bucket and rights that go by `manifest/` or a tenant's prefix hold
 * as before, a folder is still listed by one prefix, and so is a render.
 *
 * An id that was issued before the installation had shards has none. The id alone says which, so an object has one place and is looked
 * for there: no read asks twice, and two processes that create the same object meet. Pure.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { sha256 } from '@platen/contract/canonical-json.ts'
import { issuedAt, type RenderId } from '@platen/contract/render-id.ts'

/** 256 shards: a store may split them among as many partitions. */
const SHARD_CHARS = 2

/** A name that begins with the time: a render id, or the UUIDv7 of an event; manifests have an ending. */
const TIME_ORDERED =
  /^(?:(?<ulid>[0-7][0-9A-HJKMNP-TV-Z]{25})|(?<uuid>(?<high>[0-9a-f]{8})-(?<low>[0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}))(?:\.json)?$/

/** The key, or the prefix that ends in a slash, under which S3 has what the service calls `key`, if ids have shards since `since`. */
export function shardedKey(key: string, since: Instant): string {
  const names = key.split('/')
  const at = names.findIndex((name) => TIME_ORDERED.test(name))
  const shard = shardOf(names[at] ?? '', since)
  return shard === undefined ? key : names.toSpliced(at, 0, shard).join('/')
}

/** What the service calls the object that S3 has under `stored`; undefined where the service would look for that elsewhere, and so has not written it. */
export function plainKey(stored: string, since: Instant): string | undefined {
  const names = stored.split('/')
  const at = names.findIndex((name) => TIME_ORDERED.test(name))
  const shard = shardOf(names[at] ?? '', since)
  if (shard === undefined) return stored
  return names[at - 1] === shard ? names.toSpliced(at - 1, 1).join('/') : undefined
}

function shardOf(name: string, since: Instant): string | undefined {
  const { ulid, uuid, high = '', low = '' } = TIME_ORDERED.exec(name)?.groups ?? {}
  const id = ulid ?? uuid
  if (id === undefined) return undefined
  // It has the form of one, and nothing more is asked of it here.
  const at = ulid === undefined ? Number.parseInt(high + low, 16) : issuedAt(ulid as RenderId)
  return at < since ? undefined : sha256(id).slice(0, SHARD_CHARS)
}
