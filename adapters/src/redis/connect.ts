/**
 * How this service holds Redis: one connection, or those of a Cluster, on which every call ends. What Redis does not answer in time,
 * cannot answer now, or was asked while nobody is connected, is `Unavailable`; callers decide what they do without it. While there
 * is no sign of life, calls are so at once, those under way included.
 * The client connects again by itself, for ever, and sends again what was under way when the connection broke: so every call must
 * be one that may run twice.
 */

import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { REDIS_CALLS_MAX, REDIS_CONNECT_MS_MAX, REDIS_RECONNECT_MS_MAX } from '@platen/contract/redis-limit.ts'
import { Cluster, Redis, type RedisOptions, ReplyError } from 'ioredis'
import { openCallTimeout } from './connect/call-timeout.ts'
import { type HealthCheck, openHealthCheck } from './connect/health-check.ts'

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

/** Where Redis is: one server, the primary that Sentinels name, or a Cluster found through any of its nodes. */
export type RedisLocation =
  | { readonly kind: 'server'; readonly address: RedisAddress }
  | {
      readonly kind: 'sentinel'
      readonly sentinels: readonly RedisAddress[]
      /** What the Sentinels call the primary. */
      readonly primary: string
      /** The Sentinels' own password; Redis has `password`. */
      readonly sentinelPassword?: string | undefined
    }
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisAddress[] }

export interface RedisSettings {
  readonly location: RedisLocation
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** Present = TLS. `ca` is PEM and replaces the system's authorities; `servername` is the name in the certificate where the host is another. */
  readonly tls?: { readonly ca?: string | undefined; readonly servername?: string | undefined } | undefined
  /** How long a call may take; after it the call is `Unavailable`. */
  readonly callMsMax: number
  /** Do the calls of one turn of the event loop go together? Many at once then cost less, and one alone comes a little later. */
  readonly isAutoPipelined?: boolean | undefined
}

export interface RedisConnection extends AsyncDisposable {
  /** Settles as the command does. Rejects with the signal's reason, or `Unavailable`; an error of the command itself is a defect and comes as it is. */
  call<T>(command: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Whether Redis is there, as far as this connection and its lines can tell. */
  readonly health: HealthCheck
  /**
   * Another connection to the same place, for calls that may take longer, and which no other then waits behind. It has no pulse of
   * its own: what one of a process finds out, all know. The caller closes it, before this one.
   */
  duplicate(callMsMax: number, signal: AbortSignal): Promise<RedisConnection>
  /** One for subscriptions, as the client has it. The caller closes it. */
  openClient(signal: AbortSignal): Promise<Client>
}

type Client = Redis | Cluster

/** Connects. Throws `Unavailable` with the reason when Redis cannot be reached, or refuses the credentials. */
export async function connectRedis(
  { clock, ...settings }: RedisSettings & { readonly clock: Clock },
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

/** Writes nothing, as there is never such a key, and is refused where no write would be taken: by a replica, or without room. */
function ping(client: Client): Promise<unknown> {
  return client.set('platen:pulse', '', 'XX')
}

function connectionBy(
  client: Client,
  settings: RedisSettings,
  shared: { readonly health: HealthCheck; readonly clock: Clock },
): RedisConnection {
  const { health, clock } = shared
  const timeout = openCallTimeout(settings.callMsMax, clock)
  const watch = health.watch((reason) => {
    if (reason !== undefined) timeout.failAll(redisDown(reason))
  })
  let underWay = 0
  return {
    health,
    async call(command, callSignal) {
      callSignal.throwIfAborted()
      if (health.isDown()) throw redisDown()
      if (underWay >= REDIS_CALLS_MAX) throw new Unavailable(`Redis has ${REDIS_CALLS_MAX} calls to answer already`)
      underWay++
      const answer = command(client)
        .catch(rethrow)
        .finally(() => underWay--)
      return raceAbort(timeout.bound(answer), callSignal)
    },
    async duplicate(callMsMax, lineSignal) {
      const own = { ...settings, callMsMax, isGathering: false }
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

async function open(settings: RedisSettings, signal: AbortSignal): Promise<Client> {
  signal.throwIfAborted()
  let [isOpen, reason]: [boolean, Error | undefined] = [false, undefined]
  // Only what has been there once is waited for: a wrong address, name or password is to be told at the start.
  const client = clientOf(settings, (times) => (isOpen ? reconnectAfter(times) : null))
  // Without a listener the client writes to stderr. What a lost connection means, each call that fails for it says.
  client.on('error', (error: Error) => {
    reason = error
  })
  // A Cluster that has no node for a slot ends without a word to who connects.
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
        ...(location.sentinelPassword !== undefined && { sentinelPassword: location.sentinelPassword }),
        ...(common.tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: common.tls }),
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

/** What would else wait for ever in the client ends here: by default it queues without bound while Redis is away. */
function optionsOf({ username, password, tls, callMsMax, isAutoPipelined = false }: RedisSettings) {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: isAutoPipelined,
    // The sign of life alone: it is not to wait for what was gathered before it.
    autoPipeliningIgnoredCommands: ['set'],
    maxRetriesPerRequest: 1,
    // Who subscribes does it again when the connection is ready: nobody handles the rejection of the client's own attempt.
    autoResubscribe: false,
    // Callers are gone by then; it frees what the client keeps of their calls, and ends its own.
    commandTimeout: callMsMax + REDIS_CONNECT_MS_MAX,
    connectTimeout: REDIS_CONNECT_MS_MAX,
    // A peer that vanished without a word shows only by its silence.
    socketTimeout: REDIS_CONNECT_MS_MAX,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls !== undefined && {
      tls: {
        ...(tls.ca !== undefined && { ca: tls.ca }),
        ...(tls.servername !== undefined && { servername: tls.servername }),
      },
    }),
  } satisfies RedisOptions
}

function reconnectAfter(times: number): number {
  return Math.min(50 * 2 ** Math.min(times - 1, 10), REDIS_RECONNECT_MS_MAX)
}

/** What Redis says when it is there and cannot serve now, or not us; everything else it objects to is our own mistake. */
const UNSERVED =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|OOM|BUSY|NOAUTH|WRONGPASS|NOPERM|UNKILLABLE) /

function rethrow(cause: unknown): never {
  const message = messageOf(cause)
  if (cause instanceof ReplyError && !UNSERVED.test(message)) throw cause
  throw new Unavailable(`Redis did not answer: ${message}`, { cause })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
