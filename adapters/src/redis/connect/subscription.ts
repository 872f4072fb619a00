/** A subscription to one channel, on its own connection, since a subscribed one can do nothing else. Subscribes again after a loss. */

import { raceAbort } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Cluster, Redis } from 'ioredis'
import type { HealthCheck } from './health-check.ts'

export interface Subscriber {
  readonly channel: string
  readonly onMessage: (message: string) => void
  /** Until `onReconnect`, messages are not received or Redis cannot be used. */
  readonly onDisconnect?: () => void
  /** Messages are received again. Some may have been missed. */
  readonly onReconnect: () => void
}

interface Connection {
  readonly health: HealthCheck
  openClient(signal: AbortSignal): Promise<Redis | Cluster>
}

interface Subscription extends Disposable {
  /** Are messages received now, and can all processes publish? */
  isReceiving(): boolean
}

/** Resolves when messages are received; throws `Unavailable`. */
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
    // A second subscription changes nothing. A connection whose peer disappeared without closing fails only when it is used.
    await client.subscribe(channel)
    isReceiving = !redis.health.isDown()
    if (isReceiving) onReconnect()
  }
  // If this connection breaks too, `ready` is emitted again.
  const tryToResubscribe = () => void resubscribe().catch(() => undefined)
  client.on('close', disconnect)
  client.on('ready', tryToResubscribe)
  const watch = redis.health.watch((reason) => (reason === undefined ? tryToResubscribe() : disconnect()))
  return {
    // A process that still considers Redis unavailable publishes nothing.
    isReceiving: () => isReceiving && !redis.health.wasRecentlyDown(),
    [Symbol.dispose]() {
      watch[Symbol.dispose]()
      client.disconnect()
    },
  }
}
