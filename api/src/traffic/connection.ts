/**
 * Handles faults below a request: bytes that are not HTTP, requests that never end, clients that still send after a refusal. Node and
 * Fastify answer these in their own format or cut the connection. Here each gets a catalogued error that reaches the client.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type HttpErrorCode, ServiceError } from '@platen/contract/domain/error.ts'
import { HEADER_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { REQUEST_RECEIVE_MS_MAX } from '../limit.ts'
import { type Problem, problemBody, problemOf } from '../problem.ts'
import type { Throttle } from './throttle.ts'

const MIB = 1024 * 1024

/** How much of an oversized body is read and discarded, so that a client that is still sending sees the 413. */
export const BODY_DISCARD_BYTES_MAX = 64 * MIB

/** Characters of `X-Request-Id` accepted from the caller. */
const REQUEST_ID_CHARS_MAX = 128

const SECOND_MS = 1000
/** How long such a body is read before the connection closes. */
const BODY_DISCARD_MS_MAX = 2 * SECOND_MS

const REQUEST_ID = new RegExp(`^[\\x20-\\x7e]{1,${REQUEST_ID_CHARS_MAX}}$`)
const REQUEST_ID_BYTES = 16

/** The caller's own request id if it is usable, else a new one. */
export function requestIdOf(header: string | string[] | undefined, ids: Ids): string {
  return typeof header === 'string' && REQUEST_ID.test(header)
    ? header
    : Buffer.from(ids.random(REQUEST_ID_BYTES)).toString('hex')
}

interface ConnectionError extends Error {
  readonly code?: string
}

export interface Connections {
  /**
   * Remembers an exchange until its answer ends, and then disposes of what the answer holds. Several requests may come before the first is
   * answered, and Node does not tell their responses when the connection closes.
   */
  track(request: FastifyRequest, reply: FastifyReply): void
  /** Handles Node's `clientError`: answers input that is not a request. */
  refuse(error: ConnectionError, socket: Socket): void
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

interface ConnectionPorts {
  readonly clock: Clock
  readonly ids: Ids
  readonly meter: ApiMeter
}

export function connections({ clock, ids, meter }: ConnectionPorts, throttle: Throttle): Connections {
  const exchanges = new WeakMap<object, Set<Exchange>>()
  const openOn = (socket: Socket): Set<Exchange> => {
    const known = exchanges.get(socket)
    if (known !== undefined) return known
    const open = new Set<Exchange>()
    exchanges.set(socket, open)
    socket.once('close', () => {
      for (const { reply } of open) reply.held?.dispose()
    })
    return open
  }
  return {
    track(request, reply) {
      const { socket } = request.raw
      const held = new DisposableStack()
      reply.held = held
      const open = openOn(socket)
      const exchange = { request, reply }
      open.add(exchange)
      held.defer(() => open.delete(exchange))
      for (const end of ['finish', 'close']) reply.raw.once(end, () => held.dispose())
    },
    refuse(error, socket) {
      // Answers are sent in the order of their requests, so the newest is the last to end.
      const exchange = [...(exchanges.get(socket) ?? [])].at(-1)
      const isOpen = exchange !== undefined && !exchange.reply.raw.writableFinished
      // A request is complete and in progress. Bytes written now would look like its answer.
      const isTaken = isOpen && (exchange.request.raw.complete || exchange.reply.raw.headersSent)
      if (error.code === 'ECONNRESET' || isTaken) return void socket.destroy()
      // Each further piece of unparsable input raises the same error again.
      if (!socket.writable) return
      if (!throttle.chargeAddress(socket.remoteAddress ?? '')) return void socket.destroy()
      const problem = problemOf(refusalOf(error))
      meter.refused(problem)
      socket.end(rawAnswer(problem, isOpen ? exchange.request.id : requestIdOf(undefined, ids)))
      // If we closed at once while the client still sends, the system would reset the connection and the answer would be lost.
      clock.timeout(BODY_DISCARD_MS_MAX).addEventListener('abort', () => socket.destroy(), { once: true })
    },
  }
}

function refusalOf({ code = '' }: ConnectionError): ServiceError {
  const known = REFUSALS.get(code)
  return known === undefined ? invalidHttp('The request is not valid HTTP.') : new ServiceError(...known)
}

const REFUSALS: ReadonlyMap<string, readonly [HttpErrorCode, string]> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', ['REQUEST_TIMEOUT', `A request must be received within ${REQUEST_RECEIVE_MS_MAX} ms.`]],
  ['HPE_HEADER_OVERFLOW', ['HEADERS_TOO_LARGE', `All headers together may have at most ${HEADER_BYTES_MAX} bytes.`]],
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
 * Refuses requests that two servers may read differently: not exactly one `Host` header, several keys, and a body that is not only chunked,
 * which Node would not decode.
 */
export function requireUnambiguous({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    throw invalidHttp('A request must have one Host header.')
  }
  const keys = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'idempotency-key').length
  if (keys > 1) throw invalidHttp('A request may have one Idempotency-Key header.')
  if (!/^(chunked)?$/i.test(headers['transfer-encoding'] ?? '')) {
    throw invalidHttp('The only Transfer-Encoding that is known is chunked.')
  }
}

function invalidHttp(message: string): ServiceError {
  return new ServiceError('INVALID_PAYLOAD', message, { reason: 'invalid_http' })
}

/**
 * Makes sure that Node never sends an answer of its own. A hook refuses a request without `Host`. An unknown `Expect` is ignored, as RFC
 * 9110 §10.1.1 allows. A caller that waits for `100 Continue` gets it when the body is read, and not before a refusal. CONNECT, which Node
 * would not answer, is refused as an unknown method.
 */
export function answerEverything(app: FastifyInstance, { ids, meter }: Omit<ConnectionPorts, 'clock'>): void {
  for (const expectation of ['checkContinue', 'checkExpectation'] as const)
    app.server.on(expectation, (request, response) => app.server.emit('request', request, response))
  app.server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    const problem = problemOf(new ServiceError('METHOD_NOT_ALLOWED', 'This server is not a proxy.'))
    meter.refused(problem)
    socket.end(rawAnswer(problem, requestIdOf(undefined, ids)))
  })
}

/**
 * The payload for an answer that is sent before its request is complete: a stream that sends the payload at once, and ends when the rest of
 * the body has been read and discarded. Content-Length makes the answer complete for the client. For us, the connection lives until the
 * end, so that a reset does not lose the answer. Other payloads are returned unchanged.
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
