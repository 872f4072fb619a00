/** The values of settings, each of them undefined where the text is none. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { KeyRing } from '@platen/contract/render-id.ts'

const KEY_BYTES_MIN = 32

/** What `parseKey` takes. */
export const KEY = `a base64url key of at least ${KEY_BYTES_MIN} bytes`

/** What `parseKeyRing` takes. */
export const KEY_RING = `base64url keys of at least ${KEY_BYTES_MIN} bytes, separated by commas`

/** What `readCertificates` takes. */
export const CERTIFICATES = 'the path of a PEM file with certificates'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What `parseLogLevel` takes. */
export const LOG_LEVEL = `one of ${LOG_LEVELS.join(', ')}`

/** What `parsePort` takes. */
export const PORT = 'a port number from 0 to 65535'

/** What `parseCidrs` takes. */
export const NETWORKS = 'networks such as 10.1.0.0/16, separated by commas'

/** A port to listen on, 0 being any. */
export function parsePort(text: string): number | undefined {
  return parseInteger(text, [0, 65_535])
}

/** A number of the range, its ends included. */
export function parseInteger(text: string, [min, max]: readonly [number, number]): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}

/** `true` or `1`, `false` or `0`. */
export function parseBoolean(text: string): boolean | undefined {
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : undefined
}

/** The certificates in a file; undefined where it cannot be read, holds none, or one that is none. */
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

/** How much is logged. */
export function parseLogLevel(text: string): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === text)
}

/** The word in header names and key prefixes. */
export function parseBrand(text: string): string | undefined {
  return /^[a-z]{1,32}$/.test(text) ? text : undefined
}

/** An http or https URL that others are appended to: without query, fragment, credentials and trailing slash. */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  const isBase = url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  return isBase ? url.href.replace(/\/+$/, '') : undefined
}

/** The keys of render ids: the first signs, all verify. */
export function parseKeyRing(text: string): KeyRing | undefined {
  const keys = text.split(',').map(parseKey)
  const [first, ...rest] = keys.filter((key) => key !== undefined)
  return first === undefined || rest.length + 1 < keys.length ? undefined : [first, ...rest]
}

/** One key. */
export function parseKey(text: string): Uint8Array | undefined {
  const key = Buffer.from(text, 'base64url')
  return /^[A-Za-z0-9_-]+$/.test(text) && key.byteLength >= KEY_BYTES_MIN ? key : undefined
}

/** Some of these, each at most once; at least one. */
export function parseList<Name extends string>(text: string, names: readonly Name[]): readonly Name[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  const known = names.filter((name) => parts.includes(name))
  return known.length === parts.length ? known : undefined
}

/** One host of a list, with the port it has where it names none: `redis-1:6380`, `[fd12::1]`. */
export function parseHost(text: string, portDefault: number): { host: string; port: number } | undefined {
  const match = /^(?:\[(?<ip6>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9_.-]+))(?::(?<port>\d{1,5}))?$/.exec(text)
  const host = match?.groups?.['ip6'] ?? match?.groups?.['name']
  const port = Number(match?.groups?.['port'] ?? portDefault)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** The hosts of a list, at least one. */
export function parseHosts(
  text: string,
  portDefault: number,
): readonly { readonly host: string; readonly port: number }[] | undefined {
  const hosts = text.split(',').map((part) => parseHost(part.trim(), portDefault))
  return hosts.every((host) => host !== undefined) ? hosts : undefined
}
