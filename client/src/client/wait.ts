/** Waits for the end of renders and batches. The service is asked to answer when the render has ended. */
import type { Clock } from '../clock.ts'
import { PlatenError } from '../error.ts'
import type { CallOptions } from '../transport.ts'
import type { BatchRecord, RenderRecord } from '../wire.ts'

export type SucceededRender = RenderRecord & { readonly status: 'succeeded'; readonly pdfUrl: string }

export type EndedBatch = BatchRecord & { readonly status: 'ended'; readonly endedAt: string }

export const WAIT_MS = 600_000

/**
 * Without it, a connection that is lost silently would take the rest of the wait. A status is small, and the service waits less than this
 * before it answers.
 */
export const POLL_ATTEMPT_MS = 60_000

/** How long the service waits before it answers: less than the 15 s after which some proxies give up. */
const ASKED_SECONDS_MAX = 10

/**
 * Pauses between requests that are answered at once: about a batch, or by a service where too many wait. The first are short, because most
 * renders take less than a second.
 */
const POLL_MS_FIRST = 200
const POLL_MS_MAX = 5000
const POLL_GROWTH = 1.5

export interface TimeLeft {
  /** How long the service may wait before it answers. */
  readonly waitSeconds: number
  readonly timeoutMs: number
}

interface Ending<T, End> {
  readonly ask: (left: TimeLeft) => Promise<T>
  /** Undefined = not ended yet. Throws if it ended another way than the caller waits for. */
  readonly endOf: (record: T) => End | undefined
  /** The message of `TIMED_OUT`. */
  readonly about: (record: T) => { readonly message: string; readonly renderId?: string }
}

export const RENDER_END = {
  endOf(record) {
    if (record.status === 'failed') throw failureOf(record)
    return isSucceeded(record) ? record : undefined
  },
  about: ({ status, renderId }) => ({ message: `the render is ${status}`, renderId }),
} as const satisfies Omit<Ending<RenderRecord, SucceededRender>, 'ask'>

export const BATCH_END = {
  endOf: (record) => (hasEnded(record) ? record : undefined),
  about: ({ batchId, status, queued, running }) => ({
    message: `the batch ${batchId} is ${status}, with ${queued + running} renders to go,`,
  }),
} as const satisfies Omit<Ending<BatchRecord, EndedBatch>, 'ask'>

export async function pollUntilEnd<T, End>(
  { ask, endOf, about }: Ending<T, End>,
  { signal, timeoutMs = WAIT_MS }: CallOptions,
  clock: Clock,
): Promise<End> {
  const endsAt = clock.monotonic() + timeoutMs
  const never = new AbortController().signal
  for (let pollMs = POLL_MS_FIRST; ; pollMs = Math.min(pollMs * POLL_GROWTH, POLL_MS_MAX)) {
    const askedAt = clock.monotonic()
    const leftMs = Math.max(1, endsAt - askedAt)
    // So that the answer comes before our own time is over.
    const waitSeconds = Math.min(ASKED_SECONDS_MAX, Math.max(0, Math.floor(leftMs / 1000) - 1))
    const record = await ask({ waitSeconds, timeoutMs: leftMs })
    const end = endOf(record)
    if (end !== undefined) return end
    const pauseMs = Math.max(0, askedAt + pollMs - clock.monotonic())
    if (clock.monotonic() + pauseMs >= endsAt) {
      const { message, renderId } = about(record)
      throw new PlatenError({ code: 'TIMED_OUT', message: `${message} after ${timeoutMs} ms`, renderId })
    }
    await clock.sleep(pauseMs, signal ?? never)
  }
}

function isSucceeded(record: RenderRecord): record is SucceededRender {
  return record.status === 'succeeded' && record.pdfUrl !== undefined
}

function hasEnded(record: BatchRecord): record is EndedBatch {
  return record.status === 'ended' && record.endedAt !== undefined
}

function failureOf({ error, renderId }: RenderRecord): PlatenError {
  const { code, reason, message } = error ?? { code: 'internal', reason: 'internal', message: 'the render failed' }
  return new PlatenError({ code, reason, message, renderId })
}
