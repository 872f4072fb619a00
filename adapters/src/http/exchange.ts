/** One POST over an open connection, and the beginning of its response. */
import type { IncomingHttpHeaders } from 'node:http'
import type { WebhookRequest } from '@platen/contract/port/webhook-sender.ts'
import type { Connection } from './connection-pool.ts'
import { WEBHOOK_EXCERPT_BYTES_MAX } from './limit.ts'

export interface Head {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
}

export interface Exchange {
  readonly connection: Connection
  readonly head: Promise<Head>
  /** Resolves when the response has ended or enough of it was read. */
  readonly stopped: Promise<void>
  /** True as soon as any part of the response has arrived. */
  hasBegun(): boolean
  hasEnded(): boolean
  /** Hangs up. If no head has arrived, `head` rejects with the reason. */
  end(reason: unknown): void
  body(): Uint8Array
}

interface ExchangeInput {
  readonly url: URL
  readonly request: WebhookRequest
}

/** Reads the response until it ends, until there is enough of it, or until the socket is destroyed. */
export function beginExchange(connection: Connection, { url, request }: ExchangeInput): Exchange {
  const head = Promise.withResolvers<Head>()
  const stopped = Promise.withResolvers<void>()
  const chunks: Uint8Array[] = []
  let bytes = 0
  let hasBegun = false
  let hasEnded = false
  const headers = { ...request.headers, 'Accept-Encoding': 'identity' }
  // Not undici's `request`, which makes a stream of every body.
  connection.client.dispatch(
    { method: 'POST', path: `${url.pathname}${url.search}`, headers, body: request.body },
    {
      // undici requires this method. A call is ended by destroying its socket.
      onRequestStart: () => undefined,
      onResponseStarted() {
        hasBegun = true
      },
      onResponseStart(_controller, statusCode, headers) {
        // Ignores informational responses, except 101: after a protocol switch no other response follows.
        if (statusCode >= 200 || statusCode === 101) head.resolve({ statusCode, headers })
      },
      onResponseData(_controller, chunk) {
        if (bytes < WEBHOOK_EXCERPT_BYTES_MAX) chunks.push(chunk)
        bytes += chunk.length
        if (bytes >= WEBHOOK_EXCERPT_BYTES_MAX) stopped.resolve()
      },
      onResponseEnd() {
        hasEnded = true
        stopped.resolve()
      },
      onResponseError(_controller, error) {
        head.reject(error)
        stopped.resolve()
      },
    },
  )
  return {
    connection,
    head: head.promise,
    stopped: stopped.promise,
    hasBegun: () => hasBegun,
    hasEnded: () => hasEnded,
    end(reason) {
      head.reject(reason)
      stopped.resolve()
      connection.socket.destroy()
    },
    body: () => Buffer.concat(chunks),
  }
}
