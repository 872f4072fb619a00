/**
 * Maps keys of the service to keys in S3. A store partitions keys by how they begin, and one partition handles about 3,500 writes a second.
 * Ids of renders and events begin with the time, so everything written at the same time would be in one partition. So a shard, derived from
 * the id, is inserted before the first name that is such an id: `manifest/3f/<id>.json` instead of `manifest/<id>.json`.
 *
 * The shard comes after the folder, so that bucket rules and permissions for `manifest/` or for a tenant's prefix still work. A folder is
 * still listed by one prefix, and so is a render.
 *
 * The id alone determines the shard. So an object has one key, and two processes that create the same object collide.
 */
import { sha256 } from '@platen/lib/canonical-json.ts'

/** 256 shards: a store can spread them over as many partitions. */
const SHARD_CHARS = 2

/** A name that begins with the time: a render id, or the UUIDv7 of an event. Manifests have a file extension. */
const TIME_ORDERED =
  /^(?<id>[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})(?:\.json)?$/

/** `key` may be a prefix that ends in a slash. */
export function shardedKey(key: string): string {
  const names = key.split('/')
  const at = names.findIndex((name) => TIME_ORDERED.test(name))
  const shard = shardOf(names[at] ?? '')
  return shard === undefined ? key : names.toSpliced(at, 0, shard).join('/')
}

/** Returns undefined if the service would use another S3 key, so did not write this one. */
export function plainKey(stored: string): string | undefined {
  const names = stored.split('/')
  const at = names.findIndex((name) => TIME_ORDERED.test(name))
  const shard = shardOf(names[at] ?? '')
  if (shard === undefined) return stored
  return names[at - 1] === shard ? names.toSpliced(at - 1, 1).join('/') : undefined
}

function shardOf(name: string): string | undefined {
  const id = TIME_ORDERED.exec(name)?.groups?.['id']
  return id && sha256(id).slice(0, SHARD_CHARS)
}
