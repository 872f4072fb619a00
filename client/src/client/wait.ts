/** Waiting for the end of a render: the service is asked to answer when the render has ended. */
import type { Clock } from '../clock.ts'
import { PlatenError } from '../error.ts'
import type { CallOptions } from '../transport.ts'
import type { RenderRecord } from '../wire.ts'

/** A status record whose PDF exists. */
export type SucceededRender = RenderRecord & { readonly status: 'succeeded'; readonly pdfUrl: string }

export const WAIT_MS = 600_000

/** How long the service waits before it answers: less than the 15 s after which some proxies give up. */
const ASKED_SECONDS_MAX = 10

/**
 * Between two requests that are answered at once, by an older service or one where too many wait. The first are close together, because most
 * renders take less than a second.
 */
const POLL_MS_FIRST = 200
const POLL_MS_MAX = 5000
const POLL_GROWTH = 1.5

/** Resolves with the record of a render that has succeeded. `ask` reads the record, with this query in its URL. */
export async function pollUntilSucceeded(
  ask: (query: string, left: { readonly timeoutMs: number }) => Promise<RenderRecord>,
  { signal, timeoutMs = WAIT_MS }: CallOptions,
  clock: Clock,
): Promise<SucceededRender> {
  const endsAt = clock.monotonic() + timeoutMs
  const never = new AbortController().signal
  for (let pollMs = POLL_MS_FIRST; ; pollMs = Math.min(pollMs * POLL_GROWTH, POLL_MS_MAX)) {
    const askedAt = clock.monotonic()
    const leftMs = Math.max(1, endsAt - askedAt)
    // The answer must come before the end.
    const seconds = Math.min(ASKED_SECONDS_MAX, Math.max(0, Math.floor(leftMs / 1000) - 1))
    const record = await ask(`wait=${seconds}`, { timeoutMs: leftMs })
    if (isSucceeded(record)) return record
    if (record.status === 'failed') throw failureOf(record)
    const pauseMs = Math.max(0, askedAt + pollMs - clock.monotonic())
    if (clock.monotonic() + pauseMs >= endsAt) {
      const message = `the render is ${record.status} after ${timeoutMs} ms`
      throw new PlatenError({ code: 'TIMED_OUT', message, renderId: record.renderId })
    }
    await clock.sleep(pauseMs, signal ?? never)
  }
}

function isSucceeded(record: RenderRecord): record is SucceededRender {
  return record.status === 'succeeded' && record.pdfUrl !== undefined
}

function failureOf({ error, renderId }: RenderRecord): PlatenError {
  const { code, reason, message } = error ?? { code: 'internal', reason: 'internal', message: 'the render failed' }
  return new PlatenError({ code, reason, message, renderId })
}
