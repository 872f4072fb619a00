/**
 * The settings of all tenants, which stand in Redis, in the memory of a process: loaded once, then followed revision by revision.
 * `current` is always one whole revision. While Redis is away, or holds nothing, or what cannot be read, the last good settings stay
 * in force, and `state` says so.
 */
import {
  DIRECTORY_REPORT_EVERY_MS,
  DIRECTORY_REPORT_KEPT_MS,
  DIRECTORY_WAIT_MS,
} from '@platen/contract/directory-limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Directory, DirectoryState } from '@platen/contract/port/directory.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { REDIS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import type { RedisConnection } from './connect.ts'
import { type DirectoryCopy, openCopy } from './directory/copy.ts'
import type { Delta } from './directory/delta.ts'
import { directoryScript, readMeta, waitForDeltas } from './directory/layout.ts'
import { openSerialQueue } from './directory/serial-queue.ts'

export interface RedisDirectoryOptions {
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly log: Log
  /** Says under this name which revision is enforced, so that who publishes can wait for it; absent = it only follows. */
  readonly reader?: string
}

export interface RedisDirectory extends Directory, AsyncDisposable {
  state(): DirectoryState
  /**
   * The processes that say what they enforce, itself included, as they were when it last said so; 1 until then. It becomes lower only
   * when there were fewer for as long as a report counts.
   */
  readers(): number
  /** Looks once at what is published now. Throws `Unavailable` where Redis cannot be asked. */
  refresh(signal: AbortSignal): Promise<void>
}

/**
 * Loads what is published and follows it. Resolves after the first look, whether or not there was anything to load: `state` says
 * so, and the settings come as soon as they are there. Rejects with the signal's reason alone.
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
  // One at a time: two would each take the other's settings for old ones.
  const refresh: Refresh = (deltas, callSignal) =>
    runSerially((turnSignal) => refreshOnce(deltas, turnSignal), callSignal)
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

/** What is known of the way to Redis. */
interface ConnectionState {
  isConnected: boolean
  reason: string | undefined
  confirmedAt: number
  readers: number
  /** Since when fewer of them are told of. */
  fewerSince: number | undefined
}

type Refresh = (deltas: readonly Delta[], signal: AbortSignal) => Promise<void>

/** Takes the steps that are known, looks whether these are all, and tells what is enforced then. */
function openRefresh(
  { redis, clock, reader }: RedisDirectoryOptions,
  copy: DirectoryCopy,
  connection: ConnectionState,
): Refresh {
  const script = directoryScript(redis)
  let reported: { readonly revisionId: string; readonly at: number } | undefined
  const report = async (signal: AbortSignal) => {
    if (reader === undefined) return
    // Also with nothing in force: who publishes for the first time waits, too.
    const { revisionId, revision } = copy.revision() ?? { revisionId: '', revision: 0 }
    if (reported?.revisionId === revisionId && clock.monotonic() - reported.at < DIRECTORY_REPORT_EVERY_MS) return
    const request = { operation: 'report', reader, mark: revisionId, revision, reportedMs: DIRECTORY_REPORT_KEPT_MS }
    const askedAt = clock.monotonic()
    // The script answers with a number.
    const readers = (await script({ keys: [], request }, signal)) as number
    const now = clock.monotonic()
    countReaders(connection, readers, { now, isLate: now - askedAt > REDIS_CALL_MS_MAX })
    reported = { revisionId, at: now }
  }
  return async (deltas, signal) => {
    // Before it loads anything: what is published after this waits for it, and what was published before, it loads.
    if (reported === undefined) await report(signal)
    copy.apply(deltas)
    connection.reason = await copy.update(await readMeta(redis, signal), signal)
    connection.isConnected = true
    if (connection.reason === undefined) connection.confirmedAt = clock.monotonic()
    await report(signal)
  }
}

/**
 * Who is missing may not have gone: while Redis is slow the reports of the others are late, too, and one that has come back empty has
 * the first of them alone.
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
  connection.reason = 'Redis cannot be asked'
}

interface Following extends RedisDirectoryOptions {
  readonly copy: DirectoryCopy
  readonly connection: ConnectionState
  readonly refresh: Refresh
}

/** Waits for what is published, on a connection of its own, until the signal aborts. Never rejects. */
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

/** Nobody should wait for who is gone. That it is, shows otherwise after a while. */
async function deregister(
  redis: RedisConnection,
  { reader, clock }: { readonly reader: string; readonly clock: Clock },
): Promise<void> {
  const request = { operation: 'leave', reader }
  await directoryScript(redis)({ keys: [], request }, clock.timeout(DIRECTORY_WAIT_MS)).catch(() => undefined)
}
