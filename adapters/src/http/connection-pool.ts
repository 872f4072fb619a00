import type { Socket } from 'node:net'
import { WEBHOOK_CALLS_MAX, WEBHOOK_CALLS_PER_HOST_MAX } from '@platen/contract/domain/limit.ts'
import { Client } from 'undici'

const KIB = 1024
/** Bytes of the headers of a receiver's answer. */
const WEBHOOK_HEADER_BYTES_MAX = 16 * KIB

export interface Connection {
  /** Connections are reused only for calls with the same key. */
  readonly key: string
  readonly client: Client
  readonly socket: Socket
}

/** Shorter than common servers keep an idle connection (5 s: Node, Apache). A receiver's Keep-Alive header can only shorten it. */
const KEEP_ALIVE_MS = 4000

/** We close this much earlier than the receiver says it will. */
const KEEP_ALIVE_MARGIN_MS = 1000

/** Makes an undici client that uses this one socket and never opens another: the socket was checked for what `key` says. */
export function connectionOver(socket: Socket, { key, origin }: { key: string; origin: string }): Connection {
  let isTaken = false
  const client = new Client(origin, {
    connect: (_options, give) => {
      const mayTake = !isTaken
      isTaken = true
      // Not synchronously: undici forgets the request if it gets its socket within its own call.
      queueMicrotask(() => (mayTake ? give(null, socket) : give(new Error('the connection has ended'), null)))
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: WEBHOOK_HEADER_BYTES_MAX,
    // The caller enforces all other time limits, by the clock.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    strictContentLength: true,
    // The caller stops reading when it has enough. This limit would discard what was read so far.
    maxResponseSize: -1,
  })
  return { key, client, socket }
}

export interface ConnectionPool {
  /** Takes the connection used last for this key. The caller then owns it. */
  acquire(key: string): Connection | undefined
  /** Returns a connection that can be used again. May close another one to make room. */
  release(connection: Connection): void
  destroy(): void
}

/**
 * Opens a pool of at most `WEBHOOK_CALLS_PER_HOST_MAX` connections per key and `WEBHOOK_CALLS_MAX` in total: as many as can be in use.
 * Connections that timed out or that the receiver closed still count until `acquire` finds them.
 */
export function openConnectionPool(): ConnectionPool {
  /** All idle connections, and those of each key; the one used last is at the end. */
  const idle = new Set<Connection>()
  const idleOf = new Map<string, Set<Connection>>()

  const remove = (connection: Connection) => {
    idle.delete(connection)
    const own = idleOf.get(connection.key)
    own?.delete(connection)
    if (own?.size === 0) idleOf.delete(connection.key)
  }
  const evictOldest = ([oldest]: Iterable<Connection>) => {
    if (oldest === undefined) return
    remove(oldest)
    oldest.socket.destroy()
  }

  return {
    acquire(key) {
      for (const connection of [...(idleOf.get(key) ?? [])].reverse()) {
        remove(connection)
        if (!connection.socket.destroyed) return connection
      }
      return undefined
    },
    release(connection) {
      const own = idleOf.get(connection.key) ?? new Set()
      idleOf.set(connection.key, own.add(connection))
      idle.add(connection)
      if (own.size > WEBHOOK_CALLS_PER_HOST_MAX) evictOldest(own)
      if (idle.size > WEBHOOK_CALLS_MAX) evictOldest(idle)
    },
    destroy() {
      for (const { socket } of idle) socket.destroy()
      idle.clear()
      idleOf.clear()
    },
  }
}
