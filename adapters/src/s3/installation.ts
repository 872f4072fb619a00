/**
 * Checks at start that the store can use this S3: the bucket exists, the credentials work, no other installation owns the prefix, and of
 * two creators one is refused. Also determines since when ids have shards; all processes agree on that once.
 */
import assert from 'node:assert/strict'
import type { Instant } from '@platen/contract/brand.ts'
import { INSTANT_FORMAT, parseInstant } from '@platen/contract/instant.ts'
import { type ArtifactStore, ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { ArtifactAddress } from '@platen/contract/render.ts'
import { codeOf, nameOf, statusOf } from './connect.ts'
import { isKeyPrefix, type S3Namespace } from './namespace.ts'

/** Begins with a dot, as no artifact's name does. */
const MARKER = '.installation'
const SHARDED_SINCE = '.sharded-since'
/**
 * How long an installation without shards continues without them. Older processes do not know shards: until they have stopped, all
 * processes must write where all of them read.
 */
export const SHARDED_AFTER_MS = 24 * 3600 * 1000
/** The marker may be a foreign object, so its content is shortened. */
const NAME_CHARS_SHOWN_MAX = 200

/** The status of stores that do not know a header. Unlike other 5xx errors, this one is permanent. */
const NOT_IMPLEMENTED = 501

type Objects = Pick<ArtifactStore, 'create' | 'get'>

/**
 * Claims the prefix for this installation. Safe to repeat. Returns the instant since which its ids have shards, the same for all its
 * processes. Throws `ArtifactStoreUnfit`, or `Unavailable` if S3 does not answer.
 */
export async function claimPrefix(
  objects: Objects,
  {
    namespace: { bucket, prefix, installation },
    clock,
  }: { readonly namespace: S3Namespace; readonly clock: Pick<Clock, 'now'> },
  signal: AbortSignal,
): Promise<Instant> {
  assert(isKeyPrefix(prefix), 'a prefix is empty or ends in a slash')
  const marker = { bucket, key: prefix + MARKER }
  const sinceMarker = { bucket, key: prefix + SHARDED_SINCE }
  const name = bytesOf(installation)
  const owner = () => read(objects, marker, signal)
  try {
    // Reads first: where If-None-Match is ignored, creating would overwrite the owner's marker.
    if ((await owner()) === undefined) {
      // Before the name: a process that finds the prefix claimed then also finds that it had shards from the beginning.
      await objects.create(sinceMarker, instantBytes(0), signal)
      await objects.create(marker, name, signal)
    }
    const found = await owner()
    if (found !== installation) {
      const location = prefix === '' ? `the bucket ${bucket}` : `${prefix} in the bucket ${bucket}`
      throw new ArtifactStoreUnfit(
        `${location} belongs to another installation: ${found?.slice(0, NAME_CHARS_SHOWN_MAX)}`,
      )
    }
    if (await objects.create(marker, name, signal)) {
      throw new ArtifactStoreUnfit(
        'this S3 ignores If-None-Match: two processes could both believe that they created the same object',
      )
    }
    return await shardedSince(objects, sinceMarker, { otherwise: clock.now() + SHARDED_AFTER_MS, signal })
  } catch (error) {
    throw asUnfit(error, bucket)
  }
}

/** Returns since when ids have shards. The first process that asks writes it down. */
async function shardedSince(
  objects: Objects,
  marker: ArtifactAddress,
  { otherwise, signal }: { readonly otherwise: Instant; readonly signal: AbortSignal },
): Promise<Instant> {
  let text = await read(objects, marker, signal)
  if (text === undefined) {
    await objects.create(marker, instantBytes(otherwise), signal)
    text = await read(objects, marker, signal)
  }
  const since = parseInstant(text ?? '')
  if (since === undefined)
    throw new ArtifactStoreUnfit(`${marker.key} in the bucket ${marker.bucket} is not ${INSTANT_FORMAT}`)
  return since
}

async function read(objects: Objects, marker: ArtifactAddress, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await objects.get(marker, signal)
  return bytes && new TextDecoder().decode(bytes)
}

function instantBytes(instant: Instant): Uint8Array {
  return bytesOf(new Date(instant).toISOString())
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** S3 will refuse later what it refuses at start, so that is `ArtifactStoreUnfit`. After no response, a retry may succeed. */
function asUnfit(error: unknown, bucket: string): unknown {
  if (!(error instanceof Unavailable)) return error
  const { cause } = error
  const status = statusOf(cause)
  if (status === undefined || status === 429 || (status >= 500 && status !== NOT_IMPLEMENTED)) return error
  const refusal =
    nameOf(cause) === 'NoSuchBucket'
      ? `there is no bucket ${bucket}`
      : `S3 refuses these credentials, or they have no access to the bucket ${bucket}`
  return new ArtifactStoreUnfit(`${refusal}: ${codeOf(cause)}`, { cause })
}
