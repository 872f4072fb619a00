import { anyText, BASE_URL, BOOLEAN, type Format, integer, matching, oneOf, parseHosts } from '../format.ts'
import { mapped, optional, setting, table } from '../setting.ts'
import { tlsFaults, tlsSettings } from './tls.ts'

const PORT_DEFAULT = 9092

const BROKERS: Format<readonly string[]> = {
  wanted: 'hosts such as kafka-1:9092, separated by commas',
  parse: (text) =>
    parseHosts(text, PORT_DEFAULT)?.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`),
}

const MECHANISM = oneOf(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])
// RFC 6749, section 3.3.
const SCOPE = matching(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, 'scopes, separated by single spaces')
// A topic name has at most 249 of these characters.
const PREFIX = matching(/^[A-Za-z0-9._-]{1,100}$/, 'letters, digits, dots, dashes and underscores, at most 100')
/** The maximum is more than a broker should have for one topic, and more than the number of renderers anyone starts. */
const PARTITIONS = integer([1, 200])
const COPIES = integer([1, 9])

const TABLE = table(
  {
    brokers: setting('PLATEN_KAFKA_BROKERS', BROKERS, {
      description: 'Bootstrap brokers, such as `kafka-1:9092,kafka-2:9092`; the other brokers are learned from them.',
    }),
    mechanism: optional('PLATEN_KAFKA_SASL', MECHANISM, {
      default: 'none',
      description: 'SASL mechanism: `plain`, `scram-sha-256`, `scram-sha-512` or `oauthbearer`.',
    }),
    username: optional('PLATEN_KAFKA_USERNAME', anyText('a name'), {
      default: 'none',
      description: 'User name, or the client id of `oauthbearer`; required with `PLATEN_KAFKA_SASL`.',
      isSecret: true,
    }),
    password: optional('PLATEN_KAFKA_PASSWORD', anyText('a password'), {
      default: 'none',
      description: 'Password, or the client secret of `oauthbearer`; required with `PLATEN_KAFKA_SASL`.',
      isSecret: true,
    }),
    tokenUrl: optional('PLATEN_KAFKA_OAUTH_TOKEN_URL', BASE_URL, {
      default: 'none',
      description:
        'URL at which the client id and the client secret are exchanged for tokens (OAuth 2.0 client credentials); required with `oauthbearer`.',
    }),
    scope: optional('PLATEN_KAFKA_OAUTH_SCOPE', SCOPE, {
      default: 'none',
      description: 'Scope to request tokens for, with `oauthbearer`.',
    }),
    isTls: setting('PLATEN_KAFKA_TLS', BOOLEAN, { default: 'false', description: 'Connect to the brokers over TLS.' }),
    ...tlsSettings('PLATEN_KAFKA', 'the brokers'),
    prefix: setting('PLATEN_KAFKA_TOPIC_PREFIX', PREFIX, {
      default: 'none',
      absent: () => '',
      description: 'Prefix of the names of topics and groups, such as `pdf.`, for a shared Kafka.',
    }),
    partitions: optional('PLATEN_KAFKA_PARTITIONS', PARTITIONS, {
      default: '12 for sync and events, 24 for async and bulk',
      description:
        'Partitions of the topics of renders and of `render.events`, set when the topics are created: the maximum number of renderers that serve a lane at once, and of `events` processes.',
    }),
    replicas: optional('PLATEN_KAFKA_REPLICATION', COPIES, {
      default: "the brokers'",
      description:
        'Replication factor of each topic, set when the topic is created. All replicas but one must then have a record before it counts as written (`min.insync.replicas`).',
    }),
  },
  ({ mechanism, username, password, tokenUrl, scope, isTls = false, ca, cert, key }) => [
    new Set([mechanism, username, password].map((part) => part === undefined)).size > 1 &&
      'PLATEN_KAFKA_SASL, PLATEN_KAFKA_USERNAME and PLATEN_KAFKA_PASSWORD are set together or not at all',
    (mechanism === 'oauthbearer') !== (tokenUrl !== undefined) &&
      'PLATEN_KAFKA_OAUTH_TOKEN_URL and PLATEN_KAFKA_SASL=oauthbearer are set together',
    scope !== undefined && tokenUrl === undefined && 'PLATEN_KAFKA_OAUTH_SCOPE needs PLATEN_KAFKA_OAUTH_TOKEN_URL',
    ...tlsFaults('PLATEN_KAFKA', { ca, cert, key }, { isTls, needed: 'PLATEN_KAFKA_TLS=true' }),
  ],
)

export const KAFKA_SETTINGS = mapped(TABLE, (values) => {
  const { brokers, mechanism, username, password, tokenUrl, scope, isTls, ca, cert, key } = values
  const { prefix, partitions, replicas } = values
  return {
    connection: {
      brokers,
      sasl:
        mechanism !== undefined && username !== undefined && password !== undefined
          ? { mechanism, username, password, ...(tokenUrl !== undefined && { oauth: { tokenUrl, scope } }) }
          : undefined,
      tls: isTls ? { ca, cert, key } : undefined,
    },
    topics: {
      prefix,
      replicas,
      // One broker may be away. A single replica must be there.
      inSyncMin: replicas && Math.max(1, replicas - 1),
      partitions:
        partitions === undefined
          ? undefined
          : { sync: partitions, async: partitions, bulk: partitions, events: partitions },
    },
  }
})
