/**
 * All objects of one kind, kept current by a list and then one watch after the other. It survives every failure of the connection and of
 * the API server, and ends only when it is closed.
 *
 * It guarantees three things. Each object is a state that existed, and never goes back to an older one. Every change is reported at least
 * once, after it is applied. The version to resume from moves forward only after everything before it is applied.
 */

import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import { type BackOff, backOffMs, randomFraction } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import { Cache, type Entry, type ObjectChange } from './cache.ts'
import type { ClusterClient } from './client.ts'
import { ClusterError } from './error.ts'
import type { KubeObject } from './object.ts'
import { type ObjectLocation, pathOf } from './path.ts'
import type { WatchEvent } from './watch.ts'

const SECOND_MS = 1000

/** Wait before a list or watch is tried again after a failure. After a cut connection, the API server is usually back at once. */
const WATCH_BACK_OFF: BackOff = { msMin: 25, msMax: 30 * SECOND_MS }

/** Consecutive refusals of a watch before everything is listed again: the API server may have lost the version we resume from. */
const WATCHES_REFUSED_MAX = 5

/** A watch that ends sooner without an event counts as failed. To reopen it at once would flood the API server. */
const WATCH_MS_EXPECTED = SECOND_MS

/**
 * How long the API server keeps a watch open. The request names a random time between the two, so that watches do not end together.
 * client-node ends a watch that is silent for 30 seconds, and bookmarks come only every minute. But a bookmark also comes two seconds
 * before the API server ends a watch, so that the next watch begins where that one was complete.
 */
const WATCH_MS_MIN = 20 * SECOND_MS
const WATCH_MS_MAX = 25 * SECOND_MS

/** Objects per page of a list, the usual value of Kubernetes clients. Parsing a page blocks the event loop for some ten milliseconds. */
const LIST_PAGE_OBJECTS = 500

interface InformerOptions<T> {
  readonly client: Pick<ClusterClient, 'list' | 'watch'>
  /** For logs and metrics. */
  readonly kind: string
  readonly of: ObjectLocation
  /**
   * Returns the part of an object to keep; `before` is what was last kept of the same object. When it throws, the informer logs and counts
   * the object, and keeps its last readable value.
   */
  readonly read: (object: KubeObject, before: T | undefined) => T
  /** Called for every change, in order, at least once. Must neither wait nor throw. */
  readonly onChange: (change: ObjectChange<T>) => void
  readonly metadataOnly?: boolean
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: Pick<OperatorMeter, 'relisted' | 'watched' | 'unread'>
}

/** Keys come from `keyOf`. Closing the informer ends the watch. */
export interface Informer<T> extends AsyncDisposable {
  /** Resolves when all objects have been read for the first time. Rejects when the informer is closed before. */
  readonly synced: Promise<void>
  readonly get: (key: string) => T | undefined
  readonly values: () => Iterable<T>
  /** When the API server last answered, on the monotonic clock. Undefined before the first answer. */
  readonly lastContactAt: () => number | undefined
}

export function openInformer<T>(options: InformerOptions<T>): Informer<T> {
  const { kind, log, meter, read, onChange } = options
  const closing = new AbortController()
  const cache = new Cache<T>({
    read,
    onChange,
    onUnreadable(key, err) {
      meter.unread(kind)
      log.error({ err, kind, key }, 'object unreadable')
    },
  })
  const reflector = new Reflector(options, cache)
  const ended = reflector.run(closing.signal)
  return {
    synced: reflector.synced,
    get: (key) => cache.get(key),
    values: () => cache.values(),
    lastContactAt: () => reflector.lastContactAt,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await ended
    },
  }
}

class Reflector<T> {
  readonly #options: InformerOptions<T>
  readonly #cache: Cache<T>
  readonly #synced = Promise.withResolvers<void>()
  lastContactAt: number | undefined
  /** Where the next watch starts. Undefined when unknown: then the next step is a list. */
  #resourceVersion: string | undefined
  /** Consecutive failures, and how many of them were answers of the API server. */
  #failures = 0
  #refusals = 0

  constructor(options: InformerOptions<T>, cache: Cache<T>) {
    this.#options = options
    this.#cache = cache
    // Prevents an unhandled rejection when nobody waits for `synced`.
    this.#synced.promise.catch(() => undefined)
  }

  get synced(): Promise<void> {
    return this.#synced.promise
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list(signal)
        else await this.#watch(this.#resourceVersion, signal)
      } catch (error) {
        if (!signal.aborted) await this.#backOff(error, signal).catch(() => undefined)
      }
    }
    this.#synced.reject(signal.reason)
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { meter, kind } = this.#options
    const { entries, resourceVersion } = await this.#listPages(signal)
    this.#cache.replace(entries)
    this.#resourceVersion = resourceVersion
    meter.relisted(kind)
    this.#synced.resolve()
  }

  /** All pages show one moment. Each object is read when its page arrives, so that only the part to keep stays in memory. */
  async #listPages(signal: AbortSignal) {
    const { client, of, metadataOnly = false } = this.#options
    const entries: Entry<T>[] = []
    let limit = LIST_PAGE_OBJECTS
    let token: string | undefined
    for (;;) {
      try {
        const page = await client.list(of, { limit, continue: token, metadataOnly }, signal)
        this.#noteContact()
        for (const object of page.items) entries.push(this.#cache.toEntry(object))
        token = page.continue
        if (token === undefined) return { entries, resourceVersion: page.resourceVersion }
      } catch (error) {
        if (!(error instanceof ClusterError) || error.reason !== 'TooLarge' || limit === 1) throw error
        limit = Math.ceil(limit / 4)
      }
    }
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { client, of, metadataOnly = false, clock, ids, meter, kind } = this.#options
    const timeoutSeconds = Math.round((WATCH_MS_MIN + randomFraction(ids) * (WATCH_MS_MAX - WATCH_MS_MIN)) / 1000)
    const options = { resourceVersion: from, timeoutSeconds, metadataOnly }
    let openedAt = clock.monotonic()
    let hadEvents = false
    for await (const event of client.watch(of, options, signal)) {
      this.#noteContact()
      if (event.type === 'OPENED') {
        openedAt = clock.monotonic()
        meter.watched(kind)
        continue
      }
      this.#apply(event)
      hadEvents = true
      this.#failures = 0
      this.#refusals = 0
    }
    signal.throwIfAborted()
    if (!hadEvents && clock.monotonic() - openedAt < WATCH_MS_EXPECTED) {
      throw new ClusterError(`WATCH ${pathOf(of)}`, { status: 0, reason: 'EndedAtOnce' })
    }
    this.#failures = 0
    this.#refusals = 0
  }

  #apply(event: Exclude<WatchEvent, { type: 'OPENED' }>): void {
    if (event.type === 'BOOKMARK') {
      this.#resourceVersion = event.resourceVersion
      return
    }
    if (event.type === 'DELETED') this.#cache.remove(event.object)
    else this.#cache.set(event.object)
    this.#resourceVersion = event.object.metadata.resourceVersion
  }

  #noteContact(): void {
    this.lastContactAt = this.#options.clock.monotonic()
  }

  /** Decides where to resume after a failure, and waits. */
  async #backOff(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, ids, log, kind } = this.#options
    const { status, retryAfterMs } = error instanceof ClusterError ? error : { status: 0, retryAfterMs: undefined }
    const isBusy = status === 429 || status === 503
    if (status > 0 && !isBusy) this.#refusals++
    // The version has expired (410), or the API server may have lost it (too many refusals).
    if (status === 410 || this.#refusals >= WATCHES_REFUSED_MAX) {
      this.#resourceVersion = undefined
      this.#refusals = 0
    }
    this.#failures++
    const waitMs = Math.max(backOffMs(this.#failures, WATCH_BACK_OFF, randomFraction(ids)), retryAfterMs ?? 0)
    log.warn(
      { err: error, kind, waitMs, isListedNext: this.#resourceVersion === undefined },
      'kubernetes watch failed, retrying',
    )
    await clock.sleep(waitMs, signal)
  }
}
