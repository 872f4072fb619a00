/**
 * Whether the store can stand on an S3, found out at start: the bucket is there, the credentials are good, no other installation has
 * the prefix, and of two creators one is refused. And since when its ids have shards, which is agreed on once.
 */
import assert from 'node:assert/strict'
import type { Instant } from '@platen/contract/brand.ts'
import { INSTANT_FORMAT, parseInstant } from '@platen/contract/instant.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { ArtifactAddress } from '@platen/contract/render.ts'
import { codeOf, nameOf, statusOf } from './connect.ts'
import { isKeyPrefix, type S3Namespace } from './namespace.ts'

/** The S3 can be reached and is not one the store can stand on; the message says what the operator has to mend. */
export class S3Unfit extends Error {
  override readonly name = 'S3Unfit'
}

/** No artifact's name begins with a dot. */
const MARKER = '.installation'
const SHARDED_SINCE = '.sharded-since'
/**
 * How long an installation that had no shards goes on without them. Processes from before know of none: until they are gone, all have
 * to write where all look.
 */
const SHARDED_AFTER_MS = 24 * 3600 * 1000
/** What stands in the marker may be somebody else's object. */
const NAME_CHARS_SHOWN_MAX = 200

/** What a store says that has never heard of a header; of the 500s the one that does not pass. */
const NOT_IMPLEMENTED = 501

type Objects = Pick<ArtifactStore, 'create' | 'get'>

/**
 * Takes the prefix for this installation; again and again is fine. Gives the instant since which its ids have shards, the same to all
 * its processes. Throws `S3Unfit`, or `Unavailable` where nobody answers.
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
    // Read first: where If-None-Match is ignored, creating would take the prefix away from its owner.
    if ((await owner()) === undefined) {
      // Before the name: whoever finds the prefix taken finds that it has had shards from the beginning.
      await objects.create(sinceMarker, instantBytes(0), signal)
      await objects.create(marker, name, signal)
    }
    const found = await owner()
    if (found !== installation) {
      const location = prefix === '' ? `the bucket ${bucket}` : `${prefix} in the bucket ${bucket}`
      throw new S3Unfit(`${location} belongs to another installation: ${found?.slice(0, NAME_CHARS_SHOWN_MAX)}`)
    }
    if (await objects.create(marker, name, signal)) {
      throw new S3Unfit(
        'this S3 ignores If-None-Match: two processes would both believe that they have created an object',
      )
    }
    return await shardedSince(objects, sinceMarker, { otherwise: clock.now() + SHARDED_AFTER_MS, signal })
  } catch (error) {
    throw asUnfit(error, bucket)
  }
}

/** Since when ids have shards, as the first process to ask has written it down. */
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
  if (since === undefined) throw new S3Unfit(`${marker.key} in the bucket ${marker.bucket} is not ${INSTANT_FORMAT}`)
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

/** What S3 refuses at start it will refuse later too; what did not answer may. */
function asUnfit(error: unknown, bucket: string): unknown {
  if (!(error instanceof Unavailable)) return error
  const { cause } = error
  const status = statusOf(cause)
  if (status === undefined || status === 429 || (status >= 500 && status !== NOT_IMPLEMENTED)) return error
  const refusal =
    nameOf(cause) === 'NoSuchBucket'
      ? `there is no bucket ${bucket}`
      : `S3 refuses these credentials, or what they ask of the bucket ${bucket}`
  return new S3Unfit(`${refusal}: ${codeOf(cause)}`, { cause })
}
