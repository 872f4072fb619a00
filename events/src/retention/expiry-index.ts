/**
 * Maintains the expiry index: reads the event log and records when each ended render must be removed. Renders are buffered, and written
 * when there are many or when the oldest has waited long. Only then are their events committed. The events of a killed process are read
 * again, and its renders are then in the index twice at worst.
 */

import { expiryOf } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import { type Day, dayOf, expiryObjectOf, type StoredRender } from '@platen/contract/stored/expiry.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { raceFirst, throwUnlessAborted } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import { EXPIRY_RENDERS_MAX } from './limit.ts'

const MINUTE_MS = 60 * 1000

/** Longest time before an ended render is written to the expiry index. A crash repeats the events of this time. */
export const EXPIRY_WRITTEN_EVERY_MS = 5 * MINUTE_MS

interface ExpiryIndex {
  readonly events: Pick<EventLog, 'follow'>
  readonly artifacts: Pick<ArtifactStore, 'put'>
  readonly serviceBucket: string
  readonly clock: Clock
  readonly log: Log
}

const READER = 'retention'

/**
 * Runs until `signal` aborts. Resolves when everything read by then is written, or when the store is unavailable. Throws `Unavailable` when
 * the log is; the caller may then call it again.
 */
export async function maintainExpiryIndex(index: ExpiryIndex, signal: AbortSignal): Promise<void> {
  const buffer = openExpiryBuffer(index)
  const read = async (until: AbortSignal) => {
    for await (const received of index.events.follow(READER, until)) await buffer.add(received, until)
    await buffer.write(until)
  }
  const writeOften = async (until: AbortSignal) => {
    for (;;) {
      await index.clock.sleep(EXPIRY_WRITTEN_EVERY_MS, until).catch(() => {})
      if (until.aborted) return
      await buffer.write(until)
    }
  }
  // When one of the two ends, the other ends too: after a failure both start again, and only one of each may run.
  await raceFirst([read, writeOften], signal).catch(throwUnlessAborted(signal))
}

interface ExpiryBuffer {
  /** If the buffer is full, resolves after all its renders are written. */
  add(received: ReceivedEvent, signal: AbortSignal): Promise<void>
  /**
   * Writes the buffer and commits the events. When `signal` has aborted and the store is unavailable, rejects now and at every later
   * call.
   */
  write(signal: AbortSignal): Promise<void>
}

function openExpiryBuffer({ artifacts, serviceBucket, clock, log }: ExpiryIndex): ExpiryBuffer {
  let days = new Map<Day, StoredRender[]>()
  let count = 0
  let last: ReceivedEvent | undefined
  let writing = Promise.resolve()

  const writeGathered = async (signal: AbortSignal) => {
    const putRetry = { clock, log, dependency: 'artifact store', operation: 'put', signal }
    const doneRetry = { clock, log, dependency: 'event log', operation: 'done', signal }
    const [full, read] = [days, last]
    days = new Map()
    count = 0
    last = undefined
    for (const [day, renders] of full) {
      const { key, bytes } = expiryObjectOf(day, renders)
      await retryWhileUnavailable(() => artifacts.put({ bucket: serviceBucket, key }, bytes, NEVER), putRetry)
    }
    await retryWhileUnavailable(async () => read?.done(), doneRetry)
  }
  const write = (signal: AbortSignal) => {
    // Writes run one after the other: a later event must not be committed before an earlier one is written.
    writing = writing.then(() => writeGathered(signal))
    return writing
  }

  return {
    async add(received, signal) {
      const { render, outcome } = received.event.manifest
      const day = dayOf(expiryOf(render, outcome.finishedAt))
      const renders = days.get(day) ?? []
      renders.push({ id: render.id, storage: render.storage, account: render.account })
      days.set(day, renders)
      last = received
      count += 1
      if (count >= EXPIRY_RENDERS_MAX) await write(signal)
    },
    write,
  }
}

/** A shutdown does not interrupt a write: the drain waits for it, and the store limits its time. */
const NEVER = new AbortController().signal
