/** One watch: a long answer with one event per line. client-node reads it, and ends it after 30 seconds without a byte. */
import { KubeConfig, type RequestContext, Watch } from '@kubernetes/client-node'
import { openNotifier } from '@platen/lib/notifier.ts'
import { firstAborted, raceAbort } from '@platen/lib/race.ts'
import type { CallerOptions } from './call.ts'
import { ClusterError, errorFromAnswer, errorFromFailure } from './error.ts'
import { isKubeObject, isRecord, type KubeObject } from './object.ts'

const SECOND_MS = 1000
/** A watch that is open for this much longer than it named has lost its connection, and is resumed. */
const WATCH_OVERDUE_MS = 5 * SECOND_MS

export interface WatchOptions {
  /** The watch reports what happened after this version. */
  readonly resourceVersion: string
  readonly timeoutSeconds: number
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
 * Yields the events until the watch ends. Throws `ClusterError`, even for an error that the API server reports within the watch, or the
 * signal's reason.
 */
export async function* openWatch(
  { config, clock, meter, onBrokenConnection }: CallerOptions & { readonly config: KubeConfig },
  { path, resourceVersion, timeoutSeconds, metadataOnly = false }: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const label = `WATCH ${path.split('?', 1)[0]}`
  const overdue = clock.timeout(timeoutSeconds * 1000 + WATCH_OVERDUE_MS)
  using limited = firstAborted([signal, overdue])
  const begunAt = clock.monotonic()
  const count = (code: string) => meter.requested('GET', code, clock.monotonic() - begunAt)
  const events: [type: string, object: unknown][] = []
  const changed = openNotifier()
  const state: { isOpen: boolean; ended?: { readonly failure: unknown } } = { isOpen: false }
  using own = new WatchConfig(config, acceptOf('PartialObjectMetadata', metadataOnly))
  const opening = new Watch(own).watch(
    path,
    { allowWatchBookmarks: true, resourceVersion, timeoutSeconds },
    (type, object: unknown) => {
      events.push([type, object])
      changed.notify()
    },
    (failure: unknown) => {
      state.ended = { failure }
      changed.notify()
    },
  )
  try {
    await raceAbort(opening, limited.signal)
    if (state.ended?.failure) throw state.ended.failure
    state.isOpen = true
    count('200')
    yield { type: 'OPENED' }
    for (;;) {
      for (let event = events.shift(); event !== undefined; event = events.shift()) yield eventOf(label, event)
      if (state.ended?.failure) throw state.ended.failure
      if (state.ended !== undefined) return
      await changed.wait(limited.signal)
    }
  } catch (cause) {
    signal.throwIfAborted()
    const isSilent = overdue.aborted || (cause instanceof Error && cause.name === 'TimeoutError')
    // A connection that the other side has lost ends like this.
    if (isSilent && state.isOpen) return
    const error = cause instanceof ClusterError ? cause : failureOf(cause)
    if (!state.isOpen) count(error.status > 0 ? `${error.status}` : '<error>')
    throw error
  } finally {
    void opening.then((watch) => watch.abort()).catch(() => undefined)
  }

  function failureOf(cause: unknown): ClusterError {
    if (!own.isAuthorized) return new ClusterError(label, { status: 0, reason: 'NoCredentials' }, { cause })
    // client-node keeps neither the `Status` nor the headers of a refusal.
    const status = cause instanceof Error && 'statusCode' in cause ? Number(cause.statusCode) : 0
    if (status > 0) return new ClusterError(label, { status, reason: 'Unspecified' })
    return errorFromFailure(label, cause, onBrokenConnection)
  }
}

export function acceptOf(partial: string, metadataOnly: boolean): string {
  return metadataOnly ? `application/json;as=${partial};g=meta.k8s.io;v=v1` : 'application/json'
}

/**
 * client-node's Watch takes no header and no signal. But it asks its configuration for credentials, and connects with what it gets then.
 */
class WatchConfig extends KubeConfig implements Disposable {
  readonly #source: KubeConfig
  readonly #accept: string
  #context: RequestContext | undefined

  constructor(source: KubeConfig, accept: string) {
    super()
    this.loadFromOptions(source)
    this.#source = source
    this.#accept = accept
  }

  get isAuthorized(): boolean {
    return this.#context !== undefined
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    // The authenticators of `source` have the token of the last time.
    await this.#source.applySecurityAuthentication(context)
    context.setHeaderParam('Accept', this.#accept)
    this.#context = context
  }

  /** Ends the connection even before it is answered. */
  [Symbol.dispose](): void {
    void this.#context
      ?.getDispatcher()
      ?.destroy()
      .catch(() => undefined)
  }
}

function eventOf(label: string, [type, object]: [type: string, object: unknown]): WatchEvent {
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
