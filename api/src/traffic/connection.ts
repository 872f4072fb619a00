/**
 * What happens below a request: bytes that are no HTTP, requests that never end, clients that are still sending when they have
 * been refused. Node and Fastify answer these in their own words or by cutting the line; here each gets a catalogued error, and
 * gets it across.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type HttpErrorCode, ServiceError } from '@platen/contract/error.ts'
import {
  BODY_DISCARD_BYTES_MAX,
  BODY_DISCARD_MS_MAX,
  HEADER_BYTES_MAX,
  REQUEST_ID_CHARS_MAX,
  REQUEST_RECEIVE_MS_MAX,
} from '@platen/contract/limit.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Problem, problemBody, problemOf } from '../problem.ts'
import type { Throttle } from './throttle.ts'

const REQUEST_ID = new RegExp(`^[\\x20-\\x7e]{1,${REQUEST_ID_CHARS_MAX}}$`)
const REQUEST_ID_BYTES = 16

/** The caller's own request id where it sent a usable one, else a new one. */
export function requestIdOf(header: string | string[] | undefined, ids: Ids): string {
  return typeof header === 'string' && REQUEST_ID.test(header)
    ? header
    : Buffer.from(ids.random(REQUEST_ID_BYTES)).toString('hex')
}

interface ConnectionError extends Error {
  readonly code?: string
}

/** Where the exchanges of a connection stand: needed when it breaks below any request. */
export interface Connections {
  /** Remembers the newest exchange of its connection. */
  track(request: FastifyRequest, reply: FastifyReply): void
  /** Answers what is no request any more; Node's `clientError`. */
  refuse(error: ConnectionError, socket: Socket): void
}

/** What is needed below a request. */
interface ConnectionPorts {
  readonly clock: Clock
  readonly ids: Ids
  readonly meter: ApiMeter
}

export function connections({ clock, ids, meter }: ConnectionPorts, throttle: Throttle): Connections {
  const newest = new WeakMap<object, { readonly request: FastifyRequest; readonly reply: FastifyReply }>()
  return {
    track: (request, reply) => void newest.set(request.raw.socket, { request, reply }),
    refuse(error, socket) {
      const exchange = newest.get(socket)
      const isOpen = exchange !== undefined && !exchange.reply.raw.writableFinished
      // Bytes written now would be taken for the answer to a request that has been received and is being worked on.
      const isTaken = isOpen && (exchange.request.raw.complete || exchange.reply.raw.headersSent)
      if (error.code === 'ECONNRESET' || isTaken) return void socket.destroy()
      // Every further piece of what could not be parsed raises the same error again.
      if (!socket.writable) return
      if (!throttle.chargeAddress(socket.remoteAddress ?? '')) return void socket.destroy()
      const problem = problemOf(refusalOf(error))
      meter.refused(problem)
      socket.end(rawAnswer(problem, isOpen ? exchange.request.id : requestIdOf(undefined, ids)))
      // Closing at once would make the system reset the connection under the answer while the client is still sending.
      clock.timeout(BODY_DISCARD_MS_MAX).addEventListener('abort', () => socket.destroy(), { once: true })
    },
  }
}

function refusalOf({ code = '' }: ConnectionError): ServiceError {
  const [kind, message] = REFUSALS.get(code) ?? ['INVALID_PAYLOAD', 'The request is not valid HTTP.']
  return new ServiceError(kind, message)
}

/** By the codes of Node's parser and server. */
const REFUSALS: ReadonlyMap<string, readonly [HttpErrorCode, string]> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ['REQUEST_TIMEOUT', `A request is received within ${REQUEST_RECEIVE_MS_MAX} ms.`]],
  ['HPE_HEADER_OVERFLOW', ['HEADERS_TOO_LARGE', `All headers together may be ${HEADER_BYTES_MAX} bytes long.`]],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', ['PAYLOAD_TOO_LARGE', 'The extensions of a chunk are too long.']],
])

function rawAnswer(problem: Problem, requestId: string): string {
  const body = JSON.stringify(problemBody(problem, requestId))
  return [
    `HTTP/1.1 ${problem.status} ${problem.code}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

/**
 * Leaves to Node no answer of its own: a request without `Host` is refused by a hook of ours, an `Expect` nobody knows is
 * ignored as RFC 9110 §10.1.1 allows, and CONNECT, which Node would meet with silence, is no method of ours.
 */
export function answerEverything(app: FastifyInstance, { ids, meter }: Omit<ConnectionPorts, 'clock'>): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    const problem = problemOf(new ServiceError('METHOD_NOT_ALLOWED', 'This is no proxy.'))
    meter.refused(problem)
    socket.end(rawAnswer(problem, requestIdOf(undefined, ids)))
  })
}

/**
 * The payload of an answer that goes out before its request has come in: a stream that gives the payload at once and ends when
 * the rest of the body has been read and thrown away. To the client the answer is complete by its Content-Length; for us the
 * connection lives until then, so that the answer is not lost to a reset. Any other payload is given back as it is.
 */
export function discardingRest(
  request: FastifyRequest,
  reply: FastifyReply,
  context: { payload: unknown; clock: Clock },
): unknown {
  const { payload, clock } = context
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  const isReceived = request.raw.complete || request.raw.readableEnded
  const isClosing = reply.getHeader('connection') === 'close'
  if (!hasBody || isReceived || isClosing || typeof payload !== 'string') return payload
  reply.header('connection', 'close').header('content-length', Buffer.byteLength(payload))
  return Readable.from(payloadThenRest(payload, request.raw, clock))
}

async function* payloadThenRest(payload: string, rest: IncomingMessage, clock: Clock): AsyncGenerator<string> {
  yield payload
  const { promise, resolve } = Promise.withResolvers<void>()
  let discarded = 0
  const onData = (chunk: Uint8Array) => {
    discarded += chunk.length
    if (discarded > BODY_DISCARD_BYTES_MAX) resolve()
  }
  const deadline = clock.timeout(BODY_DISCARD_MS_MAX)
  deadline.addEventListener('abort', () => resolve(), { once: true })
  rest.on('data', onData).once('end', resolve).once('close', resolve).once('error', resolve).resume()
  if (!rest.readableEnded && !rest.destroyed) await promise
  rest.off('data', onData).pause()
}
