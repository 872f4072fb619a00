/**
 * Decides which internet addresses this service may connect to on behalf of a tenant. Pure.
 * An address is public when no registry of special-purpose addresses lists it (IANA, RFC 6890 and later). IPv6 must also be allocated as
 * unicast. An address that embeds another one (NAT64, 6to4, Teredo) is never public: the network decides where it leads, not the number.
 */

/** What an address is for. Every class but `public` leads to a private network or to nowhere. */
export type AddressClass =
  | 'public'
  /** Cloud metadata services, which hand out a machine's secrets. */
  | 'metadata'
  /** IPv6 that embeds an IPv4 address. */
  | 'transition'
  | 'loopback'
  | 'private'
  | 'link-local'
  /** Carrier-grade NAT of a provider. */
  | 'carrier'
  | 'benchmark'
  | 'documentation'
  | 'multicast'
  | 'unspecified'
  | 'reserved'
  /** Not an address, or a spelling that parsers read differently. */
  | 'malformed'

/** A block of addresses. */
export interface Cidr {
  readonly bits: 32 | 128
  /** The first address. */
  readonly value: bigint
  readonly prefix: number
}

type Address = Omit<Cidr, 'prefix'>

/** The class of an address in its usual spelling, as resolvers and sockets give it. IPv4 is four decimal numbers, IPv6 has no zone. */
export function addressClassOf(text: string): AddressClass {
  const address = parseAddress(text)
  if (address === undefined) return 'malformed'
  const found = RANGES.find(([cidr]) => contains(cidr, address))?.[1]
  if (found === 'transition' && innerIpv4(address).some(isMetadata)) return 'metadata'
  // IPv6 outside of the allocated unicast space belongs to nobody.
  return found ?? (address.bits === 32 || contains(GLOBAL_UNICAST, address) ? 'public' : 'reserved')
}

/**
 * Whether a connection may go to this address: it is public, or in one of the allowed blocks. Metadata addresses are never allowed.
 * Transition addresses neither, because the IPv4 address in them has a spelling of its own.
 */
export function mayConnect(text: string, allowed: readonly Cidr[]): boolean {
  const kind = addressClassOf(text)
  if (kind === 'public') return true
  if (kind === 'metadata' || kind === 'transition') return false
  const address = parseAddress(text)
  return address !== undefined && allowed.some((cidr) => contains(cidr, address))
}

/**
 * The network of one party, as a name: an IPv4 address itself, or the 64-bit prefix that an IPv6 site gets. Returns `text` if it is no
 * address.
 */
export function networkOf(text: string): string {
  const plain = text.replace(/^::ffff:(?=[\d.]+$)/i, '')
  const address = parseAddress(plain)
  return address?.bits === 128 ? `${(address.value >> 64n).toString(16)}/64` : plain
}

/** Parses a block such as `10.0.0.0/8` or `fd00::/8`. Undefined for anything else, and if bits are set after the prefix. */
export function parseCidr(text: string): Cidr | undefined {
  const [, start = '', length] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  const address = parseAddress(start)
  const prefix = Number(length)
  if (address === undefined || prefix > address.bits) return undefined
  const cidr = { ...address, prefix }
  return blockOf(cidr, cidr) << shiftOf(cidr) === cidr.value ? cidr : undefined
}

/** Parses a comma-separated list of blocks. Undefined if one of them is invalid. */
export function parseCidrs(text: string): readonly Cidr[] | undefined {
  const cidrs = text.split(',').map((part) => parseCidr(part.trim()))
  const sound = cidrs.filter((cidr) => cidr !== undefined)
  return sound.length === cidrs.length ? sound : undefined
}

/** Parses the blocks of compiled settings. An invalid one allows nothing. */
export function cidrsOf(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? [])
}

function contains(cidr: Cidr, address: Address): boolean {
  return address.bits === cidr.bits && blockOf(cidr, address) === blockOf(cidr, cidr)
}

function blockOf(cidr: Cidr, { value }: Address): bigint {
  return value >> shiftOf(cidr)
}

function shiftOf({ bits, prefix }: Cidr): bigint {
  return BigInt(bits - prefix)
}

function parseAddress(text: string): Address | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text)
}

function parseIpv4(text: string): Address | undefined {
  // Some parsers read a leading zero as octal, others as decimal.
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(text)
  const parts = match?.slice(1).map(Number)
  if (parts === undefined || parts.some((part) => part > 255)) return undefined
  return { bits: 32, value: joined(parts, 8n) }
}

/** RFC 4291, section 2.2. */
function parseIpv6(text: string): Address | undefined {
  const [, front = text, last] = /^(.*:)([\d.]+\.[\d.]+)$/.exec(text) ?? []
  const inner = last === undefined ? undefined : parseIpv4(last)
  if (last !== undefined && inner === undefined) return undefined
  const spelled =
    inner === undefined ? front : `${front}${(inner.value >> 16n).toString(16)}:${(inner.value & 0xffffn).toString(16)}`
  const [head, tail, ...more] = spelled.split('::').map(groupsOf)
  if (head === undefined || more.length > 0) return undefined
  const missing = 8 - head.length - (tail?.length ?? 0)
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  const groups = [...head, ...Array<number>(missing).fill(0), ...(tail ?? [])]
  return groups.some(Number.isNaN) ? undefined : { bits: 128, value: joined(groups, 16n) }
}

function groupsOf(part: string): number[] {
  if (part === '') return []
  return part.split(':').map((group) => (/^[0-9a-f]{1,4}$/i.test(group) ? Number.parseInt(group, 16) : Number.NaN))
}

function joined(parts: readonly number[], width: bigint): bigint {
  return parts.reduce((value, part) => (value << width) | BigInt(part), 0n)
}

/** Every IPv4 address that the IPv6 address may embed. Its position depends on the embedding (RFC 4291, 6052, 3056, 4380). */
function innerIpv4({ value }: Address): readonly Address[] {
  const low = value & 0xffff_ffffn
  const behind48 = ((value >> 48n) & 0xffff_0000n) | ((value >> 40n) & 0xffffn)
  const values = [low, low ^ 0xffff_ffffn, (value >> 80n) & 0xffff_ffffn, behind48 & 0xffff_ffffn]
  return values.map((inner) => ({ bits: 32, value: inner }))
}

function isMetadata(address: Address): boolean {
  return RANGES.some(([cidr, kind]) => kind === 'metadata' && contains(cidr, address))
}

/** The first match decides. */
const RANGES: readonly (readonly [Cidr, AddressClass])[] = (
  [
    // AWS, Google Cloud, Azure, OpenStack and most others; ECS and EKS; Tencent; Alibaba; Oracle; one that only Azure has.
    ['169.254.169.254/32', 'metadata'],
    ['169.254.170.2/32', 'metadata'],
    ['169.254.170.23/32', 'metadata'],
    ['169.254.0.23/32', 'metadata'],
    ['100.100.100.200/32', 'metadata'],
    ['192.0.0.192/32', 'metadata'],
    ['168.63.129.16/32', 'metadata'],
    ['fd00:ec2::254/128', 'metadata'],
    ['fd00:ec2::23/128', 'metadata'],
    ['fd20:ce::254/128', 'metadata'],

    // RFC 791, 1918, 6598, 1122, 3927, 6890, 5737, 7526, 2544, 1112, 919.
    ['0.0.0.0/8', 'unspecified'],
    ['10.0.0.0/8', 'private'],
    ['100.64.0.0/10', 'carrier'],
    ['127.0.0.0/8', 'loopback'],
    ['169.254.0.0/16', 'link-local'],
    ['172.16.0.0/12', 'private'],
    ['192.0.0.0/24', 'reserved'],
    ['192.0.2.0/24', 'documentation'],
    ['192.88.99.0/24', 'reserved'],
    ['192.168.0.0/16', 'private'],
    ['198.18.0.0/15', 'benchmark'],
    ['198.51.100.0/24', 'documentation'],
    ['203.0.113.0/24', 'documentation'],
    ['224.0.0.0/4', 'multicast'],
    ['240.0.0.0/4', 'reserved'],

    // RFC 4291, 2765, 6052, 8215, 6666, 2928 with Teredo (4380), benchmarks (5180) and ORCHID (4843, 7343), 3849, 3056, 9637, 9602, 4193,
    // 3879.
    ['::/128', 'unspecified'],
    ['::1/128', 'loopback'],
    ['::/96', 'transition'],
    ['::ffff:0:0/96', 'transition'],
    ['::ffff:0:0:0/96', 'transition'],
    ['64:ff9b::/96', 'transition'],
    ['64:ff9b:1::/48', 'transition'],
    ['100::/64', 'reserved'],
    ['2001::/32', 'transition'],
    ['2001:2::/48', 'benchmark'],
    ['2001:db8::/32', 'documentation'],
    ['2001::/23', 'reserved'],
    ['2002::/16', 'transition'],
    ['3fff::/20', 'documentation'],
    ['5f00::/16', 'reserved'],
    ['fc00::/7', 'private'],
    ['fe80::/10', 'link-local'],
    ['fec0::/10', 'private'],
    ['ff00::/8', 'multicast'],
  ] as const
).map(([text, kind]) => [requireCidr(text), kind])

/** RFC 3513: all unicast space that IANA has begun to allocate. */
const GLOBAL_UNICAST = requireCidr('2000::/3')

function requireCidr(text: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new Error(`${text} is no block of addresses`)
  return cidr
}
