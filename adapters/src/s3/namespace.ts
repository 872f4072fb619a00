/** The buckets and keys that belong to an installation. */
export interface S3Namespace {
  /** The service's own bucket. Tenants may have other ones. */
  readonly bucket: string
  /** Prefix of every key, in every bucket: empty, or names that each end in a slash. Counts towards the length of a key. */
  readonly prefix: string
  /** The name of the installation, the same for all its processes and for no other installation. */
  readonly installation: string
}

const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/

/** No artifact's name begins with a dot. */
export function isKeyPrefix(text: string): boolean {
  return PREFIX.test(text)
}
