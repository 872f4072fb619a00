/** Settings of Redis. */
import { REDIS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { RedisLocation, RedisSettings } from '../../redis/connect.ts'
import { anyText, type Format, parseHosts } from '../format.ts'
import { mapped, optional, setting, table } from '../setting.ts'
import { tlsFaults, tlsSettings } from './tls.ts'

const PORT_DEFAULT = { server: 6379, cluster: 6379, sentinel: 26_379 } as const

interface RedisUrl extends Pick<RedisSettings, 'username' | 'password'> {
  readonly location: RedisLocation
  readonly isTls: boolean
}

const URL_FORM =
  /^redis(?<tls>s)?(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^@/]+)(?:\/(?<path>[^/]*))?$/

const REDIS_URL: Format<RedisUrl> = {
  wanted:
    'a URL such as redis://host:6379, rediss://user:password@host:6380, redis+cluster://h1,h2 or redis+sentinel://h1,h2/primary',
  /** Parses the URL by hand, as `new URL` does not support lists of hosts. */
  parse(text) {
    const groups = URL_FORM.exec(text)?.groups
    if (groups === undefined) return undefined
    const { tls, kind = 'server', user = '', password = '', hosts = '', path = '' } = groups
    const location = locationOf(kind, hosts, path)
    const [name, secret] = [decoded(user), decoded(password)]
    if (location === undefined || name === undefined || secret === undefined) return undefined
    return { location, username: name || undefined, password: secret || undefined, isTls: tls !== undefined }
  },
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

const TABLE = table(
  {
    url: setting('PLATEN_REDIS_URL', REDIS_URL, {
      description:
        'URL of Redis: `redis://user:password@host:6379`, `redis+cluster://h1,h2` or `redis+sentinel://h1,h2/primary`; with `rediss` instead of `redis`, over TLS.',
      isSecret: true,
    }),
    ...tlsSettings('PLATEN_REDIS', 'Redis'),
    sentinelPassword: optional('PLATEN_REDIS_SENTINEL_PASSWORD', anyText('a password'), {
      default: 'none',
      description: 'Password of the Sentinels. The password of Redis is in its URL.',
      isSecret: true,
    }),
  },
  ({ url, sentinelPassword, ...tls }) => [
    ...tlsFaults('PLATEN_REDIS', tls, { isTls: url?.isTls, needed: 'a PLATEN_REDIS_URL that begins with rediss' }),
    sentinelPassword !== undefined &&
      url !== undefined &&
      url.location.kind !== 'sentinel' &&
      'PLATEN_REDIS_SENTINEL_PASSWORD needs a PLATEN_REDIS_URL of Sentinels',
  ],
)

/** The settings of processes that use Redis. */
export const REDIS_SETTINGS = mapped(TABLE, ({ url, sentinelPassword, ...tls }): RedisSettings => {
  const { isTls, location, ...credentials } = url
  return {
    ...credentials,
    location: location.kind === 'sentinel' ? { ...location, sentinelPassword } : location,
    ...(isTls && { tls }),
    callMsMax: REDIS_CALL_MS_MAX,
  }
})
