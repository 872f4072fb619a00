/**
 * Decides which addresses this service may connect to on behalf of a tenant. Pure. An address is public when no registry of special-purpose
 * addresses lists it (IANA, RFC 6890 and later). IPv6 must also be allocated as unicast. An address that embeds another one (NAT64, 6to4,
 * Teredo) is never public: the network decides where it leads, not the number.
 */
import { BlockList, isIP } from 'node:net'

/** Every class but `public` leads to a private network or to nowhere. */
export type AddressClass =
  | 'public'
  /** Private or reserved: called only if allowed. */
  | 'special'
  /** Never called: a cloud's metadata service, which hands out a machine's secrets, or IPv6 that embeds an IPv4 address. */
  | 'forbidden'
  /** Not an address, or a spelling that parsers read differently. */
  | 'malformed'

type Family = 'ipv4' | 'ipv6'

export interface Cidr {
  readonly family: Family
  readonly start: string
  readonly prefix: number
}

/** Takes the usual spelling of resolvers and sockets: IPv4 is four decimal numbers, IPv6 has no zone. */
export function addressClassOf(text: string): AddressClass {
  const family = familyOf(text)
  if (family === undefined) return 'malformed'
  if (FORBIDDEN[family].check(text, family)) return 'forbidden'
  return SPECIAL[family].check(text, family) ? 'special' : 'public'
}

/** Whether the address is public, or is in one of the allowed blocks and not forbidden. */
export function mayConnect(text: string, allowed: readonly Cidr[]): boolean {
  const kind = addressClassOf(text)
  return kind === 'public' || (kind === 'special' && isWithin(text, allowed))
}

/**
 * Names the network of one party: an IPv4 address itself, or the 64-bit prefix that an IPv6 site gets. Returns `text` if it is no address.
 */
export function networkOf(text: string): string {
  const plain = text.replace(/^::ffff:(?=[\d.]+$)/i, '')
  return familyOf(plain) === 'ipv6' ? `${groupsOf(plain).slice(0, 4).join(':')}/64` : plain
}

/** Parses a block such as `10.0.0.0/8` or `fd00::/8`. Undefined for anything else, and if bits are set after the prefix. */
export function parseCidr(text: string): Cidr | undefined {
  const [, start = '', length] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  const family = familyOf(start)
  if (family === undefined) return undefined
  const prefix = Number(length)
  const bits = bitsOf(start, family)
  return prefix > bits.length || bits.includes('1', prefix) ? undefined : { family, start, prefix }
}

/** Comma-separated. Undefined if one block is invalid. */
export function parseCidrs(text: string): readonly Cidr[] | undefined {
  const cidrs = text.split(',').map((part) => parseCidr(part.trim()))
  const sound = cidrs.filter((cidr) => cidr !== undefined)
  return sound.length === cidrs.length ? sound : undefined
}

/** For compiled settings. An invalid block allows nothing. */
export function cidrsOf(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? [])
}

/** Compares with the blocks of the address's own family. */
export function isWithin(text: string, cidrs: readonly Cidr[]): boolean {
  const family = familyOf(text)
  return family !== undefined && blockListsOf(cidrs)[family].check(text, family)
}

/** `isIP` takes only one spelling of IPv4: some parsers read a leading zero as octal, others as decimal. */
function familyOf(text: string): Family | undefined {
  const version = text.includes('%') ? 0 : isIP(text)
  return version === 0 ? undefined : `ipv${version === 4 ? 4 : 6}`
}

function bitsOf(address: string, family: Family): string {
  const isIpv4 = family === 'ipv4'
  const parts = isIpv4 ? address.split('.') : groupsOf(address).map((group) => `0x${group}`)
  return parts
    .map((part) =>
      Number(part)
        .toString(2)
        .padStart(isIpv4 ? 8 : 16, '0'),
    )
    .join('')
}

/** The eight groups of an IPv6 address. `URL` writes an IPv4 address in it as two groups, and all groups without leading zeros. */
function groupsOf(address: string): readonly string[] {
  const { hostname } = new URL(`http://[${address}]`)
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''))
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
}

/** One list for each family: a list of both would compare IPv4 addresses with IPv6 blocks, and `::/0` would contain them all. */
function blockListsOf(cidrs: readonly Cidr[]): Readonly<Record<Family, BlockList>> {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const { family, start, prefix } of cidrs) lists[family].addSubnet(start, prefix, family)
  return lists
}

const FORBIDDEN = blockListsOf(
  [
    // Metadata: AWS, Google Cloud, Azure, OpenStack and most others; ECS and EKS; Tencent; Alibaba; Oracle; one that only Azure has.
    '169.254.169.254/32',
    '169.254.170.2/32',
    '169.254.170.23/32',
    '169.254.0.23/32',
    '100.100.100.200/32',
    '192.0.0.192/32',
    '168.63.129.16/32',
    'fd00:ec2::254/128',
    'fd00:ec2::23/128',
    'fd20:ce::254/128',

    // Embedded IPv4: mapped, translated, NAT64, Teredo, 6to4 (RFC 4291, 2765, 6052, 8215, 4380, 3056).
    '::ffff:0:0/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '2001::/32',
    '2002::/16',
  ].map(requireCidr),
)
// The compatible form (RFC 4291): ::/96 without the unspecified address and loopback.
FORBIDDEN.ipv6.addRange('::2', '::ffff:ffff', 'ipv6')

const SPECIAL = blockListsOf(
  [
    // RFC 791, 1918, 6598, 1122, 3927, 6890, 5737, 7526, 2544, 1112, 919.
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',

    // All outside of 2000::/3, the unicast space that IANA has begun to allocate (RFC 3513): loopback, private, link-local, multicast …
    '::/3',
    '4000::/2',
    '8000::/1',
    // Inside it: protocols (RFC 2928, with 5180, 4843, 7343), and documentation (RFC 3849, 9637).
    '2001::/23',
    '2001:db8::/32',
    '3fff::/20',
  ].map(requireCidr),
)

function requireCidr(text: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new Error(`${text} is not a CIDR block`)
  return cidr
}
