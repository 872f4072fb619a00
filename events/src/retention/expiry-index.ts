/**
 * Maintains the expiry index: reads the event log and records when each ended render must be removed. Renders are buffered, and written
 * when there are many or when they have waited for long. Only then are their events committed. A killed process leaves its events to be
 * read again. Then its renders are in the index twice at worst.
 */
import { type Day, dayOf, expiryObjectOf, type StoredRender } from '@platen/contract/expiry.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { expiryOf } from '@platen/contract/render.ts'
import { EXPIRY_RENDERS_MAX, EXPIRY_WRITTEN_EVERY_MS } from '@platen/contract/retention-limit.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'

export interface ExpiryIndex {
  readonly events: Pick<EventLog, 'follow'>
  readonly artifacts: Pick<ArtifactStore, 'put'>
  readonly serviceBucket: string
  readonly clock: Clock
  readonly log: Log
}

const READER = 'retention'

/**
 * Maintains the index until `signal` aborts. Resolves when everything read by then is written, or when the store is unavailable. Throws
 * `Unavailable` when the log is; the caller may then call it again.
 */
export async function maintainExpiryIndex(index: ExpiryIndex, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const stopping = AbortSignal.any([signal, ended.signal])
  const buffer = openExpiryBuffer(index, stopping)
  const read = async () => {
    for await (const given of index.events.follow(READER, stopping)) await buffer.add(given)
    await buffer.write()
  }
  const writeOften = async () => {
    for (;;) {
      await index.clock.sleep(EXPIRY_WRITTEN_EVERY_MS, stopping).catch(() => {})
      if (stopping.aborted) return
      await buffer.write()
    }
  }
  // When one of the two ends, the other ends too. After a failure both start again, and there must be only one of each.
  const endings = await Promise.allSettled([read, writeOften].map((step) => step().finally(() => ended.abort())))
  for (const ending of endings) if (ending.status === 'rejected' && !signal.aborted) throw ending.reason
}

interface ExpiryBuffer {
  /** Adds a render. When the buffer is full, resolves after all its renders are written. */
  add(given: ReceivedEvent): Promise<void>
  /**
   * Writes the buffer and commits the events. When `signal` has aborted and the store is unavailable, rejects now and at every later
   * call.
   */
  write(): Promise<void>
}

function openExpiryBuffer({ artifacts, serviceBucket, clock, log }: ExpiryIndex, signal: AbortSignal): ExpiryBuffer {
  let days = new Map<Day, StoredRender[]>()
  let count = 0
  let last: ReceivedEvent | undefined
  let writing = Promise.resolve()

  const retry = (step: () => Promise<void>) => retryWhileUnavailable(step, { clock, log, signal })
  const writeGathered = async () => {
    const [full, read] = [days, last]
    days = new Map()
    count = 0
    last = undefined
    for (const [day, renders] of full) {
      const { key, bytes } = expiryObjectOf(day, renders)
      await retry(() => artifacts.put({ bucket: serviceBucket, key }, bytes, NEVER))
    }
    await retry(async () => read?.done())
  }
  const write = () => {
    // Writes one after the other: a later event must not be committed before an earlier one is written.
    writing = writing.then(writeGathered)
    return writing
  }

  return {
    async add(given) {
      const { render, outcome } = given.event.manifest
      const day = dayOf(expiryOf(render, outcome.finishedAt))
      const renders = days.get(day) ?? []
      renders.push({ id: render.id, storage: render.storage })
      days.set(day, renders)
      last = given
      count += 1
      if (count >= EXPIRY_RENDERS_MAX) await write()
    },
    write,
  }
}

/** A shutdown does not interrupt a write: the drain waits for it, and the store limits its time. */
const NEVER = new AbortController().signal
