/** A subscription to one channel, on a connection of its own, as a subscribed one can do nothing else. It subscribes again by itself. */

import { raceAbort } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Cluster, Redis } from 'ioredis'
import type { HealthCheck } from './health-check.ts'

export interface Subscriber {
  readonly channel: string
  readonly onMessage: (message: string) => void
  /** Messages are no longer received, or Redis cannot be used, until `onReconnect`. */
  readonly onDisconnect?: () => void
  /** Messages are received again. Some may have been missed. */
  readonly onReconnect: () => void
}

/** What it needs of a connection to Redis. */
interface Connection {
  readonly health: HealthCheck
  openClient(signal: AbortSignal): Promise<Redis | Cluster>
}

interface Subscription extends Disposable {
  /** Are messages received now, and can all processes publish? */
  isReceiving(): boolean
}

/** Subscribes. Resolves when messages are received; throws `Unavailable`. */
export async function subscribe(
  redis: Connection,
  { channel, onMessage, onDisconnect, onReconnect }: Subscriber,
  signal: AbortSignal,
): Promise<Subscription> {
  const client = await redis.openClient(signal)
  client.on('message', (_channel: string, message: string) => onMessage(message))
  try {
    await raceAbort(client.subscribe(channel), signal)
  } catch (cause) {
    client.disconnect()
    signal.throwIfAborted()
    throw new Unavailable(`cannot subscribe to ${channel}`, { cause })
  }
  let isReceiving = !redis.health.isDown()
  const disconnect = () => {
    isReceiving = false
    onDisconnect?.()
  }
  const resubscribe = async () => {
    // A second subscription changes nothing. And a connection whose peer is gone without closing only fails when it is used.
    await client.subscribe(channel)
    isReceiving = !redis.health.isDown()
    if (isReceiving) onReconnect()
  }
  // If this connection breaks too, `ready` is emitted once more.
  const tryToResubscribe = () => void resubscribe().catch(() => undefined)
  client.on('close', disconnect)
  client.on('ready', tryToResubscribe)
  const watch = redis.health.watch((reason) => (reason === undefined ? tryToResubscribe() : disconnect()))
  return {
    // While another process still takes Redis for unavailable, it publishes nothing.
    isReceiving: () => isReceiving && !redis.health.wasRecentlyDown(),
    [Symbol.dispose]() {
      watch[Symbol.dispose]()
      client.disconnect()
    },
  }
}
