/** Settings of Kafka. */
import { KAFKA_EVENT_DAYS_MAX, KAFKA_EVENT_DAYS_MIN } from '@platen/contract/kafka-limit.ts'
import { CERTIFICATES, parseBoolean, parseHosts, parseInteger, readCertificates } from '../parse.ts'
import type { SettingReader, SettingTable } from '../setting.ts'

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const
type SaslMechanism = (typeof MECHANISMS)[number]

/** The settings of processes that use Kafka. */
export const KAFKA_SETTINGS = {
  PLATEN_KAFKA_BROKERS: {
    default: 'required',
    description: 'Bootstrap brokers, such as `kafka-1:9092,kafka-2:9092`; the other brokers are learned from them.',
  },
  PLATEN_KAFKA_SASL: {
    default: 'none',
    description: 'SASL mechanism: `plain`, `scram-sha-256` or `scram-sha-512`.',
  },
  PLATEN_KAFKA_USERNAME: { default: 'none', description: 'User name; required with `PLATEN_KAFKA_SASL`.' },
  PLATEN_KAFKA_PASSWORD: { default: 'none', description: 'Password; required with `PLATEN_KAFKA_SASL`.' },
  PLATEN_KAFKA_TLS: { default: 'false', description: 'Connect to the brokers over TLS.' },
  PLATEN_KAFKA_CA_FILE: {
    default: 'the public authorities',
    description: 'PEM file of the CA certificates to trust for the brokers, instead of the public authorities.',
  },
  PLATEN_KAFKA_TOPIC_PREFIX: {
    default: 'none',
    description: 'Prefix of the names of topics and groups, such as `pdf.`, for a shared Kafka.',
  },
  PLATEN_KAFKA_PARTITIONS: {
    default: '12 for sync, 24 for async and bulk',
    description:
      'Partitions of the topics that renders wait in, set when the topics are created: the maximum number of renderers that serve a lane at once.',
  },
  PLATEN_KAFKA_REPLICATION: {
    default: "the brokers'",
    description: 'Replication factor of each topic, set when the topic is created.',
  },
  PLATEN_KAFKA_IN_SYNC_MIN: {
    default: "the brokers'",
    description:
      '`min.insync.replicas` of each topic, set when the topic is created: how many replicas must have a record before it counts as written; at most `PLATEN_KAFKA_REPLICATION`.',
  },
  PLATEN_KAFKA_EVENT_PARTITIONS: {
    default: '12',
    description:
      'Partitions of `render.events`, set when the topic is created: the maximum number of `events` processes that share it.',
  },
  PLATEN_KAFKA_EVENT_DAYS: {
    default: '45',
    description: `Days for which \`render.events\` keeps events, set when the topic is created: ${KAFKA_EVENT_DAYS_MIN} to ${KAFKA_EVENT_DAYS_MAX}. The charges of a month are rebuilt from these events.`,
  },
} as const satisfies SettingTable

export interface KafkaSettings {
  /** At least one, each `host:port`. */
  readonly brokers: readonly string[]
  readonly sasl?: { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string }
  /** Present = TLS. `ca` is PEM and replaces the system's authorities. */
  readonly tls?: { readonly ca?: string }
  /** Prefix of every topic and group name; may be empty. */
  readonly topicPrefix: string
  /** Partitions of each queue topic; absent = the default of its lane. */
  readonly partitions?: number
  /** Copies of each topic; absent = the brokers' default. */
  readonly replicas?: number
  /** Copies that must have a record before it counts as written; only with `replicas`. */
  readonly inSyncMin?: number
  readonly eventPartitions?: number
  readonly eventDays?: number
}

const PORT_DEFAULT = 9092
/** More than a broker should have for one topic, and more than the number of renderers anyone starts. */
const PARTITIONS_MAX = 200
const REPLICAS_MAX = 9

/** Reads the settings of Kafka. */
export function readKafkaSettings(reader: SettingReader<keyof typeof KAFKA_SETTINGS>): KafkaSettings | undefined {
  const { read, require, refuse } = reader
  const brokers = require('PLATEN_KAFKA_BROKERS', parseBrokers, 'hosts such as kafka-1:9092, separated by commas')
  const sasl = readSasl(reader)
  const isTls = read('PLATEN_KAFKA_TLS', parseBoolean, 'true or false') ?? false
  const ca = read('PLATEN_KAFKA_CA_FILE', readCertificates, CERTIFICATES)
  if (ca !== undefined && !isTls) refuse('PLATEN_KAFKA_CA_FILE needs PLATEN_KAFKA_TLS=true')
  const topicPrefix =
    read('PLATEN_KAFKA_TOPIC_PREFIX', parsePrefix, 'letters, digits, dots, dashes and underscores, at most 100') ?? ''
  const numberFrom = (name: keyof typeof KAFKA_SETTINGS, [min, max]: readonly [number, number]) =>
    read(name, (text) => parseInteger(text, [min, max]), `a number from ${min} to ${max}`)
  const partitions = numberFrom('PLATEN_KAFKA_PARTITIONS', [1, PARTITIONS_MAX])
  const replicas = numberFrom('PLATEN_KAFKA_REPLICATION', [1, REPLICAS_MAX])
  const inSyncMin = numberFrom('PLATEN_KAFKA_IN_SYNC_MIN', [1, REPLICAS_MAX])
  // With fewer copies than this, older brokers accept no record, and newer ones silently require fewer copies.
  if (inSyncMin !== undefined && inSyncMin > (replicas ?? 0))
    refuse('PLATEN_KAFKA_IN_SYNC_MIN needs a PLATEN_KAFKA_REPLICATION that is at least as high')
  const eventPartitions = numberFrom('PLATEN_KAFKA_EVENT_PARTITIONS', [1, PARTITIONS_MAX])
  const eventDays = numberFrom('PLATEN_KAFKA_EVENT_DAYS', [KAFKA_EVENT_DAYS_MIN, KAFKA_EVENT_DAYS_MAX])
  if (brokers === undefined) return undefined
  return {
    brokers,
    topicPrefix,
    ...(sasl && { sasl }),
    ...(isTls && { tls: { ...(ca !== undefined && { ca }) } }),
    ...(partitions !== undefined && { partitions }),
    ...(replicas !== undefined && { replicas }),
    ...(inSyncMin !== undefined && { inSyncMin }),
    ...(eventPartitions !== undefined && { eventPartitions }),
    ...(eventDays !== undefined && { eventDays }),
  }
}

function readSasl({ read, refuse }: SettingReader<keyof typeof KAFKA_SETTINGS>): KafkaSettings['sasl'] {
  const mechanism = read('PLATEN_KAFKA_SASL', parseMechanism, `one of ${MECHANISMS.join(', ')}`)
  const username = read('PLATEN_KAFKA_USERNAME', (text) => text, 'a name')
  const password = read('PLATEN_KAFKA_PASSWORD', (text) => text, 'a password')
  if (mechanism !== undefined && username !== undefined && password !== undefined) {
    return { mechanism, username, password }
  }
  if (mechanism !== undefined || username !== undefined || password !== undefined)
    refuse('PLATEN_KAFKA_SASL, PLATEN_KAFKA_USERNAME and PLATEN_KAFKA_PASSWORD are set together or not at all')
  return undefined
}

function parseMechanism(text: string): SaslMechanism | undefined {
  return MECHANISMS.find((mechanism) => mechanism === text)
}

function parseBrokers(text: string): readonly string[] | undefined {
  return parseHosts(text, PORT_DEFAULT)?.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
}

/** A topic name has at most 249 of these characters. */
function parsePrefix(text: string): string | undefined {
  return /^[A-Za-z0-9._-]{1,100}$/.test(text) ? text : undefined
}
