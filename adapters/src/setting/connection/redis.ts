/** Settings of Redis. */
import { REDIS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import type { RedisLocation, RedisSettings } from '../../redis/connect.ts'
import { CERTIFICATES, parseHosts, readCertificates } from '../parse.ts'
import type { SettingReader, SettingTable } from '../setting.ts'

/** The settings of processes that use Redis. */
export const REDIS_SETTINGS = {
  PLATEN_REDIS_URL: {
    default: 'required',
    description:
      'URL of Redis: `redis://user:password@host:6379`, `redis+cluster://h1,h2` or `redis+sentinel://h1,h2/primary`; with `rediss` instead of `redis`, over TLS.',
  },
  PLATEN_REDIS_CA_FILE: {
    default: 'the public authorities',
    description: 'PEM file of the CA certificates to trust for Redis, instead of the public authorities.',
  },
  PLATEN_REDIS_SENTINEL_PASSWORD: {
    default: 'none',
    description: 'Password of the Sentinels. The password of Redis is in its URL.',
  },
} as const satisfies SettingTable

const PORT_DEFAULT = { server: 6379, cluster: 6379, sentinel: 26_379 } as const

interface RedisUrl extends Pick<RedisSettings, 'username' | 'password'> {
  readonly location: RedisLocation
  readonly isTls: boolean
}

/** Reads the settings of Redis. */
export function readRedisSettings({
  read,
  require,
  refuse,
}: SettingReader<keyof typeof REDIS_SETTINGS>): RedisSettings | undefined {
  const url = require('PLATEN_REDIS_URL', parseRedisUrl, 'a URL such as redis://host:6379, rediss://user:password@host:6380, redis+cluster://h1,h2 or redis+sentinel://h1,h2/primary')
  const ca = read('PLATEN_REDIS_CA_FILE', readCertificates, CERTIFICATES)
  const sentinelPassword = read('PLATEN_REDIS_SENTINEL_PASSWORD', (text) => text, 'a password')
  if (url === undefined) return undefined
  const { isTls, location, username, password } = url
  if (ca !== undefined && !isTls) refuse('PLATEN_REDIS_CA_FILE needs a PLATEN_REDIS_URL that begins with rediss')
  if (sentinelPassword !== undefined && location.kind !== 'sentinel') {
    refuse('PLATEN_REDIS_SENTINEL_PASSWORD needs a PLATEN_REDIS_URL of Sentinels')
  }
  return {
    location: location.kind === 'sentinel' ? { ...location, sentinelPassword } : location,
    username,
    password,
    ...(isTls && { tls: { ca } }),
    callMsMax: REDIS_CALL_MS_MAX,
  }
}

const URL_FORM =
  /^redis(?<tls>s)?(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^@/]+)(?:\/(?<path>[^/]*))?$/

/** Parses the URL by hand, as `new URL` does not support lists of hosts. */
function parseRedisUrl(text: string): RedisUrl | undefined {
  const groups = URL_FORM.exec(text)?.groups
  if (groups === undefined) return undefined
  const { tls, kind = 'server', user = '', password = '', hosts = '', path = '' } = groups
  const location = locationOf(kind, hosts, path)
  const [name, secret] = [decoded(user), decoded(password)]
  if (location === undefined || name === undefined || secret === undefined) return undefined
  return { location, username: name || undefined, password: secret || undefined, isTls: tls !== undefined }
}

function locationOf(kind: string, hosts: string, path: string): RedisLocation | undefined {
  if (kind === 'sentinel') {
    const sentinels = parseHosts(hosts, PORT_DEFAULT.sentinel)
    return sentinels && path !== '' ? { kind, sentinels, primary: path } : undefined
  }
  // A Cluster only has database 0, so the others are not supported.
  if (path !== '' && path !== '0') return undefined
  const nodes = parseHosts(hosts, PORT_DEFAULT.server)
  if (kind === 'cluster') return nodes && { kind, nodes }
  const [address, ...more] = nodes ?? []
  return address === undefined || more.length > 0 ? undefined : { kind: 'server', address }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
