/**
 * Whether the store can stand on an S3, found out at start: the bucket is there, the credentials are good, no other installation has
 * the prefix, and of two creators one is refused.
 */
import assert from 'node:assert/strict'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { codeOf, nameOf, statusOf } from './connect.ts'
import { type Home, isPrefix } from './home.ts'

/** The S3 can be reached and is not one the store can stand on; the message says what the operator has to mend. */
export class S3Unfit extends Error {
  override readonly name = 'S3Unfit'
}

/** No artifact's name begins with a dot. */
const MARKER = '.installation'
/** What stands in the marker may be somebody else's object. */
const NAME_CHARS_SHOWN_MAX = 200

/** What a store says that has never heard of a header; of the 500s the one that does not pass. */
const NOT_IMPLEMENTED = 501

/** Takes the prefix for this installation; again and again is fine. Throws `S3Unfit`, or `Unavailable` where nobody answers. */
export async function claimPrefix(
  objects: Pick<ArtifactStore, 'create' | 'get'>,
  { bucket, prefix, installation }: Home,
  signal: AbortSignal,
): Promise<void> {
  assert(isPrefix(prefix), 'a prefix is empty or ends in a slash')
  const marker = { bucket, key: prefix + MARKER }
  const name = new TextEncoder().encode(installation)
  const owner = async () => {
    const bytes = await objects.get(marker, signal)
    return bytes && new TextDecoder().decode(bytes)
  }
  try {
    // Read first: where If-None-Match is ignored, creating would take the prefix away from its owner.
    if ((await owner()) === undefined) await objects.create(marker, name, signal)
    const found = await owner()
    if (found !== installation) {
      const place = prefix === '' ? `the bucket ${bucket}` : `${prefix} in the bucket ${bucket}`
      throw new S3Unfit(`${place} belongs to another installation: ${found?.slice(0, NAME_CHARS_SHOWN_MAX)}`)
    }
    if (await objects.create(marker, name, signal)) {
      throw new S3Unfit(
        'this S3 ignores If-None-Match: two processes would both believe that they have created an object',
      )
    }
  } catch (error) {
    throw asUnfit(error, bucket)
  }
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
