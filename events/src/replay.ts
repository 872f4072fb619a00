/**
 * Applies the event log to a view that can be lost, from the checkpoint that is kept beside the view. A checkpoint moves only after the
 * events before it are applied. If the store was emptied, everything is applied from the first event on; if it was restored to an earlier
 * state, from its checkpoint on. Applying an event again changes nothing, so in doubt it is applied again.
 */
import type { Checkpoint, Checkpoints } from '@platen/contract/port/checkpoint.ts'
import type { EventBatch, ReplayableLog, ReplayStart } from '@platen/contract/port/event-log.ts'
import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { retrying, retryWhileUnavailable } from '@platen/lib/retry.ts'

/** Wait before a projection step that could not reach its stores is retried. Its result is wanted as soon as they are back. */
export const PROJECTION_RETRY_MS = 1000

export interface ReplayPorts {
  readonly events: ReplayableLog
  readonly checkpoints: Checkpoints
  readonly meter?: ProjectionMeter
  readonly clock: Clock
  readonly log: Log
}

interface Replay {
  readonly reader: string
  /**
   * Returns what to report with the checkpoint of each batch, once its events are applied. Running it twice is safe. It is run again while
   * it throws `Unavailable`.
   */
  readonly apply: (batches: readonly EventBatch[]) => Promise<readonly AppliedBatch[]>
}

/** The current month, and the charges for the audit of `Checkpoints.advance`. */
export interface AppliedBatch {
  readonly period: string
  readonly charged: ReadonlyMap<string, number>
}

/** Applies events until `signal` aborts. Any number of processes may run it; they share the partitions of the log. */
export async function applyEvents(
  { apply, reader }: Replay,
  { events, meter, clock, log, ...ports }: ReplayPorts,
  signal: AbortSignal,
): Promise<void> {
  const retry = { clock, log, signal, dependency: 'redis', operation: 'apply', waitMsMax: PROJECTION_RETRY_MS }
  const checkpoints = retrying(ports.checkpoints, ['begin'], retry)
  const held = new Map<number, Checkpoint>()
  /** The end of the log when each partition was begun. */
  const ends = new Map<number, number>()
  const begin: ReplayStart = async (partition, { written, ...range }) => {
    const checkpoint = await checkpoints.begin(partition, range, signal)
    const before = held.get(partition)
    if (before !== undefined && checkpoint.offset < before.offset) {
      meter?.rebuildStarted()
      const reason =
        range.end === undefined ? 'redis lost the checkpoint of the partition' : 'kafka lost events of the partition'
      log.warn(
        { reader, partition, reason, offset: checkpoint.offset, before: before.offset },
        'rebuilding redis projection',
      )
    }
    held.set(partition, checkpoint)
    ends.set(partition, written)
    return checkpoint
  }
  const advance = async ({ partition, from, to, fingerprint }: EventBatch, applied: AppliedBatch | undefined) => {
    const [checkpoint, end] = [held.get(partition), ends.get(partition)]
    if (checkpoint === undefined || end === undefined || applied === undefined) return undefined
    // The log before this batch was rewound after it was read.
    if (checkpoint.offset !== from) return undefined
    return await checkpoints.advance(checkpoint, { to, fingerprint, isCaughtUp: to >= end, ...applied }, signal)
  }
  const take = async (batches: readonly EventBatch[]) => {
    const advanced = await retryWhileUnavailable(async () => {
      const applied = await apply(batches)
      return await Promise.all(batches.map((batch, at) => advance(batch, applied[at])))
    }, retry)
    batches.forEach((batch, at) => {
      const checkpoint = advanced[at]
      if (checkpoint === undefined) return batch.rewind()
      held.set(batch.partition, checkpoint)
      batch.done()
      meter?.applied(batch.events.length)
    })
  }
  // While batches are applied, the next ones are read and decoded.
  const failing = new AbortController()
  let taking = Promise.resolve()
  try {
    for await (const batches of events.replay(reader, begin, AbortSignal.any([signal, failing.signal]))) {
      await taking
      taking = take(batches)
      taking.catch((error: unknown) => failing.abort(error))
    }
  } finally {
    await taking
  }
}
