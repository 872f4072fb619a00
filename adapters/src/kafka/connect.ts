/**
 * The connection to Kafka: one producer per process, an admin client where needed, and consumers. Each consumer has its own sockets,
 * since a slow response to one would delay the others.
 *
 * The producer waits for all in-sync replicas and is not idempotent. After a lost response, an idempotent kafkajs producer gives the
 * next record the sequence number of the last one, and the broker drops it as a duplicate. So a record may be there twice, and
 * consumers must handle that.
 */
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { openLruCache } from '@platen/contract/lru-cache.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { isBrokenConnection, messageOf } from '@platen/contract/thrown.ts'
import { type Admin, Kafka, type KafkaConfig, type LogEntry, logLevel, Partitioners } from 'kafkajs'
import { batchSends } from './client/batch.ts'
import { patchKafkajs } from './client/kafkajs-patches.ts'
import { type KafkaSasl, saslOf } from './client/sasl.ts'
import {
  KAFKA_BACK_OFF,
  KAFKA_CONNECT_MS_MAX,
  KAFKA_PREPARE_MS_MAX,
  KAFKA_REQUEST_MS_MAX,
  KAFKA_WARNING_EVERY_MS,
} from './limit.ts'

/** As PEM: CA certificates instead of the system's authorities, and a client certificate with its key. */
export interface KafkaTls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** The name in the certificate of the broker if the host differs. */
  readonly servername?: string | undefined
}

/** How a client proves who it is, and whom it trusts. */
export interface KafkaAccess {
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

export interface KafkaPorts {
  readonly clock: Clock
  readonly log: Log
}

/** A record to send. Its key determines the partition. */
export interface OutgoingRecord {
  readonly key: string | Uint8Array | null
  readonly value: Uint8Array | string | null
  readonly headers?: Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[] | undefined>>
}

export interface KafkaConnection extends AsyncDisposable, KafkaPorts {
  /** Resolves when every in-sync replica has all records. Rejects with the signal's reason or `Unavailable`; each may then be stored. */
  send(topic: string, records: readonly OutgoingRecord[], signal: AbortSignal): Promise<void>
  /** The client that reads and creates topics and groups. Connects at the first call, and closes with the connection. */
  admin(): Promise<Admin>
  /** Makes a client with its own sockets, for one consumer. */
  client(watch?: ClientWatch): Kafka
  /** Whether to log a repeated warning: the same text once in `KAFKA_WARNING_EVERY_MS`, whatever numbers are in it. */
  readonly isNews: (warning: string) => boolean
}

/** What a client reports of itself. */
export interface ClientWatch {
  /** It logged something. */
  activity?(): void
  /** It has a connection to a broker after it had lost one, and has sent nothing on it yet. */
  reconnected?(): void
}

/** Connects. Throws `Unavailable` with the reason if no broker can be reached, or if it refuses the credentials or the certificate. */
export async function connectKafka(
  settings: KafkaSettings,
  ports: KafkaPorts,
  signal: AbortSignal,
): Promise<KafkaConnection> {
  signal.throwIfAborted()
  patchKafkajs(ports.clock)
  const isNews = openNewsFilter(ports.clock)
  const filtered = { ...ports, isNews }
  const client = (watch: ClientWatch = {}) => new Kafka(configOf(settings, filtered, { watch, isRetried: true }))
  await probe(settings, filtered, signal)
  const producer = client().producer({
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

/** Throws `Unavailable` with the error of a kafkajs call as its cause. For use in `catch`. */
export function throwUnavailable(cause: unknown): never {
  throw cause instanceof Unavailable ? cause : new Unavailable(`Kafka did not answer: ${messageOf(cause)}`, { cause })
}

const { msMin: initialRetryTime, msMax: maxRetryTime } = KAFKA_BACK_OFF
const RETRY = { initialRetryTime, maxRetryTime, factor: 0.2, multiplier: 2 }

type LogPorts = KafkaPorts & Pick<KafkaConnection, 'isNews'>

interface ClientUse {
  readonly watch: ClientWatch
  /** Are refused credentials tried again? */
  readonly isRetried: boolean
}

function configOf(settings: KafkaSettings, ports: LogPorts, { watch, isRetried }: ClientUse): KafkaConfig {
  const { brokers, clientId, sasl, tls, latest = () => settings, onBrokenConnection = () => undefined } = settings
  const { clock } = ports
  return {
    brokers: [...brokers],
    clientId,
    ...(sasl !== undefined && {
      sasl: saslOf({ mechanism: sasl.mechanism, latest: () => latest().sasl ?? sasl, clock, isRetried }),
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

/** Turns off Nagle's algorithm: a request is one small write, and a caller waits for the response. `tls` returns the certificates of now. */
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
 * Errors that brokers report whenever a member joins or leaves, or somebody else creates a topic, and those that are logged elsewhere:
 * missing topics, and crashes of consumers.
 */
const LOGGED_ELSEWHERE =
  /is rebalancing|generation id is not valid|coordinator is not available|Topic creation errors|does not host this topic-partition|^Crash: |^Restarting the consumer/

/** Takes the log of kafkajs. Errors become one warning each per interval; everything else is logged at debug level. */
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

/** Finds out whether the brokers take us. A broker that answers late is asked again; any other failure is reported at once. */
async function probe(settings: KafkaSettings, ports: LogPorts, signal: AbortSignal): Promise<void> {
  const deadline = ports.clock.timeout(KAFKA_PREPARE_MS_MAX)
  for (;;) {
    try {
      return await probeOnce(settings, ports, signal)
    } catch (cause) {
      signal.throwIfAborted()
      const isLate = nameOf(cause) === 'KafkaJSRequestTimeoutError'
      if (!isLate || deadline.aborted) throwConnectFailure(settings)(cause)
    }
  }
}

/** Tries each broker once. */
async function probeOnce(settings: KafkaSettings, ports: LogPorts, signal: AbortSignal): Promise<void> {
  const config = configOf(settings, ports, { watch: {}, isRetried: false })
  const admin = new Kafka({ ...config, retry: { ...RETRY, retries: settings.brokers.length - 1 } }).admin()
  try {
    await raceAbort(
      admin.connect().then(() => admin.describeCluster()),
      signal,
    )
  } finally {
    await admin.disconnect()
  }
}

/** Connects an admin client. The caller disconnects it. Rejects as kafkajs does. */
export async function openAdmin(client: Kafka): Promise<Admin> {
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
