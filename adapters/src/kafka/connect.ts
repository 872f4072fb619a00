/**
 * How this service holds Kafka: one producer for the process, an admin where one is needed, and consumers that each have connections
 * of their own, as a slow answer to one would hold up the others.
 *
 * The producer asks for the acknowledgement of all replicas in sync and is not idempotent: after a lost answer kafkajs gives the
 * next record the sequence number of the last, which the broker then takes for a repeat and drops. So a record may be there twice,
 * and whoever reads it has to bear that.
 */
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import {
  KAFKA_CONNECT_MS_MAX,
  KAFKA_REQUEST_MS_MAX,
  KAFKA_RETRY_MS_MAX,
  KAFKA_RETRY_MS_MIN,
  KAFKA_WARNING_EVERY_MS,
} from '@platen/contract/kafka-limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { type Admin, Kafka, type KafkaConfig, type LogEntry, logLevel, Partitioners, type SASLOptions } from 'kafkajs'
import { batchSends } from './client/batch.ts'
import { patchKafkajs } from './client/kafkajs-patches.ts'

export interface KafkaSettings {
  /** `host:port` of some brokers; they name the others. */
  readonly brokers: readonly string[]
  /** What this process is called in the brokers' logs and quotas. */
  readonly clientId: string
  readonly sasl?:
    | {
        readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
        readonly username: string
        readonly password: string
      }
    | undefined
  /** Present = TLS. `ca` is PEM and replaces the system's authorities; `servername` is the name in the certificate where the host is another. */
  readonly tls?: { readonly ca?: string | undefined; readonly servername?: string | undefined } | undefined
}

export interface KafkaPorts {
  readonly clock: Clock
  readonly log: Log
}

/** A record on its way to a topic; its key decides on the partition. */
export interface OutgoingRecord {
  readonly key: string | Uint8Array | null
  readonly value: Uint8Array | string | null
  readonly headers?: Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[] | undefined>>
}

export interface KafkaConnection extends AsyncDisposable, KafkaPorts {
  /** Resolves when all records are with every replica in sync. Rejects with the signal's reason, or `Unavailable`: then each may be there or not. */
  send(topic: string, records: readonly OutgoingRecord[], signal: AbortSignal): Promise<void>
  /** What looks at topics and groups, and makes them; connected at the first call, closed with the connection. */
  admin(): Promise<Admin>
  /** A client with connections of its own, for one consumer. `heard` is called at each sign of life that is written to its log. */
  client(onActivity: () => void): Kafka
}

/** Connects. Throws `Unavailable` with the reason when no broker can be reached, or it refuses the credentials or the certificate. */
export async function connectKafka(
  settings: KafkaSettings,
  ports: KafkaPorts,
  signal: AbortSignal,
): Promise<KafkaConnection> {
  signal.throwIfAborted()
  patchKafkajs(ports.clock)
  const client = (onActivity: () => void) => new Kafka(configOf(settings, ports, onActivity))
  await probe(settings, ports, signal)
  const producer = client(() => undefined).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    retry: { ...RETRY, retries: 5 },
  })
  await producer.connect().catch(throwConnectFailure(settings))
  let admin: Promise<Admin> | undefined
  const send = batchSends(async (topic, messages) => {
    await producer
      .send({ topic, messages: [...messages], acks: -1, timeout: KAFKA_REQUEST_MS_MAX })
      .catch(throwUnavailable)
  }, ports.clock)
  return {
    ...ports,
    client,
    async send(topic, records, sendSignal) {
      const messages = records.map(({ key, value, headers }) => ({
        key: bufferOf(key),
        value: bufferOf(value),
        ...(headers !== undefined && { headers: headersOf(headers) }),
      }))
      await send(topic, messages, sendSignal)
    },
    async admin() {
      admin ??= openAdmin(client(() => undefined))
      return await admin.catch((cause: unknown) => {
        // The next who needs it tries anew.
        admin = undefined
        return throwUnavailable(cause)
      })
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([producer.disconnect(), admin?.then((each) => each.disconnect()).catch(() => undefined)])
    },
  }
}

/** Settles as a call of kafkajs does, but for what it could not do: that is `Unavailable`. */
export function throwUnavailable(cause: unknown): never {
  throw cause instanceof Unavailable ? cause : new Unavailable(`Kafka did not answer: ${messageOf(cause)}`, { cause })
}

const RETRY = { initialRetryTime: KAFKA_RETRY_MS_MIN, maxRetryTime: KAFKA_RETRY_MS_MAX, factor: 0.2, multiplier: 2 }

function configOf(
  { brokers, clientId, sasl, tls }: KafkaSettings,
  ports: KafkaPorts,
  onActivity: () => void,
): KafkaConfig {
  return {
    brokers: [...brokers],
    clientId,
    // Of the three mechanisms each has the same fields, which the union of their types does not say.
    ...(sasl !== undefined && { sasl: { ...sasl } as SASLOptions }),
    ssl: tls === undefined ? false : { ...tls },
    connectionTimeout: KAFKA_CONNECT_MS_MAX,
    authenticationTimeout: KAFKA_REQUEST_MS_MAX,
    requestTimeout: KAFKA_REQUEST_MS_MAX,
    retry: { ...RETRY, retries: 5 },
    socketFactory,
    logLevel: logLevel.INFO,
    logCreator: () => logEntriesTo(ports, onActivity),
  }
}

/** Without Nagle's wait: a request is one small write, and somebody waits for its answer. */
const socketFactory: NonNullable<KafkaConfig['socketFactory']> = ({ host, port, ssl, onConnect }) => {
  const socket = ssl
    ? // kafkajs gives `null` for no TLS and the options as they were set for it.
      connectSecurely({ host, port, ...(isIP(host) > 0 ? {} : { servername: host }), ...ssl }, onConnect)
    : connectPlain({ host, port }, onConnect)
  return socket.setNoDelay(true).setKeepAlive(true, 60_000)
}

const WARNINGS_KEPT_MAX = 100
/** What brokers say whenever a member comes or goes, or a topic is made by somebody else. */
const TRANSIENT = /is rebalancing|generation id is not valid|coordinator is not available|Topic creation errors/

/** What kafkajs says of itself. What it objects to is worth a warning, once; the rest is for whoever looks for a fault. */
function logEntriesTo({ clock, log }: KafkaPorts, onActivity: () => void): (entry: LogEntry) => void {
  const loggedAt = new Map<string, number>()
  return ({ level, namespace, log: { message, broker, groupId, error } }) => {
    onActivity()
    const fields = { namespace, reason: message, broker, group: groupId, detail: error }
    const last = loggedAt.get(message)
    const now = clock.monotonic()
    const isWarning = level <= logLevel.ERROR && !TRANSIENT.test(String(error))
    const isNews = isWarning && (last === undefined || now - last > KAFKA_WARNING_EVERY_MS)
    if (!isNews) return log.debug(fields, 'kafka client reported')
    // Messages hold names and numbers, so there is no end to them.
    if (loggedAt.size >= WARNINGS_KEPT_MAX) loggedAt.clear()
    loggedAt.set(message, now)
    log.warn(fields, 'kafka client warned')
  }
}

/** One try of each broker, so that a wrong address, name or password is told at once. */
async function probe(settings: KafkaSettings, ports: KafkaPorts, signal: AbortSignal): Promise<void> {
  const config = configOf(settings, ports, () => undefined)
  const admin = new Kafka({ ...config, retry: { ...RETRY, retries: settings.brokers.length - 1 } }).admin()
  try {
    await raceAbort(
      admin.connect().then(() => admin.describeCluster()),
      signal,
    )
  } catch (cause) {
    signal.throwIfAborted()
    throwConnectFailure(settings)(cause)
  } finally {
    await admin.disconnect()
  }
}

async function openAdmin(client: Kafka): Promise<Admin> {
  const admin = client.admin({ retry: { ...RETRY, retries: 5 } })
  await admin.connect()
  return admin
}

function throwConnectFailure({ brokers, sasl }: KafkaSettings): (cause: unknown) => never {
  return (cause) => {
    const isRefusal = nameOf(cause) === 'KafkaJSSASLAuthenticationError'
    const what = isRefusal
      ? `Kafka refused the credentials of ${sasl?.username} (${sasl?.mechanism})`
      : `cannot connect to Kafka at ${brokers.join(', ')}`
    throw new Unavailable(`${what}: ${messageOf(cause)}`, { cause })
  }
}

function bufferOf(value: Uint8Array | string | null): Buffer | null {
  return value === null ? null : Buffer.from(value)
}

function headersOf(headers: NonNullable<OutgoingRecord['headers']>) {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map((each) => Buffer.from(each)) : Buffer.from(value as Uint8Array),
      ]),
  )
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return error.cause instanceof Error && error.name === 'KafkaJSNumberOfRetriesExceeded'
    ? nameOf(error.cause)
    : error.name
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
