/** Which URLs a template may fetch: those of the hosts it lists. Pure. */
import { ServiceError } from './error.ts'
import { EGRESS_URL_CHARS_MAX } from './limit.ts'

/**
 * The URL a template refers to, without its fragment; undefined where it is none of a host it lists, spelled as URLs are
 * normalised: in small letters, in Punycode, an address as four numbers, no dot at the end. Throws `asset_unavailable` where the host
 * is listed and the URL is one that is not fetched all the same.
 */
export function egressUrl(text: string, allowedHosts: readonly string[]): URL | undefined {
  if (allowedHosts.length === 0 || !/^https?:/i.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || !allowedHosts.includes(url.hostname)) return undefined
  url.hash = ''
  if (url.href.length > EGRESS_URL_CHARS_MAX) {
    throw assetUnavailable(url, `the URL is longer than ${EGRESS_URL_CHARS_MAX} characters`)
  }
  // `URL` drops the port that is the scheme's own.
  if (url.port !== '') throw assetUnavailable(url, 'only the ports 443 of https and 80 of http are fetched from')
  if (url.username !== '' || url.password !== '')
    throw assetUnavailable(url, 'a URL with a user or a password is not fetched')
  return url
}

/** How `asset_unavailable` is said of a host. What else the URL holds may be a secret. */
export function assetUnavailable({ hostname }: URL, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', `${hostname}: ${reason}`, { cause })
}
