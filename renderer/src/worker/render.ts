/** Runs the engine once, under the render's deadline and a claim. */

import { ServiceError } from '@platen/contract/domain/error.ts'
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { Failure, RenderRecord } from '@platen/contract/domain/render.ts'
import { documentWarnings, type Warned, warnedOf } from '@platen/contract/domain/warning.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { firstAborted } from '@platen/lib/race.ts'
import type { Rendering } from '../port/engine.ts'
import type { ClaimRenewal } from './claim.ts'
import { classifyError, STORE_UNAVAILABLE, type Verdict } from './classify-error.ts'
import { beforeDeadline, type Worker } from './port.ts'

/** A PDF to store before `storeDeadline` aborts, or the reason why there is none. */
export type RenderResult =
  | (Document & {
      readonly kind: 'rendered'
      readonly durationMs: number
      /** Of the PDF, in hex. */
      readonly sha256: string
      readonly storeDeadline: AbortSignal
    })
  | (Warned & { readonly kind: 'failed'; readonly durationMs: number; readonly error: Failure })

type Document = Pick<Rendering, 'pdf' | 'pages'> & Warned

/** Why an attempt has no result: the renderer crashed, or the claim was lost. */
type Interrupted = Exclude<Verdict, { kind: 'failed' }>

const NEVER = new AbortController().signal

export async function render(
  worker: Worker,
  record: RenderRecord,
  { attempt, claim: { claimLost, canceled } }: { readonly attempt: number; readonly claim: ClaimRenewal },
): Promise<RenderResult | Interrupted> {
  const { clock, engine, source, limiter, replies, observer, forceStop } = worker
  // Limits the waits for a store before and after the engine. The template has its own deadline, and fetching does not count against it.
  const storeDeadline = clock.timeout(record.deadlineMs)
  using fetching = firstAborted([forceStop, storeDeadline])
  const [work] = await Promise.all([
    beforeDeadline(storeDeadline, source.workOf(record, fetching.signal)),
    // The API confirms it too, unless it died or could not reach the limiter.
    limiter.confirm(record, forceStop),
  ])
  if (work === undefined) return { kind: 'failed', error: STORE_UNAVAILABLE, durationMs: 0 }
  const over = new AbortController()
  const deadline = clock.timeout(record.deadlineMs)
  const callerGone = record.mode === 'sync' ? replies.callerGone(record.id, over.signal) : NEVER
  const begunAt = clock.monotonic()
  const durationMs = () => Math.round(clock.monotonic() - begunAt)
  using ended = firstAborted([deadline, callerGone, claimLost, canceled, forceStop])
  using observed = observer.rendering(record, attempt)
  try {
    if (record.mode === 'sync') replies.notifyStarted(record.id)
    const rendering = await engine.render(work, ended.signal)
    const { pdf, pages, phases } = rendering
    observed.made(phases)
    refuseOversize(pdf)
    const warned = warnedOf(rendering.warnings)
    const error = strictFailure(record, warned)
    if (error !== undefined) {
      observed.stopped({ kind: 'failed', error })
      return { kind: 'failed', error, ...warned, durationMs: durationMs() }
    }
    const rendered = { kind: 'rendered', pdf, pages, ...warned, durationMs: durationMs(), storeDeadline } as const
    return { ...rendered, sha256: sha256(pdf) }
  } catch (error) {
    forceStop.throwIfAborted()
    const verdict = classifyError(error, { deadline, callerGone, claimLost, canceled }, record.deadlineMs)
    observed.stopped(verdict, error)
    return verdict.kind === 'failed' ? { ...verdict, durationMs: durationMs() } : verdict
  } finally {
    // The default reason would take a stack trace each time.
    over.abort('the attempt has ended')
  }
}

function refuseOversize({ byteLength }: Uint8Array): void {
  if (byteLength <= PDF_BYTES_MAX) return
  throw new ServiceError('template_error', `the PDF has ${byteLength} bytes; at most ${PDF_BYTES_MAX} are allowed`)
}

function strictFailure({ strict, options }: RenderRecord, warned: Warned): Failure | undefined {
  const isStrict = strict === true || options.strict === true
  return isStrict && warned.warnings !== undefined ? documentWarnings(warned) : undefined
}
