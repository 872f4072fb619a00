/** Which URLs a receiver may have. What a name leads to is looked at when it is called; here is what can be said before. Pure. */
import { addressClassOf, type Cidr, mayConnect } from './address.ts'
import { WEBHOOK_URL_CHARS_MAX } from './webhook-limit.ts'

export interface WebhookPolicy {
  /** Is `http:` taken, as a closed network may want? */
  readonly isHttpAllowed: boolean
  /** Blocks of addresses that are called though they are not public. */
  readonly allowCidrs: readonly Cidr[]
}

/**
 * Why a URL is not called, as the rest of a sentence that begins with its name; undefined where nothing can be said against it.
 * Names of an inner network are refused where no block of addresses is allowed: they lead nowhere else.
 */
export function webhookUrlFault(text: string, { isHttpAllowed, allowCidrs }: WebhookPolicy): string | undefined {
  if (text.length > WEBHOOK_URL_CHARS_MAX) return `must have at most ${WEBHOOK_URL_CHARS_MAX} characters`
  const url = URL.parse(text)
  const isSchemeAllowed = url?.protocol === 'https:' || (isHttpAllowed && url?.protocol === 'http:')
  if (url === null || !isSchemeAllowed) return isHttpAllowed ? 'must be an http or https URL' : 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password'
  if (!isPortAllowed(url.port)) return 'must name port 80, 443 or one from 1024'
  const host = hostOf(url)
  if (host === '') return 'must name a host'
  const isAddress = addressClassOf(host) !== 'malformed'
  if (isAddress) return mayConnect(host, allowCidrs) ? undefined : NOT_PUBLIC
  return isInternalName(host) && allowCidrs.length === 0 ? NOT_PUBLIC : undefined
}

/** Which class the address is of would tell a tenant about a network that is none of theirs. */
export const NOT_PUBLIC = 'must lead to a public address'

/** The host of a URL as resolvers and `addressClassOf` take it: without the brackets of IPv6 and dots at the end. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
}

/** Services of the system speak below 1024, and some would take a POST for a command. `URL` leaves out a scheme's own port. */
function isPortAllowed(port: string): boolean {
  return port === '' || port === '80' || port === '443' || Number(port) >= 1024
}

/** Domains kept for inner networks (RFC 6761, 6762, 8375, 9476; Kubernetes; clouds; routers). `local` is that of clusters, too. */
const INTERNAL_DOMAINS = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'svc',
  'home.arpa',
  'lan',
  'intranet',
  'corp',
  'home',
  'private',
]

/** Is this a name, as `hostOf` gives it, that public resolvers do not know: of one label, or below a domain of inner networks? */
export function isInternalName(name: string): boolean {
  return !name.includes('.') || INTERNAL_DOMAINS.some((domain) => name.endsWith(`.${domain}`))
}
