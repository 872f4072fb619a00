import { ServiceError } from './error.ts'

/** What browsers and proxies commonly support. */
const EGRESS_URL_CHARS_MAX = 2048

/**
 * The URL without its fragment. Undefined if its host is not listed. Hosts are compared in the normal form of URLs: lower case, Punycode,
 * an address as four numbers, no dot at the end. Throws `asset_unavailable` if the host is listed but the URL cannot be fetched.
 */
export function egressUrl(text: string, allowedHosts: readonly string[]): URL | undefined {
  if (allowedHosts.length === 0 || !/^https?:/i.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || !allowedHosts.includes(url.hostname)) return undefined
  url.hash = ''
  if (url.href.length > EGRESS_URL_CHARS_MAX) {
    throw assetUnavailable(url, `the URL is longer than ${EGRESS_URL_CHARS_MAX} characters`)
  }
  // `URL` drops the default port of the scheme.
  if (url.port !== '')
    throw assetUnavailable(url, 'files are fetched only from port 443 for https and port 80 for http')
  if (url.username !== '' || url.password !== '')
    throw assetUnavailable(url, 'a URL with a user or a password is not fetched')
  return url
}

/** Names only the host: the rest of the URL may hold a secret. */
export function assetUnavailable({ hostname }: URL, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', `${hostname}: ${reason}`, { cause })
}
