/** The connections to the API server. Keeps them alive, and sends each request with the credentials that are valid at that moment. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import type { Socket } from 'node:net'
import type { RequestMethod } from '@platen/contract/port/operator-meter.ts'
import { codeOf, isBrokenConnection } from '@platen/contract/thrown.ts'
import type { Access } from '../access.ts'
import { ClusterError } from '../error.ts'
import { CLUSTER_IDLE_SOCKET_MS, CLUSTER_REQUESTS_MAX } from '../limit.ts'

// An `import` would load all of undici, too.
const { Agent: PlainAgent, request: requestPlainly } = process.getBuiltinModule('node:http')

export interface OutgoingRequest {
  readonly method: RequestMethod
  /** Includes the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The request uses a connection of its own and does not count toward `CLUSTER_REQUESTS_MAX`. */
  readonly isLong: boolean
}

export interface Transport extends Disposable {
  /**
   * Resolves when the headers of the answer have arrived. Throws `ClusterError` when no answer comes, or the signal's reason. The signal
   * also ends the answer.
   */
  send(outgoing: OutgoingRequest, signal: AbortSignal): Promise<IncomingMessage>
  /** Closes the idle connections: the other side may have vanished without closing them. */
  closeIdle(): void
}

/** Names a request in errors. Leaves out the query, which may contain a continue token. */
export function labelOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.split('?', 1)[0]}`
}

/** Calls `onBroken` when a connection breaks or is not accepted. */
export function openTransport(access: Access, onBroken: () => void = () => undefined): Transport {
  const isSecure = access.server.startsWith('https:')
  const pool = { keepAlive: true, timeout: CLUSTER_IDLE_SOCKET_MS, maxSockets: CLUSTER_REQUESTS_MAX }
  const pooled = isSecure ? new Agent(pool) : new PlainAgent(pool)
  const unpooled = isSecure ? new Agent() : new PlainAgent()
  const watchedSockets = new WeakSet<Socket>()
  const watch = (socket: Socket) => {
    // A kept connection serves many requests.
    if (watchedSockets.has(socket)) return
    watchedSockets.add(socket)
    socket.on('error', (error) => {
      if (isBrokenConnection(error)) onBroken()
    })
  }
  return {
    async send({ method, path, headers, body, isLong }, signal) {
      const label = labelOf({ method, path })
      const authorized = await access.authorize().catch((cause: unknown) => {
        throw new ClusterError(label, { status: 0, reason: 'NoCredentials' }, { cause })
      })
      const options: RequestOptions = {
        agent: isLong ? unpooled : pooled,
        ...authorized,
        method,
        headers: { ...authorized.headers, ...headers },
        signal,
      }
      signal.throwIfAborted()
      const outgoing = (isSecure ? request : requestPlainly)(`${access.server}${path}`, options)
      // After the answer has started, its reader receives the error.
      outgoing.on('error', () => undefined)
      outgoing.on('socket', watch)
      outgoing.end(body)
      try {
        const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
        answer.on('error', () => undefined)
        return answer
      } catch (cause) {
        signal.throwIfAborted()
        throw new ClusterError(label, { status: 0, reason: codeOf(cause) ?? 'ConnectionFailed' }, { cause })
      }
    },
    closeIdle() {
      for (const sockets of Object.values(pooled.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    },
    [Symbol.dispose]() {
      pooled.destroy()
      unpooled.destroy()
    },
  }
}
