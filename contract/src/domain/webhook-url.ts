/** Checks the URLs of receivers without resolving names: addresses are checked when the receiver is called. Pure. */
import { addressClassOf, type Cidr, mayConnect } from '@platen/lib/address.ts'
import { WEBHOOK_URL_CHARS_MAX } from './limit.ts'

export interface WebhookPolicy {
  /** For closed networks. */
  readonly isHttpAllowed: boolean
  /** Non-public addresses that may be called. */
  readonly allowCidrs: readonly Cidr[]
}

/**
 * Why a URL may not be called, as the rest of a sentence that begins with its name; undefined if it may. Names of internal networks are
 * refused if no block of addresses is allowed: they lead nowhere else.
 */
export function webhookUrlFault(text: string, { isHttpAllowed, allowCidrs }: WebhookPolicy): string | undefined {
  if (text.length > WEBHOOK_URL_CHARS_MAX) return `must have at most ${WEBHOOK_URL_CHARS_MAX} characters`
  const url = URL.parse(text)
  const isSchemeAllowed = url?.protocol === 'https:' || (isHttpAllowed && url?.protocol === 'http:')
  if (url === null && HAS_LONG_PORT.test(text)) return PORTS
  if (url === null || !isSchemeAllowed) return isHttpAllowed ? 'must be an http or https URL' : 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (!isPortAllowed(url.port)) return PORTS
  const host = hostOf(url)
  if (host === '') return 'must name a host'
  const isAddress = addressClassOf(host) !== 'malformed'
  if (isAddress) return mayConnect(host, allowCidrs) ? undefined : NOT_PUBLIC
  return isInternalName(host) && allowCidrs.length === 0 ? NOT_PUBLIC : undefined
}

/** Naming the class of the address would tell a tenant about a network that is not theirs. */
const NOT_PUBLIC = 'must lead to a public address'

const PORTS = 'must use port 80, 443, or 1024 to 65535'
/** A port of five digits or more may be too high. */
const HAS_LONG_PORT = /^https?:\/\/[^/?#@]+:\d{5,}([/?#]|$)/i

/** In the form that resolvers and `addressClassOf` take: without the brackets of IPv6 and trailing dots. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
}

/** System services listen below 1024, and some would read a POST as a command. `URL` omits the default port of a scheme. */
function isPortAllowed(port: string): boolean {
  return port === '' || port === '80' || port === '443' || Number(port) >= 1024
}

/** Reserved for internal networks (RFC 6761, 6762, 8375, 9476; Kubernetes; clouds; routers). Clusters use `local`, too. */
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

/** Whether public resolvers cannot know a name from `hostOf`: it has one label, or is below an internal domain. */
export function isInternalName(name: string): boolean {
  return !name.includes('.') || INTERNAL_DOMAINS.some((domain) => name.endsWith(`.${domain}`))
}
