/**
 * Maps keys of the service to keys in S3. A store partitions keys by how they begin, and one partition handles about 3,500 writes a second.
 * Ids of renders and events begin with the time. Everything written at the same time would be in one partition. So a shard, derived from
 * the id, is inserted before the first name that is such an id: `manifest/3f/<id>.json` instead of `manifest/<id>.json`.
 *
 * The shard comes after the folder, not before it. So bucket rules and permissions for `manifest/` or for a tenant's prefix still work.
 * A folder is still listed by one prefix, and so is a render.
 *
 * Ids that were issued before the installation had shards have none. The id alone determines that. So an object has one key: a read
 * never tries two keys, and two processes that create the same object collide. Pure.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { sha256 } from '@platen/contract/canonical-json.ts'
import { issuedAt, type RenderId } from '@platen/contract/render-id.ts'

/** 256 shards: a store can spread them over as many partitions. */
const SHARD_CHARS = 2

/** A name that begins with the time: a render id, or the UUIDv7 of an event. Manifests have a file extension. */
const TIME_ORDERED =
  /^(?:(?<ulid>[0-7][0-9A-HJKMNP-TV-Z]{25})|(?<uuid>(?<high>[0-9a-f]{8})-(?<low>[0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}))(?:\.json)?$/

/** Returns the S3 key of `key`, or of a prefix that ends in a slash, if ids have shards since `since`. */
export function shardedKey(key: string, since: Instant): string {
  const names = key.split('/')
  const at = names.findIndex((name) => TIME_ORDERED.test(name))
  const shard = shardOf(names[at] ?? '', since)
  return shard === undefined ? key : names.toSpliced(at, 0, shard).join('/')
}

/** Returns the service's key of an S3 key; undefined if the service would use another S3 key for it, so did not write this one. */
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
  // It has the form of a render id. Its signature is not checked here.
  const at = ulid === undefined ? Number.parseInt(high + low, 16) : issuedAt(ulid as RenderId)
  return at < since ? undefined : sha256(id).slice(0, SHARD_CHARS)
}
