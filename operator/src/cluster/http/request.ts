/** One request to the API server and its complete answer. */

import type { Clock } from '@platen/contract/port/clock.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import { firstAborted } from '@platen/contract/race.ts'
import { codeOf } from '@platen/contract/thrown.ts'
import { ClusterError, errorFromAnswer } from '../error.ts'
import {
  CLUSTER_ANSWER_BYTES_MAX,
  CLUSTER_BUSY_MS_MAX,
  CLUSTER_BUSY_RETRIES_MAX,
  CLUSTER_REQUEST_MS_MAX,
} from '../limit.ts'
import { readWhole, TooLargeError } from './stream.ts'
import { labelOf, type OutgoingRequest, type Transport } from './transport.ts'

export interface ApiRequest extends Pick<OutgoingRequest, 'method' | 'path'> {
  readonly query?: Readonly<Record<string, string>>
  readonly accept?: string
  readonly body?: object
  readonly contentType?: string
}

export interface Connection {
  readonly transport: Transport
  readonly clock: Clock
  readonly meter: Pick<OperatorMeter, 'requested'>
}

export function acceptOf(partial: string, metadataOnly: boolean): string {
  return metadataOnly ? `application/json;as=${partial};g=meta.k8s.io;v=v1` : 'application/json'
}

/** `path` may already have a query. */
export function withQuery(path: string, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`
}

/**
 * Sends a request, and sends it again when the API server is busy and says how long to wait. In that case the first request had no
 * effect.
 */
export async function requestWithRetry(
  connection: Connection,
  request: ApiRequest,
  signal: AbortSignal,
): Promise<unknown> {
  for (let retries = 0; ; retries++) {
    try {
      return await requestOnce(connection, request, signal)
    } catch (error) {
      const waitMs = error instanceof ClusterError ? error.retryAfterMs : undefined
      if (waitMs === undefined || waitMs > CLUSTER_BUSY_MS_MAX || retries === CLUSTER_BUSY_RETRIES_MAX) throw error
      await connection.clock.sleep(waitMs, signal)
    }
  }
}

async function requestOnce(
  { transport, clock, meter }: Connection,
  request: ApiRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const { method, path, query, body, accept = 'application/json', contentType = 'application/json' } = request
  const timedOut = clock.timeout(CLUSTER_REQUEST_MS_MAX)
  using limited = firstAborted([signal, timedOut])
  const label = labelOf(request)
  const begunAt = clock.monotonic()
  const counted = (code: string) => meter.requested(method, code, clock.monotonic() - begunAt)
  try {
    const headers = { accept, ...(body !== undefined && { 'content-type': contentType }) }
    const outgoing = {
      method,
      path: withQuery(path, query),
      headers,
      body: body && JSON.stringify(body),
      isLong: false,
    }
    const answer = await transport.send(outgoing, limited.signal)
    const { statusCode: status = 0 } = answer
    const read = parseJson(await readWhole(answer, CLUSTER_ANSWER_BYTES_MAX))
    if (status >= 300) throw errorFromAnswer(label, { status, headers: answer.headers, body: read })
    // Otherwise undefined would look like the answer that the object does not exist.
    if (read === undefined) throw new ClusterError(label, { status: 0, reason: 'Malformed' })
    counted(`${status}`)
    return read
  } catch (error) {
    const isAnswered = error instanceof ClusterError && error.status > 0
    counted(isAnswered ? `${error.status}` : '<error>')
    if (isAnswered) throw error
    signal.throwIfAborted()
    if (timedOut.aborted) transport.closeIdle()
    throw transportError(error, label, timedOut)
  }
}

/** Converts the failure of an answer that did not arrive, or not completely, to a `ClusterError`. */
export function transportError(error: unknown, label: string, timedOut: AbortSignal): ClusterError {
  if (error instanceof ClusterError) return error
  const cause = { cause: error }
  if (error instanceof TooLargeError) return new ClusterError(label, { status: 0, reason: 'TooLarge' }, cause)
  const reason = timedOut.aborted ? 'Timeout' : (codeOf(error) ?? 'ConnectionFailed')
  return new ClusterError(label, { status: 0, reason }, cause)
}

/** Returns undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
