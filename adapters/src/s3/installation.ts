/**
 * Checks at start that the store can use this S3: the bucket exists, the credentials work, no other installation owns the prefix, and S3
 * refuses the second of two creators.
 */
import assert from 'node:assert/strict'
import type { ArtifactAddress } from '@platen/contract/domain/render.ts'
import { type ArtifactStore, ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { codeOf, nameOf, statusOf } from './connect.ts'
import { isKeyPrefix, type S3Namespace } from './namespace.ts'

/** Begins with a dot, unlike the name of any artifact. */
const MARKER = '.installation'
/** The marker may be a foreign object, so what is shown of its content is limited. */
const NAME_CHARS_SHOWN_MAX = 200

/** Stores answer this to an unknown header. Unlike other 5xx errors, it is permanent. */
const NOT_IMPLEMENTED = 501

type Objects = Pick<ArtifactStore, 'create' | 'get'>

/** Safe to repeat. Throws `ArtifactStoreUnfit`, or `Unavailable` if S3 does not answer. */
export async function claimPrefix(
  objects: Objects,
  { bucket, prefix, installation }: S3Namespace,
  signal: AbortSignal,
): Promise<void> {
  assert(isKeyPrefix(prefix), 'a prefix is empty or ends in a slash')
  const marker = { bucket, key: prefix + MARKER }
  const name = new TextEncoder().encode(installation)
  const owner = () => read(objects, marker, signal)
  try {
    // Reads first: where If-None-Match is ignored, creating would overwrite the owner's marker.
    if ((await owner()) === undefined) await objects.create(marker, name, signal)
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
  } catch (error) {
    throw asUnfit(error, bucket)
  }
}

async function read(objects: Objects, marker: ArtifactAddress, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await objects.get(marker, signal)
  return bytes && new TextDecoder().decode(bytes)
}

/** S3 will also refuse later what it refuses at start, so that is `ArtifactStoreUnfit`. After no response, a retry may succeed. */
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
