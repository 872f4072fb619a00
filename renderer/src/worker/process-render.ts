/** Takes a render from its claim to its outcome, in as many attempts as that needs. */
import { QUEUE_AGE_MS_MAX } from '@platen/contract/limit.ts'
import type { Claim, ClaimResult } from '@platen/contract/port/render-ledger.ts'
import { type Failure, type Manifest, type RenderRecord, UnreadableManifest } from '@platen/contract/render.ts'
import { leaseOf, renewClaim } from './claim.ts'
import { crashed, DEFECT, EXPIRED, SUSPENDED } from './classify-error.ts'
import { type Worker, withRetry } from './port.ts'
import { findManifest, publishOutcome, recordOutcome, requireManifest } from './record-outcome.ts'
import { render } from './render.ts'

/** Another renderer has claimed the render until `until`, unless it renews its claim. */
export type HeldElsewhere = Extract<ClaimResult, { kind: 'held' }>

/**
 * Claims and renders until there is a manifest, and makes everything that follows from it durable. A defect of ours ends the render it
 * hits, so that the render is not tried for ever.
 */
export async function processRender(worker: Worker, record: RenderRecord): Promise<Manifest | HeldElsewhere> {
  try {
    return await claimAndRender(worker, record)
  } catch (error) {
    if (worker.drain.aborted || error instanceof UnreadableManifest) throw error
    worker.log.error({ render: record.id, tenant: record.tenant, err: error }, 'render failed by a defect')
    return await recordOutcome(worker, record, { attempt: 1, failure: DEFECT, durationMs: 0 })
  }
}

async function claimAndRender(worker: Worker, record: RenderRecord): Promise<Manifest | HeldElsewhere> {
  const { ledger, engine } = worker
  for (;;) {
    // Check here, because an engine that is ready does not check `drain`. So a drain also leaves a crashed render to other renderers.
    worker.drain.throwIfAborted()
    // A claim counts as an attempt and starts the deadline. So we do not claim while the browser does not start.
    await engine.ready(worker.drain)
    const answer = await withRetry(worker, (signal) => ledger.claim(record, leaseOf(worker), signal))
    switch (answer.kind) {
      case 'held':
        return answer
      case 'settled':
        return await publishOutcome(worker, await requireManifest(worker, record.id))
      case 'exhausted':
        return await recordOutcome(worker, record, {
          attempt: answer.attempts,
          failure: crashed(answer.attempts),
          durationMs: 0,
        })
      case 'granted': {
        const manifest = await runAttempt(worker, record, answer.claim)
        if (manifest !== undefined) return manifest
      }
    }
  }
}

/** Runs one attempt and holds its claim until the outcome is durable. Returns undefined if the render must be tried again. */
async function runAttempt(worker: Worker, record: RenderRecord, claim: Claim): Promise<Manifest | undefined> {
  await using hold = renewClaim(worker, claim)
  // An earlier attempt may have died after it wrote its manifest and before it published its event.
  const earlier = claim.attempt > 1 ? await findManifest(worker, record.id) : undefined
  if (earlier !== undefined) return await publishOutcome(worker, earlier)
  const failure = refusalOf(worker, record)
  if (failure !== undefined)
    return await recordOutcome(worker, record, { attempt: claim.attempt, failure, durationMs: 0 })
  const result = await render(worker, record, { claim, claimLost: hold.claimLost })
  return result === undefined ? undefined : await recordOutcome(worker, record, { attempt: claim.attempt, ...result })
}

/** Why a render must not begin. A render can wait long after its admission. */
function refusalOf({ clock, directory }: Worker, record: RenderRecord): Failure | undefined {
  if (clock.now() - record.acceptedAt > QUEUE_AGE_MS_MAX) return EXPIRED
  const tenant = directory.current().tenants.get(record.tenant)
  // A tenant that was deleted and created again under the same name is another tenant.
  return tenant?.incarnation === record.account && tenant.suspended ? SUSPENDED : undefined
}
