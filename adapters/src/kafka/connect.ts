/**
 * The connection to Kafka: one producer per process, an admin client where needed, and consumers. Each consumer has its own sockets, so
 * that a slow response to one does not delay the others.
 *
 * The producer waits for all in-sync replicas and is not idempotent. After a lost response, an idempotent kafkajs producer gives the next
 * record the sequence number of the last one, and the broker drops it as a duplicate. So a record may be stored twice, and consumers must
 * handle that.
 */
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { isBrokenConnection, messageOf } from '@platen/lib/thrown.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import kafkajs, { type Admin, Kafka, type KafkaConfig, type LogEntry, logLevel, Partitioners } from 'kafkajs'
import { batchSends } from './client/batch.ts'
import { patchRequestTimers } from './client/kafkajs-patches.ts'
import { type KafkaSasl, saslOf } from './client/sasl.ts'
import { KAFKA_BACK_OFF, KAFKA_PREPARE_MS_MAX, KAFKA_REQUEST_MS_MAX } from './limit.ts'

const SECOND_MS = 1000
/** The same warning of the client is logged once in this time. While a broker is down, it repeats every second. */
const KAFKA_WARNING_EVERY_MS = 30 * SECOND_MS

/** How long connecting to one broker may take, TLS included. */
const KAFKA_CONNECT_MS_MAX = 3 * SECOND_MS

/** As PEM: CA certificates instead of the system's authorities, and a client certificate with its key. */
interface KafkaTls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** The name in the certificate of the broker if the host differs. */
  readonly servername?: string | undefined
}

interface KafkaAccess {
  readonly sasl?: KafkaSasl | undefined
  /** Present = TLS. */
  readonly tls?: KafkaTls | undefined
}

export interface KafkaSettings extends KafkaAccess {
  /** `host:port` of some brokers; these name the others. */
  readonly brokers: readonly string[]
  /** The name of this process in the brokers' logs and quotas. */
  readonly clientId: string
  /** Returns the access for the next connection to a broker. Absent = it never changes. */
  readonly latest?: () => KafkaAccess
  /** Called when a connection to a broker breaks or is not accepted. */
  readonly onBrokenConnection?: () => void
}

interface KafkaPorts {
  readonly clock: Clock
  readonly log: Log
}

/** The key determines the partition. */
export interface OutgoingRecord {
  readonly key: string | Uint8Array | null
  readonly value: Uint8Array | string | null
  readonly headers?: Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[] | undefined>>
}

export interface KafkaConnection extends AsyncDisposable, KafkaPorts {
  /**
   * Resolves when every in-sync replica has all records. Rejects with the signal's reason or `Unavailable`; some records may be stored even
   * then.
   */
  send(topic: string, records: readonly OutgoingRecord[], signal: AbortSignal): Promise<void>
  /** Reads and creates topics and groups. Connects at the first call, and closes with the connection. */
  admin(): Promise<Admin>
  /** Makes a client with its own sockets, for one consumer. */
  client(watch?: ClientWatch): Kafka
  /** Should this warning be logged? The same text is logged once in `KAFKA_WARNING_EVERY_MS`, whatever numbers are in it. */
  readonly isNews: (warning: string) => boolean
}

interface ClientWatch {
  activity?(): void
  /** Called when it has a connection to a broker again after a loss, before it sends anything on it. */
  reconnected?(): void
}

/** Connects. Throws `Unavailable` with the reason if no broker can be reached, or if it refuses the credentials or the certificate. */
export async function connectKafka(
  settings: KafkaSettings,
  ports: KafkaPorts,
  signal: AbortSignal,
): Promise<KafkaConnection> {
  signal.throwIfAborted()
  await patchRequestTimers()
  const isNews = openNewsFilter(ports.clock)
  const filtered = { ...ports, isNews }
  const client = (watch: ClientWatch = {}) => new Kafka(configOf(settings, filtered, watch))
  await retryLate(() => probe(settings, filtered, signal), { settings, ports, signal })
  const producer = client().producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    retry: { ...RETRY, retries: 5 },
  })
  await retryLate(() => producer.connect(), { settings, ports, signal })
  let admin: Promise<Admin> | undefined
  const send = batchSends(async (topic, messages) => {
    await producer
      .send({ topic, messages: [...messages], acks: -1, timeout: KAFKA_REQUEST_MS_MAX })
      .catch(throwUnavailable)
  }, ports.clock)
  return {
    ...filtered,
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
      admin ??= openAdmin(client())
      return await admin.catch((cause: unknown) => {
        // The next caller tries again.
        admin = undefined
        return throwUnavailable(cause)
      })
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([producer.disconnect(), admin?.then((each) => each.disconnect()).catch(() => undefined)])
    },
  }
}

/** For use in `catch`: throws `Unavailable` with the error of a kafkajs call as its cause. */
export function throwUnavailable(cause: unknown): never {
  throw cause instanceof Unavailable ? cause : new Unavailable(`Kafka did not answer: ${messageOf(cause)}`, { cause })
}

const { msMin: initialRetryTime, msMax: maxRetryTime } = KAFKA_BACK_OFF
const RETRY = { initialRetryTime, maxRetryTime, factor: 0.2, multiplier: 2 }

type LogPorts = KafkaPorts & Pick<KafkaConnection, 'isNews'>

function configOf(settings: KafkaSettings, ports: LogPorts, watch: ClientWatch): KafkaConfig {
  const { brokers, clientId, sasl, tls, latest = () => settings, onBrokenConnection = () => undefined } = settings
  const { clock } = ports
  return {
    brokers: [...brokers],
    clientId,
    ...(sasl !== undefined && {
      sasl: saslOf({ mechanism: sasl.mechanism, latest: () => latest().sasl ?? sasl, clock }),
    }),
    // With `true`, kafkajs gives the socket factory an empty object.
    ssl: tls !== undefined,
    connectionTimeout: KAFKA_CONNECT_MS_MAX,
    authenticationTimeout: KAFKA_REQUEST_MS_MAX,
    requestTimeout: KAFKA_REQUEST_MS_MAX,
    retry: { ...RETRY, retries: 5 },
    socketFactory: socketFactoryOf(() => latest().tls ?? {}, { ...watch, broken: onBrokenConnection }),
    logLevel: logLevel.INFO,
    logCreator: () => logEntriesTo(ports, watch),
  }
}

interface SocketWatch extends ClientWatch {
  readonly broken: () => void
}

/** Turns off Nagle's algorithm: a request is one small write, and a caller waits for the response. */
function socketFactoryOf(tls: () => KafkaTls, watch: SocketWatch): NonNullable<KafkaConfig['socketFactory']> {
  let hasLostOne = false
  return ({ host, port, ssl, onConnect: proceed }) => {
    const onConnect = () => {
      if (hasLostOne) watch.reconnected?.()
      socket.once('close', () => {
        hasLostOne = true
      })
      proceed()
    }
    const socket = ssl
      ? connectSecurely({ host, port, ...(isIP(host) > 0 ? {} : { servername: host }), ...tls() }, onConnect)
      : connectPlain({ host, port }, onConnect)
    socket.on('error', (error) => {
      if (isBrokenConnection(error)) watch.broken()
    })
    return socket.setNoDelay(true).setKeepAlive(true, 60_000)
  }
}

/** Messages contain names, so their number has no limit. */
const WARNINGS_KEPT_MAX = 100

function openNewsFilter(clock: Clock): (warning: string) => boolean {
  const loggedAt = openLruCache<number>(WARNINGS_KEPT_MAX)
  return (warning) => {
    const text = warning.replace(/\d+/g, '0')
    const [last, now] = [loggedAt.get(text), clock.monotonic()]
    const isNews = last === undefined || now - last > KAFKA_WARNING_EVERY_MS
    if (isNews) loggedAt.set(text, now)
    return isNews
  }
}

/**
 * Errors that brokers report whenever a member joins or leaves, or somebody else creates a topic; and missing topics and crashes of
 * consumers, which are logged elsewhere.
 */
const LOGGED_ELSEWHERE =
  /is rebalancing|generation id is not valid|coordinator is not available|Topic creation errors|does not host this topic-partition|^Crash: |^Restarting the consumer/

/** Errors become one warning each per interval; everything else is logged at debug level. */
function logEntriesTo({ log, isNews }: LogPorts, watch: ClientWatch): (entry: LogEntry) => void {
  return ({ level, namespace, log: { message, broker, groupId, error } }) => {
    watch.activity?.()
    const fields = { namespace, reason: message, broker, group: groupId, detail: error }
    const isWarning =
      level <= logLevel.ERROR && !LOGGED_ELSEWHERE.test(message) && !LOGGED_ELSEWHERE.test(String(error))
    if (isWarning && isNews(message)) log.warn(fields, 'kafka client warned')
    else log.debug(fields, 'kafka client reported')
  }
}

interface LateRetry {
  readonly settings: KafkaSettings
  readonly ports: KafkaPorts
  readonly signal: AbortSignal
}

/** Repeats a step while a broker answers it late, for at most `KAFKA_PREPARE_MS_MAX`. Rejects at once with any other failure. */
async function retryLate(step: () => Promise<void>, { settings, ports, signal }: LateRetry): Promise<void> {
  const deadline = ports.clock.timeout(KAFKA_PREPARE_MS_MAX)
  for (;;) {
    try {
      return await step()
    } catch (cause) {
      signal.throwIfAborted()
      if (!isLate(cause) || deadline.aborted) throwConnectFailure(settings)(cause)
    }
  }
}

const LATE = ['KafkaJSRequestTimeoutError', 'KafkaJSTopicMetadataNotLoaded']

function isLate(error: unknown): boolean {
  return LATE.includes(nameOf(error)) || isIllegalSaslState(error)
}

/**
 * After a late answer, or while it closes a connection, kafkajs authenticates a second time on the same connection. Brokers refuse that,
 * and kafkajs does not retry it. The next try uses another connection.
 */
export function isIllegalSaslState(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'ILLEGAL_SASL_STATE'
}

/** Checks that the brokers accept our credentials. Tries each broker once. */
async function probe(settings: KafkaSettings, ports: LogPorts, signal: AbortSignal): Promise<void> {
  const retry = { ...RETRY, retries: settings.brokers.length - 1 }
  const admin = withMetadata(new Kafka({ ...configOf(settings, ports, {}), retry }).admin())
  try {
    await raceAbort(
      admin.connect().then(() => admin.describeCluster()),
      signal,
    )
  } finally {
    await admin.disconnect()
  }
}

/** The caller disconnects the client. Rejects as kafkajs does. */
export async function openAdmin(client: Kafka): Promise<Admin> {
  const admin = withMetadata(client.admin({ retry: { ...RETRY, retries: 5 } }))
  await admin.connect()
  return admin
}

/** When no broker returns its metadata in time, kafkajs reads from null. That passes by itself, and is no defect of ours. */
function withMetadata(admin: Admin): Admin {
  const throwRetriable = (cause: unknown): never => {
    throw cause instanceof TypeError
      ? new kafkajs.KafkaJSTopicMetadataNotLoaded('no broker answered with its metadata')
      : cause
  }
  return {
    ...admin,
    listTopics: () => admin.listTopics().catch(throwRetriable),
    fetchTopicMetadata: (options) => admin.fetchTopicMetadata(options).catch(throwRetriable),
    describeCluster: () => admin.describeCluster().catch(throwRetriable),
  }
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
