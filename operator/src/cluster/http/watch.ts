/** One watch: a long answer with one event per line. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '@platen/contract/port/clock.ts'
import { ClusterError, errorFromAnswer } from '../error.ts'
import { CLUSTER_ANSWER_BYTES_MAX, CLUSTER_REQUEST_MS_MAX, WATCH_EVENT_BYTES_MAX } from '../limit.ts'
import { isKubeObject, isRecord, type KubeObject } from '../object.ts'
import { acceptOf, type Connection, parseJson, transportError, withQuery } from './request.ts'
import { linesOf, readWhole } from './stream.ts'
import { labelOf } from './transport.ts'

export interface WatchOptions {
  /** The watch reports what happened after this version. */
  readonly resourceVersion: string
  /** When the API server ends the watch. */
  readonly timeoutSeconds: number
  /** How long the watch may be silent before it ends. */
  readonly idleMs: number
  readonly metadataOnly?: boolean
}

export type WatchEvent =
  /** The API server has accepted the watch. This event comes first, and once. */
  | { readonly type: 'OPENED' }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** The watch is complete up to this version. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }

interface WatchRequest extends WatchOptions {
  readonly path: string
}

/**
 * Yields the events until the watch ends. Throws `ClusterError`, also for an error that the API server reports within the watch, or the
 * signal's reason.
 */
export async function* openWatch(
  connection: Connection,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const label = labelOf({ method: 'WATCH', path: request.path })
  const silent = new AbortController()
  const either = AbortSignal.any([signal, silent.signal])
  const giveUp = () => silent.abort()
  let isOpen = false
  try {
    using opening = watchdog(connection.clock, CLUSTER_REQUEST_MS_MAX, giveUp)
    const answer = await startWatch(connection, { ...request, label }, either)
    opening[Symbol.dispose]()
    isOpen = true
    yield { type: 'OPENED' }
    using listening = watchdog(connection.clock, request.idleMs, giveUp)
    for await (const text of linesOf(resettingWatchdog(answer, listening), WATCH_EVENT_BYTES_MAX))
      yield eventOf(label, parseJson(text))
  } catch (error) {
    signal.throwIfAborted()
    if (silent.signal.aborted) connection.transport.closeIdle()
    // A connection that the other side has lost ends like this.
    if (silent.signal.aborted && isOpen) return
    throw transportError(error, label, silent.signal)
  }
}

async function startWatch(
  { transport, clock, meter }: Connection,
  { path, resourceVersion, timeoutSeconds, metadataOnly = false, label }: WatchRequest & { readonly label: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const query = { watch: '1', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds: `${timeoutSeconds}` }
  const begunAt = clock.monotonic()
  const counted = (code: string) => meter.requested('GET', code, clock.monotonic() - begunAt)
  const headers = { accept: acceptOf('PartialObjectMetadata', metadataOnly) }
  try {
    const answer = await transport.send({ method: 'GET', path: withQuery(path, query), headers, isLong: true }, signal)
    const { statusCode: status = 0 } = answer
    counted(`${status}`)
    if (status === 200) return answer
    const text = await readWhole(answer, CLUSTER_ANSWER_BYTES_MAX)
    throw errorFromAnswer(label, { status, headers: answer.headers, body: parseJson(text) })
  } catch (error) {
    if (!(error instanceof ClusterError) || error.status === 0) counted('<error>')
    throw error
  }
}

function eventOf(label: string, line: unknown): WatchEvent {
  if (!isRecord(line)) throw new ClusterError(label, { status: 0, reason: 'Malformed' })
  const { type, object } = line
  if ((type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') && isKubeObject(object)) return { type, object }
  if (type === 'ERROR' && isRecord(object)) {
    // HTTP answers 200, but the requested version may have expired long ago.
    const status = typeof object['code'] === 'number' ? object['code'] : 500
    throw errorFromAnswer(label, { status, headers: {}, body: object })
  }
  const metadata = type === 'BOOKMARK' && isRecord(object) ? object['metadata'] : undefined
  if (isRecord(metadata) && typeof metadata['resourceVersion'] === 'string') {
    return { type: 'BOOKMARK', resourceVersion: metadata['resourceVersion'] }
  }
  throw new ClusterError(label, { status: 0, reason: 'Malformed' })
}

interface Watchdog extends Disposable {
  /** Restarts the wait. */
  reset(): void
}

/** Calls `onSilence` once after `silenceMs` without `reset`. Uses one timer at a time, however often it is reset. */
function watchdog(clock: Clock, silenceMs: number, onSilence: () => void): Watchdog {
  const over = new AbortController()
  let resetAt = clock.monotonic()
  const listen = async () => {
    for (let leftMs = silenceMs; leftMs > 0; leftMs = resetAt + silenceMs - clock.monotonic()) {
      await clock.sleep(leftMs, over.signal)
    }
    onSilence()
  }
  void listen().catch(() => undefined)
  return {
    reset() {
      resetAt = clock.monotonic()
    },
    [Symbol.dispose]: () => over.abort(),
  }
}

async function* resettingWatchdog(source: AsyncIterable<Buffer>, dog: Watchdog): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    dog.reset()
    yield chunk
  }
}
