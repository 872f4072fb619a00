import type { ArtifactAddress } from './render.ts'

/** Longest bucket or key, in characters: the limit of S3 keys, and what every file system's path takes. */
export const ARTIFACT_PATH_CHARS_MAX = 1024

/** Longest part between two slashes, in characters: what file systems allow in a name. */
export const ARTIFACT_NAME_CHARS_MAX = 255

const NAME = /^[A-Za-z0-9._-]+$/

/**
 * Is this an address every store can hold and none can be led astray by? The bucket is one name and the key is names joined by
 * slashes; a name has letters, digits, `.`, `_` and `-` and does not begin with a dot, so that `..` and hidden files cannot be spelled.
 */
export function isArtifactAddress({ bucket, key }: ArtifactAddress): boolean {
  return isName(bucket) && key.length <= ARTIFACT_PATH_CHARS_MAX && key.split('/').every(isName)
}

function isName(text: string): boolean {
  return text.length <= ARTIFACT_NAME_CHARS_MAX && !text.startsWith('.') && NAME.test(text)
}
