import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { KeyRing } from '@platen/contract/domain/render-id.ts'
import { type Cidr, parseCidrs } from '@platen/lib/address.ts'

export interface Format<Value> {
  /** Describes valid values to the person who must fix the setting. */
  readonly wanted: string
  /** Returns undefined for an invalid text. */
  readonly parse: (text: string) => Value | undefined
}

export function anyText(wanted: string): Format<string> {
  return { wanted, parse: (text) => text }
}

export function matching(pattern: RegExp, wanted: string): Format<string> {
  return { wanted, parse: (text) => (pattern.test(text) ? text : undefined) }
}

/** Both bounds are included. `range` says them to people. */
export function integer(
  [min, max]: readonly [number, number],
  noun = 'a number',
): Format<number> & { readonly range: string } {
  const range = `${min} to ${max}`
  return {
    range,
    wanted: `${noun} from ${range}`,
    parse(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
  }
}

export function oneOf<Name extends string>(names: readonly Name[]): Format<Name> {
  return { wanted: `one of ${names.join(', ')}`, parse: (text) => names.find((name) => name === text) }
}

/** At least one of these names, each at most once; in the order of `names`. */
export function listOf<Name extends string>(names: readonly Name[]): Format<readonly Name[]> {
  return {
    wanted: `of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}, separated by commas`,
    parse(text) {
      const parts = text.split(',').map((part) => part.trim())
      const known = names.filter((name) => parts.includes(name))
      return known.length === parts.length ? known : undefined
    },
  }
}

export const BOOLEAN: Format<boolean> = {
  wanted: 'true or false',
  parse(text) {
    if (text === 'true' || text === '1') return true
    return text === 'false' || text === '0' ? false : undefined
  },
}

const TENANT_NAMES_MAX = 200
const TENANT_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** `*` means all tenants, `none` no tenant. */
export const TENANTS: Format<readonly string[]> = {
  wanted: `at most ${TENANT_NAMES_MAX} names of tenants, separated by commas, or * or none`,
  parse(text) {
    if (text === '*') return ['*']
    if (text === 'none') return []
    const names = [...new Set(text.split(',').map((name) => name.trim()))]
    return names.length <= TENANT_NAMES_MAX && names.every((name) => TENANT_NAME.test(name)) ? names : undefined
  },
}

/** 0 means any free port. */
export const PORT = integer([0, 65_535], 'a port number')

/** Made absolute. */
export const PATH: Format<string> = { wanted: 'a path', parse: (text) => resolve(text) }

/** As PEM. Invalid if the file cannot be read, has no certificate, or has an invalid one. */
export const CERTIFICATES: Format<string> = {
  wanted: 'the path of a PEM file with certificates',
  parse(path) {
    try {
      const certificates = readFileSync(path, 'latin1').match(
        /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
      )
      return certificates?.map((text) => new X509Certificate(text).toString()).join('')
    } catch {
      return undefined
    }
  },
}

/** As PEM. Invalid if the file cannot be read, or has no key or an encrypted one. */
export const PRIVATE_KEY: Format<string> = {
  wanted: 'the path of a PEM file with a private key that is not encrypted',
  parse(path) {
    try {
      return createPrivateKey(readFileSync(path)).export({ type: 'pkcs8', format: 'pem' }).toString()
    } catch {
      return undefined
    }
  },
}

export const NETWORKS: Format<readonly Cidr[]> = {
  wanted: 'networks such as 10.1.0.0/16, separated by commas',
  parse: parseCidrs,
}

/** An http or https URL to which paths are appended: without query, fragment and credentials. Trailing slashes are removed. */
export const BASE_URL: Format<string> = {
  wanted: 'an http or https URL without query or fragment',
  parse(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
    const isBase = url.search === '' && url.hash === '' && url.username === '' && url.password === ''
    return isBase ? url.href.replace(/\/+$/, '') : undefined
  },
}

const KEY_BYTES_MIN = 32
/** A rotation needs two or three. Each costs a hash for every id that is verified. */
const KEYS_MAX = 8

export const KEY: Format<Uint8Array> = {
  wanted: `a base64url key of at least ${KEY_BYTES_MIN} bytes`,
  parse(text) {
    const key = Buffer.from(text, 'base64url')
    return /^[A-Za-z0-9_-]+$/.test(text) && key.byteLength >= KEY_BYTES_MIN ? key : undefined
  },
}

/** The first key is used for what is new, all of them for what exists. */
export function ringOf(key: Format<Uint8Array>, wanted: string): Format<KeyRing> {
  return {
    wanted: `${wanted}; at most ${KEYS_MAX}, separated by commas`,
    parse(text) {
      const keys = text.split(',').map((each) => key.parse(each.trim()))
      const [first, ...rest] = keys.filter((each) => each !== undefined)
      return first === undefined || rest.length + 1 < keys.length || keys.length > KEYS_MAX
        ? undefined
        : [first, ...rest]
    },
  }
}

/** The first key signs, all of them verify. */
export const KEY_RING = ringOf(KEY, `base64url keys of at least ${KEY_BYTES_MIN} bytes`)

/** Parses at least one host, such as `redis-1:6380,[fd12::1]`. Undefined if one of them is invalid. */
export function parseHosts(
  text: string,
  portDefault: number,
): readonly { readonly host: string; readonly port: number }[] | undefined {
  const hosts = text.split(',').map((part) => parseHost(part.trim(), portDefault))
  return hosts.every((host) => host !== undefined) ? hosts : undefined
}

function parseHost(text: string, portDefault: number): { host: string; port: number } | undefined {
  const match = /^(?:\[(?<ip6>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9_.-]+))(?::(?<port>\d{1,5}))?$/.exec(text)
  const host = match?.groups?.['ip6'] ?? match?.groups?.['name']
  const port = Number(match?.groups?.['port'] ?? portDefault)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}
