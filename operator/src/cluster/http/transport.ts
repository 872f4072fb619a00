/** Requests as they go to the API server: over connections that are kept, each with the credentials that are in force when it goes. */
import { once } from 'node:events'
import { type IncomingMessage, Agent as PlainAgent, request as requestPlainly } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { CLUSTER_IDLE_SOCKET_MS, CLUSTER_REQUESTS_MAX } from '../../limit.ts'
import type { Access } from '../access.ts'
import { ClusterError } from '../error.ts'

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** It goes over a connection of its own, and does not count among the requests at once. */
  readonly isLong: boolean
}

export interface Transport extends Disposable {
  /** The beginning of an answer. Throws `ClusterError` when there is none, or the signal's reason, which ends the answer as well. */
  send(outgoing: OutgoingRequest, signal: AbortSignal): Promise<IncomingMessage>
  /** Connections nobody uses just now are closed: the other side may have gone without a word. */
  closeIdle(): void
}

/** What errors call a request: no query, which may be a token to go on by. */
export function labelOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.split('?', 1)[0]}`
}

export function openTransport(access: Access): Transport {
  const isSecure = access.server.startsWith('https:')
  const pool = { keepAlive: true, timeout: CLUSTER_IDLE_SOCKET_MS, maxSockets: CLUSTER_REQUESTS_MAX }
  const pooled = isSecure ? new Agent(pool) : new PlainAgent(pool)
  const unpooled = isSecure ? new Agent() : new PlainAgent()
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
        // Node frames the body of a DELETE by nothing else.
        headers: {
          ...authorized.headers,
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
        signal,
      }
      signal.throwIfAborted()
      const outgoing = (isSecure ? request : requestPlainly)(`${access.server}${path}`, options)
      // Once the answer has begun, whoever reads it learns what goes wrong.
      outgoing.on('error', () => undefined)
      outgoing.end(body)
      try {
        const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
        answer.on('error', () => undefined)
        return answer
      } catch (cause) {
        signal.throwIfAborted()
        throw new ClusterError(label, { status: 0, reason: codeOf(cause) }, { cause })
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

/** Node's word for what went wrong with a connection. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'ConnectionFailed'
}
