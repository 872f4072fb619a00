/** One POST over a connection that is there, and what is read of its answer. */
import type { IncomingHttpHeaders } from 'node:http'
import type { WebhookRequest } from '@platen/contract/port/webhook-sender.ts'
import { WEBHOOK_EXCERPT_BYTES_MAX } from '@platen/contract/webhook-limit.ts'
import type { Connection } from './connection-pool.ts'

/** The beginning of an answer, as far as its headers go. */
export interface Head {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
}

/** A request and its answer, as far as it has come. */
export interface Exchange {
  readonly connection: Connection
  readonly head: Promise<Head>
  /** Resolves when there is nothing more to read, or enough was read. */
  readonly stopped: Promise<void>
  /** Has any of the answer come? */
  hasBegun(): boolean
  /** Has all of it come? */
  hasEnded(): boolean
  /** What was read of it. */
  body(): Uint8Array
}

interface ExchangeInput {
  readonly url: URL
  readonly request: WebhookRequest
}

/** Sends a request. The answer is read until it ends, there is enough of it, or somebody destroys the socket. */
export function beginExchange(connection: Connection, { url, request }: ExchangeInput): Exchange {
  const head = Promise.withResolvers<Head>()
  const stopped = Promise.withResolvers<void>()
  const chunks: Uint8Array[] = []
  let bytes = 0
  let hasBegun = false
  let hasEnded = false
  const headers = { ...request.headers, 'Accept-Encoding': 'identity' }
  // Below undici's `request`, which makes a stream of every body.
  connection.client.dispatch(
    { method: 'POST', path: `${url.pathname}${url.search}`, headers, body: request.body },
    {
      // The socket is what ends it; undici insists on the method.
      onRequestStart: () => undefined,
      onResponseStarted() {
        hasBegun = true
      },
      onResponseStart(_controller, statusCode, headers) {
        // What comes before the answer is none; but who changes the protocol says nothing more in this one.
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
    body: () => Buffer.concat(chunks),
  }
}
