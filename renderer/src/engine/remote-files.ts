/**
 * Files that templates fetch from the hosts they list, cached for a while. Neither render threads nor Chromium have a network: they get
 * bytes that this process fetches, which runs no code of a tenant. A cached file belongs to one version of one template of one tenant. No
 * other template gets it, even for the same URL.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { AssetDigest } from '@platen/contract/domain/tenant.ts'
import type { Egress } from '@platen/contract/port/egress.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
import { raceAbort } from '@platen/lib/race.ts'
import type { RenderWork } from '../port/engine.ts'
import { shared } from '../port/shared-bytes.ts'
import type { RemoteFile } from '../template/asset/remote-images.ts'
import { FilesNeeded } from '../template/asset/remote-images.ts'
import { EGRESS_CACHE_BYTES_MAX, EGRESS_CACHE_MS } from './limit.ts'

/** Concurrent fetches of one tenant; a browser opens six connections to a host. With more, this service could be used to attack others. */
export const EGRESS_AT_ONCE_MAX = 8

/** Runs of one document: most files come in the first rounds, then those that only layout shows, and those of page numbers that move. */
const EGRESS_ROUNDS_MAX = 5

export interface RemoteFiles {
  /** Rejects with the signal's reason. Throws `asset_unavailable` as `Egress.get` does. */
  fetch(work: RenderWork, url: string, signal: AbortSignal): Promise<RemoteFile>
  cached(work: RenderWork, url: string): RemoteFile | undefined
  /**
   * Runs a task until it throws no `FilesNeeded`. The first run gets the files that the template needed last time. Throws as `fetch` and
   * the task do.
   */
  runWithFiles<Result>(
    work: RenderWork,
    task: (work: RenderWork) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>
}

/** For engines that fetch nothing: a template that needs a file fails. */
export const NO_REMOTE_FILES: RemoteFiles = {
  fetch: () => Promise.reject(nothingFetched()),
  cached: () => undefined,
  runWithFiles: (work, task) =>
    task(work).catch((error: unknown) => {
      throw error instanceof FilesNeeded ? nothingFetched() : error
    }),
}

function nothingFetched(): ServiceError {
  return new ServiceError('asset_unavailable', 'this process fetches no files')
}

interface CachedFile {
  readonly file: RemoteFile
  /** In the clock's monotonic time. */
  readonly until: number
}

const TEMPLATES_MAX = 200
const GUESSED_MAX = 100

export function openRemoteFiles({ egress, clock }: { egress: Egress; clock: Clock }): RemoteFiles {
  // Metadata of a file takes a few hundred bytes.
  const cache = openLruCache<CachedFile>(EGRESS_CACHE_BYTES_MAX, ({ file }) => file.bytes.byteLength + 1024)
  const lastFetched = openLruCache<readonly string[]>(TEMPLATES_MAX)
  const fetchOnce = openSingleFlight<RemoteFile>()
  const turns = openFairSemaphore({ permits: Number.POSITIVE_INFINITY, permitsPerTenant: EGRESS_AT_ONCE_MAX })

  function cached(work: RenderWork, url: string): RemoteFile | undefined {
    const found = cache.get(keyOf(work, url))
    return found === undefined || found.until <= clock.monotonic() ? undefined : found.file
  }

  async function download(work: RenderWork, url: string, signal: AbortSignal): Promise<RemoteFile> {
    using _ = await turns.acquire(work.tenant, signal)
    const { bytes, type } = await egress.get(url, work.template.allowedHosts ?? [], signal)
    // The type means a SHA-256 in lower-case hex.
    const digest = sha256(bytes) as AssetDigest
    const file = { name: url, digest, type, bytes: shared(bytes) }
    cache.set(keyOf(work, url), { file, until: clock.monotonic() + EGRESS_CACHE_MS })
    return file
  }

  const fetch: RemoteFiles['fetch'] = async (work, url, signal) =>
    cached(work, url) ?? fetchOnce(keyOf(work, url), (ended) => download(work, url, ended), signal)

  /** The first failure aborts the other fetches. */
  async function fetchAll(
    work: RenderWork,
    urls: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly RemoteFile[]> {
    const over = new AbortController()
    const ended = AbortSignal.any([signal, over.signal])
    try {
      return await Promise.all(urls.map((url) => fetch(work, url, ended)))
    } finally {
      over.abort()
    }
  }

  return {
    fetch,
    cached,
    async runWithFiles(work, task, signal) {
      const template = keyOf(work)
      let fetched = (lastFetched.get(template) ?? []).flatMap((url) => cached(work, url) ?? [])
      for (let round = 0; round < EGRESS_ROUNDS_MAX; round += 1) {
        const result = await runUntilFilesNeeded(() => task({ ...work, fetched }))
        if ('value' in result) return result.value
        fetched = [...fetched, ...(await fetchAll(work, result.urls, signal))]
        const urls = fetched.map(({ name }) => name)
        lastFetched.set(template, urls.slice(-GUESSED_MAX))
      }
      throw new ServiceError('template_error', 'the document requests other files each time it gets some')
    },
  }
}

async function runUntilFilesNeeded<Value>(
  task: () => Promise<Value>,
): Promise<{ readonly value: Value } | FilesNeeded> {
  try {
    return { value: await task() }
  } catch (error) {
    if (error instanceof FilesNeeded) return error
    throw error
  }
}

/** Includes the tenant: equal templates of two tenants have equal digests. */
function keyOf({ tenant, digest }: RenderWork, url = ''): string {
  return JSON.stringify([tenant, digest, url])
}

type SingleFlight<Value> = (
  key: string,
  start: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
) => Promise<Value>

/** Shares one run among all callers with the same key. Aborts the run when the last caller has gone. */
function openSingleFlight<Value>(): SingleFlight<Value> {
  const flights = new Map<string, { callers: number; readonly result: Promise<Value>; end(): void }>()

  function begin(key: string, start: (signal: AbortSignal) => Promise<Value>) {
    const ending = new AbortController()
    const end = () => {
      if (flights.get(key) === flight) flights.delete(key)
      ending.abort()
    }
    const flight = { callers: 0, result: start(ending.signal).finally(end), end }
    flights.set(key, flight)
    return flight
  }

  return async (key, start, signal) => {
    const flight = flights.get(key) ?? begin(key, start)
    flight.callers += 1
    try {
      return await raceAbort(flight.result, signal)
    } finally {
      flight.callers -= 1
      if (flight.callers === 0) flight.end()
    }
  }
}
