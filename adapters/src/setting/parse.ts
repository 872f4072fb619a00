/** Parsers of setting values. Each returns undefined for an invalid text. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { KeyRing } from '@platen/contract/render-id.ts'

const KEY_BYTES_MIN = 32

/** Describes what `parseKey` accepts. */
export const KEY = `a base64url key of at least ${KEY_BYTES_MIN} bytes`

/** Describes what `parseKeyRing` accepts. */
export const KEY_RING = `base64url keys of at least ${KEY_BYTES_MIN} bytes, separated by commas`

/** Describes what `readCertificates` accepts. */
export const CERTIFICATES = 'the path of a PEM file with certificates'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Describes what `parseLogLevel` accepts. */
export const LOG_LEVEL = `one of ${LOG_LEVELS.join(', ')}`

/** Describes what `parsePort` accepts. */
export const PORT = 'a port number from 0 to 65535'

/** Describes what `parseCidrs` accepts. */
export const NETWORKS = 'networks such as 10.1.0.0/16, separated by commas'

/** Parses a port to listen on; 0 means any free one. */
export function parsePort(text: string): number | undefined {
  return parseInteger(text, [0, 65_535])
}

/** Parses an integer from `min` to `max`, both included. */
export function parseInteger(text: string, [min, max]: readonly [number, number]): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}

/** Parses `true` or `1`, `false` or `0`. */
export function parseBoolean(text: string): boolean | undefined {
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : undefined
}

/** Reads the certificates in a file; undefined if it cannot be read, has none, or has an invalid one. */
export function readCertificates(path: string): string | undefined {
  try {
    const certificates = readFileSync(path, 'latin1').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    )
    return certificates?.map((text) => new X509Certificate(text).toString()).join('')
  } catch {
    return undefined
  }
}

/** Parses a log level. */
export function parseLogLevel(text: string): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === text)
}

/** Parses the word used in header names and key prefixes. */
export function parseBrand(text: string): string | undefined {
  return /^[a-z]{1,32}$/.test(text) ? text : undefined
}

/** Parses an http or https URL to which paths are appended: without query, fragment and credentials. Removes trailing slashes. */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  const isBase = url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  return isBase ? url.href.replace(/\/+$/, '') : undefined
}

/** Parses the keys of render ids: the first one signs, all of them verify. */
export function parseKeyRing(text: string): KeyRing | undefined {
  const keys = text.split(',').map(parseKey)
  const [first, ...rest] = keys.filter((key) => key !== undefined)
  return first === undefined || rest.length + 1 < keys.length ? undefined : [first, ...rest]
}

/** Parses one key. */
export function parseKey(text: string): Uint8Array | undefined {
  const key = Buffer.from(text, 'base64url')
  return /^[A-Za-z0-9_-]+$/.test(text) && key.byteLength >= KEY_BYTES_MIN ? key : undefined
}

/** Parses a list of at least one of these names, each at most once. */
export function parseList<Name extends string>(text: string, names: readonly Name[]): readonly Name[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  const known = names.filter((name) => parts.includes(name))
  return known.length === parts.length ? known : undefined
}

/** Parses one host, with a default for its port: `redis-1:6380`, `[fd12::1]`. */
export function parseHost(text: string, portDefault: number): { host: string; port: number } | undefined {
  const match = /^(?:\[(?<ip6>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9_.-]+))(?::(?<port>\d{1,5}))?$/.exec(text)
  const host = match?.groups?.['ip6'] ?? match?.groups?.['name']
  const port = Number(match?.groups?.['port'] ?? portDefault)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** Parses a list of at least one host. */
export function parseHosts(
  text: string,
  portDefault: number,
): readonly { readonly host: string; readonly port: number }[] | undefined {
  const hosts = text.split(',').map((part) => parseHost(part.trim(), portDefault))
  return hosts.every((host) => host !== undefined) ? hosts : undefined
}
