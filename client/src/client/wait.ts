/** Waits for the end of a render. */
import type { Clock } from '../clock.ts'
import { PlatenError } from '../error.ts'
import type { CallOptions } from '../transport.ts'
import type { RenderRecord } from '../wire.ts'

/** A status record whose PDF exists. */
export type SucceededRender = RenderRecord & { readonly status: 'succeeded'; readonly pdfUrl: string }

export const WAIT_MS = 600_000

/** The first polls are close together, because most renders take less than a second. Later ones are further apart. */
const POLL_MS_FIRST = 200
const POLL_MS_MAX = 5000
const POLL_GROWTH = 1.5

/** Resolves with the record of a render that has succeeded. `ask` reads the record. */
export async function pollUntilSucceeded(
  ask: (left: { readonly timeoutMs: number }) => Promise<RenderRecord>,
  { signal, timeoutMs = WAIT_MS }: CallOptions,
  clock: Clock,
): Promise<SucceededRender> {
  const endsAt = clock.monotonic() + timeoutMs
  const never = new AbortController().signal
  for (let waitMs = POLL_MS_FIRST; ; waitMs = Math.min(waitMs * POLL_GROWTH, POLL_MS_MAX)) {
    const record = await ask({ timeoutMs: Math.max(1, endsAt - clock.monotonic()) })
    if (isSucceeded(record)) return record
    if (record.status === 'failed') throw failureOf(record)
    if (clock.monotonic() + waitMs >= endsAt) {
      const message = `the render is ${record.status} after ${timeoutMs} ms`
      throw new PlatenError({ code: 'TIMED_OUT', message, renderId: record.renderId })
    }
    await clock.sleep(waitMs, signal ?? never)
  }
}

function isSucceeded(record: RenderRecord): record is SucceededRender {
  return record.status === 'succeeded' && record.pdfUrl !== undefined
}

function failureOf({ error, renderId }: RenderRecord): PlatenError {
  const { code, reason, message } = error ?? { code: 'internal', reason: 'internal', message: 'the render failed' }
  return new PlatenError({ code, reason, message, renderId })
}
