/** Runs the engine once, under the render's deadline and a claim. */
import { ServiceError } from '@platen/contract/error.ts'
import { PDF_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Claim } from '@platen/contract/port/render-ledger.ts'
import type { Failure, RenderRecord } from '@platen/contract/render.ts'
import type { Rendering, RenderWork } from '../port/engine.ts'
import { classifyError, STORE_UNAVAILABLE, type Verdict } from './classify-error.ts'
import { retryUntil, type Worker, withRetry } from './port.ts'

/** The result of a run: a PDF to store before `storeDeadline` aborts, or the reason why there is none. */
export type RenderResult =
  | (Rendering & { readonly durationMs: number; readonly storeDeadline: AbortSignal })
  | { readonly failure: Failure; readonly durationMs: number }

export interface ClaimedAttempt {
  readonly claim: Claim
  /** Aborts when the claim is lost. */
  readonly claimLost: AbortSignal
}

const NEVER = new AbortController().signal

/**
 * Fetches the inputs of the render and runs the engine. Returns undefined if the render must be tried again: the renderer crashed, or the
 * claim was lost.
 */
export async function render(
  worker: Worker,
  record: RenderRecord,
  attempt: ClaimedAttempt,
): Promise<RenderResult | undefined> {
  // Limits the waits for a store before and after the engine. The template has its own deadline, and fetching does not count against it.
  const storeDeadline = worker.clock.timeout(record.deadlineMs)
  const [work] = await Promise.all([
    fetchWork(worker, record, storeDeadline),
    // The API confirms it too, unless it died or could not reach the limiter.
    withRetry(worker, (signal) => worker.limiter.confirm(record, signal)),
  ])
  if (work === undefined) return { failure: STORE_UNAVAILABLE, durationMs: 0 }
  return await runEngine(worker, { record, work, storeDeadline, ...attempt })
}

function fetchWork(worker: Worker, record: RenderRecord, storeDeadline: AbortSignal): Promise<RenderWork | undefined> {
  const signal = AbortSignal.any([worker.forceStop, storeDeadline])
  return retryUntil(worker, storeDeadline, () => worker.source.workOf(record, signal))
}

interface EngineRun extends ClaimedAttempt {
  readonly record: RenderRecord
  readonly work: RenderWork
  readonly storeDeadline: AbortSignal
}

async function runEngine(
  worker: Worker,
  { record, work, storeDeadline, claim, claimLost }: EngineRun,
): Promise<RenderResult | undefined> {
  const { clock, engine, replies, forceStop } = worker
  const over = new AbortController()
  const deadline = clock.timeout(record.deadlineMs)
  const callerGone = record.mode === 'sync' ? replies.callerGone(record.id, over.signal) : NEVER
  const begunAt = clock.monotonic()
  const durationMs = () => Math.round(clock.monotonic() - begunAt)
  try {
    if (record.mode === 'sync') replies.notifyStarted(record.id)
    worker.meter.begun(record, { attempt: claim.attempt, waitedMs: clock.now() - record.acceptedAt })
    worker.log.debug({ render: record.id, tenant: record.tenant, attempt: claim.attempt }, 'render started')
    const rendering = await engine.render(work, AbortSignal.any([deadline, callerGone, claimLost, forceStop]))
    refuseOversize(rendering.pdf)
    return { ...rendering, durationMs: durationMs(), storeDeadline }
  } catch (error) {
    forceStop.throwIfAborted()
    const verdict = classifyError(error, { deadline, callerGone, claimLost }, record.deadlineMs)
    logVerdict(worker, record, { verdict, attempt: claim.attempt, err: error })
    return verdict.kind === 'failed' ? { failure: verdict.failure, durationMs: durationMs() } : undefined
  } finally {
    over.abort()
  }
}

function refuseOversize({ byteLength }: Uint8Array): void {
  if (byteLength <= PDF_BYTES_MAX) return
  throw new ServiceError('template_error', `the PDF is ${byteLength} bytes; at most ${PDF_BYTES_MAX} are allowed`)
}

/** A failure of the template concerns the tenant and is in the outcome. Only our own failures get a log line here. */
function logVerdict(
  { log }: Worker,
  record: RenderRecord,
  end: { verdict: Verdict; attempt: number; err: unknown },
): void {
  const fields = { render: record.id, tenant: record.tenant, attempt: end.attempt, err: end.err }
  if (end.verdict.kind === 'retry') log.warn(fields, 'attempt crashed')
  else if (end.verdict.kind === 'lost') log.warn(fields, 'claim lost')
  else if (end.verdict.failure.code === 'internal') log.error(fields, 'render failed by a defect')
}
