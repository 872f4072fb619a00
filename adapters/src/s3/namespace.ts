/** Where in S3 an installation lives. */

/** What an installation calls its own. */
export interface S3Namespace {
  /** The service's own bucket; tenants may have theirs. */
  readonly bucket: string
  /** Before every key, in every bucket: empty, or names that each end in a slash. It counts in the length of a key. */
  readonly prefix: string
  /** Which installation this is, the same for all its processes and for no other. */
  readonly installation: string
}

const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/

/** Can this stand before every key? No artifact's name begins with a dot. */
export function isKeyPrefix(text: string): boolean {
  return PREFIX.test(text)
}
