/**
 * The settings of all tenants, which stand in Redis, in the memory of a process: loaded once, then followed revision by revision.
 * `current` is always one whole revision. While Redis is away, or holds nothing, or what cannot be read, the last good settings stay
 * in force, and `state` says so.
 */
import { DIRECTORY_REPORT_MS, DIRECTORY_REPORTED_MS, DIRECTORY_WAIT_MS } from '@platen/contract/directory-limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Directory, DirectoryState } from '@platen/contract/port/directory.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { REDIS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import type { RedisConnection } from './connect.ts'
import { type Copy, openCopy } from './directory/copy.ts'
import { directoryScript, readMeta, waitForSteps } from './directory/layout.ts'
import type { Step } from './directory/step.ts'
import { openTurns } from './directory/turn.ts'

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
  const link: Link = { isConnected: true, reason: undefined, confirmedAt, readers: 1, fewerSince: undefined }
  const takeLook = looker(options, copy, link)
  const inTurn = openTurns()
  // One at a time: two would each take the other's settings for old ones.
  const look: Look = (steps, lookSignal) => inTurn((turnSignal) => takeLook(steps, turnSignal), lookSignal)
  await look([], signal).catch((err: unknown) => {
    signal.throwIfAborted()
    lose(link, options.log, err)
  })
  const following = follow({ ...options, copy, link, look }, closing.signal)
  return {
    current: () => copy.snapshot(),
    state: () => ({
      isReady: copy.held() !== undefined,
      isConnected: link.isConnected,
      ...(link.reason !== undefined && { reason: link.reason }),
      revision: copy.snapshot().revision,
      ageMs: clock.monotonic() - link.confirmedAt,
      damaged: copy.damaged(),
    }),
    readers: () => link.readers,
    refresh: (refreshSignal) => look([], refreshSignal),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await following
    },
  }
}

/** What is known of the way to Redis. */
interface Link {
  isConnected: boolean
  reason: string | undefined
  confirmedAt: number
  readers: number
  /** Since when fewer of them are told of. */
  fewerSince: number | undefined
}

type Look = (steps: readonly Step[], signal: AbortSignal) => Promise<void>

/** Takes the steps that are known, looks whether these are all, and tells what is enforced then. */
function looker({ redis, clock, reader }: RedisDirectoryOptions, copy: Copy, link: Link): Look {
  const script = directoryScript(redis)
  let reported: { readonly mark: string; readonly at: number } | undefined
  const report = async (signal: AbortSignal) => {
    if (reader === undefined) return
    // Also with nothing in force: who publishes for the first time waits, too.
    const { mark, revision } = copy.held() ?? { mark: '', revision: 0 }
    if (reported?.mark === mark && clock.monotonic() - reported.at < DIRECTORY_REPORT_MS) return
    const request = { operation: 'report', reader, mark, revision, reportedMs: DIRECTORY_REPORTED_MS }
    const askedAt = clock.monotonic()
    // The script answers with a number.
    const readers = (await script({ keys: [], request }, signal)) as number
    const now = clock.monotonic()
    countReaders(link, readers, { now, isLate: now - askedAt > REDIS_CALL_MS_MAX })
    reported = { mark, at: now }
  }
  return async (steps, signal) => {
    // Before it loads anything: what is published after this waits for it, and what was published before, it loads.
    if (reported === undefined) await report(signal)
    copy.take(steps)
    link.reason = await copy.update(await readMeta(redis, signal), signal)
    link.isConnected = true
    if (link.reason === undefined) link.confirmedAt = clock.monotonic()
    await report(signal)
  }
}

/**
 * Who is missing may not have gone: while Redis is slow the reports of the others are late, too, and one that has come back empty has
 * the first of them alone.
 */
function countReaders(link: Link, readers: number, { now, isLate }: { now: number; isLate: boolean }): void {
  if (readers >= link.readers || isLate) link.fewerSince = undefined
  else link.fewerSince ??= now
  const isOver = link.fewerSince !== undefined && now - link.fewerSince >= DIRECTORY_REPORTED_MS
  if (readers > link.readers || isOver) link.readers = readers
}

function lose(link: Link, log: Log, err: unknown): void {
  if (link.isConnected) log.warn({ err }, 'directory unreachable, last good settings kept')
  link.isConnected = false
  link.fewerSince = undefined
  link.reason = 'Redis cannot be asked'
}

interface Following extends RedisDirectoryOptions {
  readonly copy: Copy
  readonly link: Link
  readonly look: Look
}

/** Waits for what is published, on a connection of its own, until the signal aborts. Never rejects. */
async function follow({ redis, clock, log, copy, link, look, reader }: Following, signal: AbortSignal): Promise<void> {
  let place = copy.held()?.entry ?? '0'
  while (!signal.aborted) {
    try {
      const client = await redis.fork(signal)
      using _ = { [Symbol.dispose]: () => client.disconnect() }
      while (!signal.aborted) {
        const steps = await waitForSteps(client, { place, waitMs: DIRECTORY_WAIT_MS }, signal)
        await look(steps, signal)
        place = steps.at(-1)?.entry ?? place
      }
    } catch (err) {
      if (signal.aborted) break
      lose(link, log, err)
      await clock.sleep(DIRECTORY_WAIT_MS, signal).catch(() => undefined)
    }
  }
  if (reader !== undefined) await leave(redis, { reader, clock })
}

/** Nobody should wait for who is gone. That it is, shows otherwise after a while. */
async function leave(
  redis: RedisConnection,
  { reader, clock }: { readonly reader: string; readonly clock: Clock },
): Promise<void> {
  const request = { operation: 'leave', reader }
  await directoryScript(redis)({ keys: [], request }, clock.timeout(DIRECTORY_WAIT_MS)).catch(() => undefined)
}
