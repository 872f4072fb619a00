/**
 * The tenants' settings in Redis, copied into the memory of a process. The copy is loaded once, and then follows each revision. `current`
 * is always one complete revision. While Redis is unavailable, empty or unreadable, the last good settings stay in force, and `state`
 * reports it.
 */
import { REDIS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { Directory, DirectoryState } from '@platen/contract/port/directory.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { openSerialQueue } from '@platen/lib/serial-queue.ts'
import type { RedisConnection } from './connect.ts'
import { type DirectoryCopy, openCopy } from './directory/copy.ts'
import type { Delta } from './directory/delta.ts'
import { directoryScript, readMeta, waitForDeltas } from './directory/layout.ts'
import { DIRECTORY_REPORT_EVERY_MS, DIRECTORY_REPORT_KEPT_MS, DIRECTORY_WAIT_MS } from './limit.ts'

export interface RedisDirectoryOptions {
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly log: Log
  /** The name under which this process reports its enforced revision, so that the publisher can wait for it; absent = no reports. */
  readonly reader?: string | undefined
}

export interface RedisDirectory extends Directory, AsyncDisposable {
  state(): DirectoryState
  /**
   * The number of processes that report what they enforce, including this one, as of its last report; 1 before the first. It decreases only
   * after fewer processes were counted for as long as a report is valid.
   */
  readers(): number
  /** Reads once what is published now. Throws `Unavailable` if Redis cannot be read. */
  refresh(signal: AbortSignal): Promise<void>
}

/**
 * Loads the published settings and follows them. Resolves after the first attempt, even if nothing could be loaded: `state` reports that,
 * and the settings are loaded as soon as they exist. Rejects only with the signal's reason.
 */
export async function openRedisDirectory(options: RedisDirectoryOptions, signal: AbortSignal): Promise<RedisDirectory> {
  const { clock } = options
  const copy = openCopy(options)
  const closing = new AbortController()
  const confirmedAt = clock.monotonic()
  const connection: ConnectionState = {
    isConnected: true,
    reason: undefined,
    confirmedAt,
    readers: 1,
    fewerSince: undefined,
  }
  const refreshOnce = openRefresh(options, copy, connection)
  const runSerially = openSerialQueue()
  // One at a time: each of two concurrent refreshes would take the other's settings for a regression.
  const refresh: Refresh = (deltas, callSignal) => runSerially(() => refreshOnce(deltas, callSignal), callSignal)
  await refresh([], signal).catch((err: unknown) => {
    signal.throwIfAborted()
    markDisconnected(connection, options.log, err)
  })
  const following = follow({ ...options, copy, connection, refresh }, closing.signal)
  return {
    current: () => copy.snapshot(),
    state: () => ({
      isReady: copy.revision() !== undefined,
      isConnected: connection.isConnected,
      ...(connection.reason !== undefined && { reason: connection.reason }),
      revision: copy.snapshot().revision,
      ageMs: clock.monotonic() - connection.confirmedAt,
      damaged: copy.damaged(),
    }),
    readers: () => connection.readers,
    refresh: (refreshSignal) => refresh([], refreshSignal),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await following
    },
  }
}

interface ConnectionState {
  isConnected: boolean
  reason: string | undefined
  confirmedAt: number
  readers: number
  /** Monotonic time since which fewer readers have been counted. */
  fewerSince: number | undefined
}

type Refresh = (deltas: readonly Delta[], signal: AbortSignal) => Promise<void>

/** Applies the deltas, checks that they are complete, and reports the enforced revision. */
function openRefresh(
  { redis, clock, reader }: RedisDirectoryOptions,
  copy: DirectoryCopy,
  connection: ConnectionState,
): Refresh {
  const script = directoryScript(redis)
  let reported: { readonly revisionId: string; readonly at: number } | undefined
  const report = async (signal: AbortSignal) => {
    if (reader === undefined) return
    // Reports even without any settings: the first publication also waits for this process.
    const { revisionId, revision } = copy.revision() ?? { revisionId: '', revision: 0 }
    if (reported?.revisionId === revisionId && clock.monotonic() - reported.at < DIRECTORY_REPORT_EVERY_MS) return
    const request = { operation: 'report', reader, mark: revisionId, revision, reportedMs: DIRECTORY_REPORT_KEPT_MS }
    const askedAt = clock.monotonic()
    // The script returns a number.
    const readers = (await script({ keys: [], request }, signal)) as number
    const now = clock.monotonic()
    countReaders(connection, readers, { now, isLate: now - askedAt > REDIS_CALL_MS_MAX })
    reported = { revisionId, at: now }
  }
  return async (deltas, signal) => {
    // Reports before it loads. Later publications wait for this process, and it loads the earlier ones.
    if (reported === undefined) await report(signal)
    copy.apply(deltas)
    connection.reason = await copy.update(await readMeta(redis, signal), signal)
    connection.isConnected = true
    if (connection.reason === undefined) connection.confirmedAt = clock.monotonic()
    await report(signal)
  }
}

/**
 * Fewer reports do not prove that a process has gone. While Redis is slow, reports are late; after Redis was emptied, only the first
 * reports are there.
 */
function countReaders(
  connection: ConnectionState,
  readers: number,
  { now, isLate }: { now: number; isLate: boolean },
): void {
  if (readers >= connection.readers || isLate) connection.fewerSince = undefined
  else connection.fewerSince ??= now
  const isOver = connection.fewerSince !== undefined && now - connection.fewerSince >= DIRECTORY_REPORT_KEPT_MS
  if (readers > connection.readers || isOver) connection.readers = readers
}

function markDisconnected(connection: ConnectionState, log: Log, err: unknown): void {
  if (connection.isConnected) log.warn({ err }, 'directory unreachable, last good settings kept')
  connection.isConnected = false
  connection.fewerSince = undefined
  connection.reason = 'Redis is unreachable'
}

interface Following extends RedisDirectoryOptions {
  readonly copy: DirectoryCopy
  readonly connection: ConnectionState
  readonly refresh: Refresh
}

/** Follows the log of revisions on its own connection, until the signal aborts. Never rejects. */
async function follow(
  { redis, clock, log, copy, connection, refresh, reader }: Following,
  signal: AbortSignal,
): Promise<void> {
  let position = copy.revision()?.entry ?? '0'
  while (!signal.aborted) {
    try {
      const client = await redis.openClient(signal)
      using _ = { [Symbol.dispose]: () => client.disconnect() }
      while (!signal.aborted) {
        const deltas = await waitForDeltas(client, { after: position, waitMs: DIRECTORY_WAIT_MS }, signal)
        await refresh(deltas, signal)
        position = deltas.at(-1)?.entry ?? position
      }
    } catch (err) {
      if (signal.aborted) break
      markDisconnected(connection, log, err)
      await clock.sleep(DIRECTORY_WAIT_MS, signal).catch(() => undefined)
    }
  }
  if (reader !== undefined) await deregister(redis, { reader, clock })
}

/** Removes the report of this process, so that publishers do not wait for it. If that fails, the report expires. */
async function deregister(
  redis: RedisConnection,
  { reader, clock }: { readonly reader: string; readonly clock: Clock },
): Promise<void> {
  const request = { operation: 'leave', reader }
  await directoryScript(redis)({ keys: [], request }, clock.timeout(DIRECTORY_WAIT_MS)).catch(() => undefined)
}
