import { REDIS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { RedisLocation, RedisSettings } from '../../redis/connect.ts'
import { type Format, parseHosts } from '../format.ts'
import { mapped, setting, table } from '../setting.ts'
import { tlsFaults, tlsSettings } from './tls.ts'

const PORT_DEFAULT = { server: 6379, cluster: 6379, sentinel: 26_379 } as const

interface RedisUrl extends Pick<RedisSettings, 'username' | 'password'> {
  readonly location: RedisLocation
  readonly isTls: boolean
}

const URL_FORM =
  /^redis(?<tls>s)?(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^@/?]+)(?:\/(?<path>[^/?]*))?(?:\?sentinel_password=(?<sentinelPassword>[^&]+))?$/

const REDIS_URL: Format<RedisUrl> = {
  wanted:
    'a URL such as redis://host:6379, rediss://user:password@host:6380, redis+cluster://h1,h2 or redis+sentinel://h1,h2/primary?sentinel_password=secret',
  /** Parsed by hand, since `new URL` does not support lists of hosts. */
  parse(text) {
    const groups = URL_FORM.exec(text)?.groups
    if (groups === undefined) return undefined
    const { tls, kind = 'server', user = '', hosts = '', path = '' } = groups
    const [name, password] = [decoded(user), decoded(groups['password'] ?? '')]
    const sentinelPassword = decoded(groups['sentinelPassword'] ?? '')
    if (name === undefined || password === undefined || sentinelPassword === undefined) return undefined
    const location = locationOf({ kind, hosts, path, sentinelPassword })
    if (location === undefined) return undefined
    return { location, username: name || undefined, password: password || undefined, isTls: tls !== undefined }
  },
}

interface UrlParts {
  readonly kind: string
  readonly hosts: string
  readonly path: string
  /** For the Sentinels themselves; the password before the hosts is for Redis. */
  readonly sentinelPassword: string
}

function locationOf({ kind, hosts, path, sentinelPassword }: UrlParts): RedisLocation | undefined {
  if (kind === 'sentinel') {
    const sentinels = parseHosts(hosts, PORT_DEFAULT.sentinel)
    return sentinels && path !== ''
      ? { kind, sentinels, primary: path, sentinelPassword: sentinelPassword || undefined }
      : undefined
  }
  // A Cluster has only database 0, so other databases are not supported.
  if ((path !== '' && path !== '0') || sentinelPassword !== '') return undefined
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
        'URL of Redis: `redis://user:password@host:6379`, `redis+cluster://h1,h2` or `redis+sentinel://h1,h2/primary`, with `?sentinel_password=…` if the Sentinels have a password of their own; with `rediss` instead of `redis`, over TLS.',
      isSecret: true,
    }),
    ...tlsSettings('PLATEN_REDIS', 'Redis'),
  },
  ({ url, ...tls }) =>
    tlsFaults('PLATEN_REDIS', tls, { isTls: url?.isTls, needed: 'a PLATEN_REDIS_URL that begins with rediss' }),
)

export const REDIS_SETTINGS = mapped(TABLE, ({ url, ...tls }): RedisSettings => {
  const { isTls, ...access } = url
  return {
    ...access,
    ...(isTls && { tls }),
    callMsMax: REDIS_CALL_MS_MAX,
  }
})
