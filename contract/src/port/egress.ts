/** The one way out: files that templates show, from the hosts they list. */

/** What a host gave. */
export interface FetchedFile {
  readonly bytes: Uint8Array
  /** The media type it said, in small letters and without parameters; '' where it said none. */
  readonly type: string
}

/**
 * Fetches by GET over HTTP and HTTPS, in `EGRESS_MS_MAX` at most, whatever has at least one byte and at most `EGRESS_BYTES_MAX`.
 * It keeps nothing, sends no cookie, no referrer and nothing of its caller, and follows redirects, each judged like the first
 * address, within the same time.
 *
 * A connection goes only to an address that is public or that the operator allows (see `mayConnect`): a name is resolved once, is
 * refused where any of its addresses is not such a one, and what is connected to is looked at again before a byte is sent.
 */
export interface Egress {
  /**
   * The file at `url`, which must be one that `egressUrl` gives for these hosts. When `signal` aborts, rejects at once with its
   * reason and closes the connection. Throws `ServiceError` with `asset_unavailable` for everything else that goes wrong; its
   * message names the host and what it did, and no path and no query.
   */
  get(url: string, allowedHosts: readonly string[], signal: AbortSignal): Promise<FetchedFile>
}
