/**
 * The connection to Redis: one socket, or those of a Cluster. Every call ends. A call is `Unavailable` if Redis does not answer in time or
 * cannot serve it now, or if there is no connection; callers decide what to do without Redis. While the health check fails, calls fail at
 * once, even those under way.
 *
 * The client reconnects by itself, for ever, and repeats the calls that were under way when the connection broke. So every call must be
 * safe to run twice.
 */
import { type BackOff, backOffMs } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { isBrokenConnection, messageOf } from '@platen/lib/thrown.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { Cluster, Redis, type RedisOptions, ReplyError } from 'ioredis'
import { openCallTimeout } from './connect/call-timeout.ts'
import { type HealthCheck, openHealthCheck } from './connect/health-check.ts'
import { REDIS_CONNECT_MS_MAX, REDIS_RECONNECT_MS_MAX } from './limit.ts'

/** Calls that may wait for Redis. Further ones are refused at once, so that they do not pile up in memory. */
export const REDIS_CALLS_MAX = 10_000

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

export type RedisLocation =
  | { readonly kind: 'server'; readonly address: RedisAddress }
  | {
      readonly kind: 'sentinel'
      readonly sentinels: readonly RedisAddress[]
      /** The name that the Sentinels give to the primary. */
      readonly primary: string
      /** For the Sentinels themselves; `password` is for Redis. */
      readonly sentinelPassword?: string | undefined
    }
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisAddress[] }

/** As PEM: CA certificates instead of the system's authorities, and a client certificate with its key. */
interface RedisTls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** The name in the certificate of the server if the host differs. */
  readonly servername?: string | undefined
}

export interface RedisSettings {
  readonly location: RedisLocation
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** Present = TLS. */
  readonly tls?: RedisTls | undefined
  /** Milliseconds; after that the call is `Unavailable`. */
  readonly callMsMax: number
  /**
   * If true, the calls of one event loop turn are sent together. Many concurrent calls then cost less, and a single one takes a little
   * longer.
   */
  readonly isAutoPipelined?: boolean | undefined
}

export interface RedisConnection extends AsyncDisposable {
  /** Runs a command. Rejects with the signal's reason or `Unavailable`. An error of the command itself is a defect and stays as it is. */
  call<T>(command: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T>
  /** If true, keys of several hash slots need several calls, since they may be on different servers. */
  readonly isCluster: boolean
  /** The health of Redis as seen by this connection and its duplicates. */
  readonly health: HealthCheck
  /**
   * Opens another connection to the same Redis for slow calls, so that no other call waits behind them. It shares this health check. The
   * caller closes it before this connection.
   */
  duplicate(callMsMax: number, signal: AbortSignal): Promise<RedisConnection>
  /** Opens a raw client for subscriptions and blocking reads. The caller closes it. */
  openClient(signal: AbortSignal): Promise<Client>
}

type Client = Redis | Cluster

interface FollowedRedisSettings extends RedisSettings {
  /** Called for each new connection. Absent = credentials and certificates never change. */
  readonly latest?: () => RedisSettings
  /** Called when a connection breaks or is not accepted. */
  readonly onBrokenConnection?: () => void
}

/** Throws `Unavailable` with the reason if Redis cannot be reached or refuses the credentials. */
export async function connectRedis(
  { clock, ...settings }: FollowedRedisSettings & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<RedisConnection> {
  const client = await open(settings, signal)
  const health = openHealthCheck({ ping: () => ping(client), answerMsMax: settings.callMsMax, clock })
  const connection = connectionBy(client, settings, { health, clock })
  return {
    ...connection,
    async [Symbol.asyncDispose]() {
      await health[Symbol.asyncDispose]()
      await connection[Symbol.asyncDispose]()
    },
  }
}

/** Tries a write without effect: the key never exists. Replicas and servers without memory refuse it like any other write. */
function ping(client: Client): Promise<unknown> {
  return client.set('platen:pulse', '', 'XX')
}

function connectionBy(
  client: Client,
  settings: FollowedRedisSettings,
  shared: { readonly health: HealthCheck; readonly clock: Clock },
): RedisConnection {
  const { health, clock } = shared
  const timeout = openCallTimeout(settings.callMsMax, clock)
  const watch = health.watch((reason) => {
    if (reason !== undefined) timeout.failAll(redisDown(reason))
  })
  let underWay = 0
  return {
    isCluster: settings.location.kind === 'cluster',
    health,
    async call(command, callSignal) {
      callSignal.throwIfAborted()
      if (health.isDown()) throw redisDown()
      if (underWay >= REDIS_CALLS_MAX) throw new Unavailable(`${REDIS_CALLS_MAX} calls to Redis are pending already`)
      underWay++
      const answer = command(client)
        .catch(rethrow)
        .finally(() => underWay--)
      return raceAbort(timeout.bound(answer), callSignal)
    },
    async duplicate(callMsMax, lineSignal) {
      const own: FollowedRedisSettings = { ...settings, callMsMax, isAutoPipelined: false }
      return connectionBy(await open(own, lineSignal), own, shared)
    },
    openClient: (forkSignal) => open(settings, forkSignal),
    async [Symbol.asyncDispose]() {
      watch[Symbol.dispose]()
      timeout[Symbol.dispose]()
      client.disconnect()
    },
  }
}

function redisDown(cause?: Error): Unavailable {
  return new Unavailable('Redis is unavailable', { cause })
}

const RECONNECT_BACK_OFF: BackOff = { msMin: 50, msMax: REDIS_RECONNECT_MS_MAX }

async function open(settings: FollowedRedisSettings, signal: AbortSignal): Promise<Client> {
  signal.throwIfAborted()
  let [isOpen, reason]: [boolean, Error | undefined] = [false, undefined]
  // Reconnects only after a first success: a wrong address, name or password must be reported at the start.
  const client = clientOf(latestOf(settings), (times) => {
    // The client reads its options at each connect.
    if (client instanceof Redis) Object.assign(client.options, accessOf(latestOf(settings)))
    return isOpen ? backOffMs(times, RECONNECT_BACK_OFF) : null
  })
  // A Cluster makes a client for each node that it learns of, and another one when it was lost.
  client.on('+node', (node: Redis) => Object.assign(node.options, accessOf(latestOf(settings))))
  // Without a listener the client writes to stderr. Calls that fail because of a lost connection report it.
  client.on('error', (error: Error) => {
    reason = error
    if (isBrokenConnection(error)) settings.onBrokenConnection?.()
  })
  client.on('node error', (error: Error) => {
    if (isBrokenConnection(error)) settings.onBrokenConnection?.()
  })
  // A Cluster without a node for some slot ends without rejecting `connect`.
  const ended = Promise.withResolvers<never>()
  client.once('end', () => ended.reject(new Error('the connection was closed')))
  try {
    await raceAbort(Promise.race([client.connect(), ended.promise]), signal)
    isOpen = true
    return client
  } catch (cause) {
    client.disconnect()
    signal.throwIfAborted()
    throw new Unavailable(`cannot connect to Redis: ${messageOf(reason ?? cause)}`, { cause: reason ?? cause })
  }
}

function latestOf({ latest, ...settings }: FollowedRedisSettings): RedisSettings {
  if (latest === undefined) return settings
  const { username, password, tls, location } = latest()
  return { ...settings, username, password, tls, location }
}

function clientOf(settings: RedisSettings, retryStrategy: (times: number) => number | null): Client {
  const { location, callMsMax } = settings
  const common = optionsOf(settings)
  switch (location.kind) {
    case 'server':
      return new Redis({ ...common, ...location.address, retryStrategy })
    case 'sentinel':
      return new Redis({
        ...common,
        sentinels: location.sentinels.map(({ host, port }) => ({ host, port })),
        name: location.primary,
        ...(settings.tls !== undefined && { enableTLSForSentinelMode: true }),
        sentinelCommandTimeout: callMsMax,
        retryStrategy,
        sentinelRetryStrategy: retryStrategy,
      })
    case 'cluster': {
      const { enableOfflineQueue, ...redisOptions } = common
      return new Cluster(
        location.nodes.map(({ host, port }) => ({ host, port })),
        {
          redisOptions,
          lazyConnect: true,
          enableOfflineQueue,
          slotsRefreshTimeout: REDIS_CONNECT_MS_MAX,
          clusterRetryStrategy: retryStrategy,
        },
      )
    }
  }
}

/** Bounds every wait. By default the client queues calls without limit while Redis is unavailable. */
function optionsOf(settings: RedisSettings) {
  const { callMsMax, isAutoPipelined = false } = settings
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: isAutoPipelined,
    // For the ping of the health check: it must not wait for the calls gathered before it.
    autoPipeliningIgnoredCommands: ['set'],
    maxRetriesPerRequest: 1,
    // Subscribers subscribe again when the connection is ready. A rejection of the client's own attempt would be unhandled.
    autoResubscribe: false,
    // Callers have timed out by then. This frees the client's memory of their calls, and ends calls of the client itself.
    commandTimeout: callMsMax + REDIS_CONNECT_MS_MAX,
    connectTimeout: REDIS_CONNECT_MS_MAX,
    // A peer that vanished without closing shows only by its silence.
    socketTimeout: REDIS_CONNECT_MS_MAX,
    ...accessOf(settings),
  } satisfies RedisOptions
}

/** Credentials and certificates, which may change. */
function accessOf({ username, password, tls, location }: RedisSettings) {
  const options = tls && Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined))
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(options !== undefined && { tls: options }),
    ...(location.kind === 'sentinel' && {
      ...(location.sentinelPassword !== undefined && { sentinelPassword: location.sentinelPassword }),
      ...(options !== undefined && { sentinelTLS: options }),
    }),
  } satisfies RedisOptions
}

/** Errors of a Redis that runs but cannot serve us now. Every other error is a defect of ours. */
const UNSERVED =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|OOM|BUSY|NOAUTH|WRONGPASS|NOPERM|UNKILLABLE) /

function rethrow(cause: unknown): never {
  const message = messageOf(cause)
  if (cause instanceof ReplyError && !UNSERVED.test(message)) throw cause
  throw new Unavailable(`Redis did not answer: ${message}`, { cause })
}
