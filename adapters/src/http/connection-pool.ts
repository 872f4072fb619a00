/** Connections to receivers that are kept for the next call, and for how long. */
import type { Socket } from 'node:net'
import {
  WEBHOOK_CALLS_MAX,
  WEBHOOK_CALLS_PER_HOST_MAX,
  WEBHOOK_HEADER_BYTES_MAX,
} from '@platen/contract/webhook-limit.ts'
import { Client } from 'undici'

export interface Connection {
  /** What it may be used for: nothing else but calls of the same key. */
  readonly key: string
  readonly client: Client
  /** Destroying it ends the connection. */
  readonly socket: Socket
}

/**
 * Shorter than any server in use keeps a connection on which nothing is said (5 s: Node, Apache). What a receiver asks for in
 * Keep-Alive may only shorten it.
 */
const KEEP_ALIVE_MS = 4000

/** How much earlier than a receiver says it closes we do. */
const KEEP_ALIVE_MARGIN_MS = 1000

/** An undici client that has this one socket and never another: it was checked for what `key` says. */
export function connectionOver(socket: Socket, { key, origin }: { key: string; origin: string }): Connection {
  let isTaken = false
  const client = new Client(origin, {
    connect: (_options, give) => {
      const mayTake = !isTaken
      isTaken = true
      // Not at once: undici takes a socket that is given within its own call and then forgets the request it is for.
      queueMicrotask(() => (mayTake ? give(null, socket) : give(new Error('the connection has ended'), null)))
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: WEBHOOK_HEADER_BYTES_MAX,
    // All limits of time but that of an idle connection are the caller's, by the clock.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    strictContentLength: true,
    // The caller stops reading where it has enough; this limit would take what it has read with it.
    maxResponseSize: -1,
  })
  return { key, client, socket }
}

/** Those that nobody is using. */
export interface ConnectionPool {
  /** The one used last for this key, if there is any left; it is the caller's then. */
  acquire(key: string): Connection | undefined
  /** Takes one back that is fit for another call, and may give up another for it. */
  release(connection: Connection): void
  /** Ends all. */
  destroy(): void
}

/**
 * At most `WEBHOOK_CALLS_PER_HOST_MAX` of a key and `WEBHOOK_CALLS_MAX` in all, as many as may be in use. Those whose time is over, or
 * which the receiver has closed, count until they come up.
 */
export function openConnectionPool(): ConnectionPool {
  /** The keys in the order of their last use, and of each the connections in theirs. */
  const idle = new Map<string, Connection[]>()
  let count = 0

  /** One end of a key's: the last is the freshest. */
  const remove = (key: string, end: 'shift' | 'pop'): Connection | undefined => {
    const ofKey = idle.get(key) ?? []
    const connection = ofKey[end]()
    if (connection !== undefined) count -= 1
    if (ofKey.length === 0) idle.delete(key)
    return connection
  }
  const evict = (key: string) => remove(key, 'shift')?.socket.destroy()

  return {
    acquire(key) {
      let connection = remove(key, 'pop')
      while (connection?.socket.destroyed === true) connection = remove(key, 'pop')
      return connection
    },
    release(connection) {
      const { key } = connection
      const ofKey = idle.get(key) ?? []
      ofKey.push(connection)
      idle.delete(key)
      idle.set(key, ofKey)
      count += 1
      if (ofKey.length > WEBHOOK_CALLS_PER_HOST_MAX) evict(key)
      const [oldest] = idle.keys()
      if (count > WEBHOOK_CALLS_MAX && oldest !== undefined) evict(oldest)
    },
    destroy() {
      for (const { socket } of [...idle.values()].flat()) socket.destroy()
      idle.clear()
      count = 0
    },
  }
}
