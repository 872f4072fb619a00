/**
 * Keeps the expiry index: reads the event log and writes down of every render that has ended when it is to be removed. Renders are
 * gathered, and written when they are many or have waited for long; only then is the log told that they are read. A process that is
 * killed leaves them to be read again, and then they stand in the index twice at worst.
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
 * Keeps the index until `signal` aborts; resolves when what was read by then is written, or the store cannot be reached. Throws
 * `Unavailable` when the log cannot be, and may then be called again.
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
  // Neither is left behind by the other: what fails here is begun again, and then there must be one of each.
  const endings = await Promise.allSettled([read, writeOften].map((step) => step().finally(() => ended.abort())))
  for (const ending of endings) if (ending.status === 'rejected' && !signal.aborted) throw ending.reason
}

interface ExpiryBuffer {
  /** Takes a render in; when they are many, resolves when all are written. */
  add(given: ReceivedEvent): Promise<void>
  /** Writes what was gathered, and tells the log. Rejects, then and ever after, when `signal` has aborted and the store cannot be reached. */
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
    // One after the other: that a later event is read must not be said before an earlier one is written.
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

/** What is being written is not cut short by a shutdown: a drain waits for it, and the store bounds it. */
const NEVER = new AbortController().signal
