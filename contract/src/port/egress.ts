/** The only way out: fetches files that templates show, from the hosts they list. */

export interface FetchedFile {
  readonly bytes: Uint8Array
  /** Media type in lower case, without parameters; '' if the host sent none. */
  readonly type: string
}

/**
 * Fetches by GET over HTTP and HTTPS. A fetch takes at most `EGRESS_MS_MAX`, and a file has 1 to `EGRESS_BYTES_MAX` bytes. Caches nothing,
 * and sends no cookie, no referrer and nothing of its caller. Follows redirects within the same time, and checks each like the first
 * address.
 *
 * A connection goes only to an address that is public or that the operator allows (see `mayConnect`). A name is resolved once, and refused
 * if any of its addresses is neither. The connected address is checked again before a byte is sent.
 */
export interface Egress {
  /**
   * `url` must come from `egressUrl` for these hosts. When `signal` aborts, rejects at once with its reason and closes the connection.
   * Throws `ServiceError` with `asset_unavailable` for everything else that goes wrong; the message names the host and what it did, but no
   * path and no query.
   */
  get(url: string, allowedHosts: readonly string[], signal: AbortSignal): Promise<FetchedFile>
}
