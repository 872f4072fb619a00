/** From a claim to an outcome, by as many attempts as it takes. */
import { QUEUE_AGE_MS_MAX } from '@platen/contract/limit.ts'
import type { Claim, ClaimResult } from '@platen/contract/port/render-ledger.ts'
import { type Failure, type Manifest, type RenderRecord, UnreadableManifest } from '@platen/contract/render.ts'
import { leaseOf, renewClaim } from './claim-renewal.ts'
import { crashed, DEFECT, EXPIRED, SUSPENDED } from './classify-error.ts'
import { type Worker, withRetry } from './port.ts'
import { findManifest, publishOutcome, recordOutcome, requireManifest } from './record-outcome.ts'
import { render } from './render.ts'

/** Another renderer has the render until then, unless it goes on having it. */
export type HeldElsewhere = Extract<ClaimResult, { kind: 'held' }>

/** Claims and renders until there is a manifest, and makes everything that follows from it durable. A defect of ours ends the render it hit, instead of circling with it. */
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
    // Also what has crashed is begun again by others: an engine that is ready does not look whether it is asked in vain.
    worker.drain.throwIfAborted()
    // A claim counts as an attempt, and the deadline begins with it: neither is spent on waiting for a browser that does not start.
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

/** One attempt, under its claim until the outcome is durable. Undefined when it is to be tried again. */
async function runAttempt(worker: Worker, record: RenderRecord, claim: Claim): Promise<Manifest | undefined> {
  await using hold = renewClaim(worker, claim)
  // An earlier attempt may have died between its manifest and its event.
  const earlier = claim.attempt > 1 ? await findManifest(worker, record.id) : undefined
  if (earlier !== undefined) return await publishOutcome(worker, earlier)
  const failure = refusalOf(worker, record)
  if (failure !== undefined)
    return await recordOutcome(worker, record, { attempt: claim.attempt, failure, durationMs: 0 })
  const result = await render(worker, record, { claim, claimLost: hold.claimLost })
  return result === undefined ? undefined : await recordOutcome(worker, record, { attempt: claim.attempt, ...result })
}

/** Why a render is not begun: what was admitted may have waited for long. */
function refusalOf({ clock, directory }: Worker, record: RenderRecord): Failure | undefined {
  if (clock.now() - record.acceptedAt > QUEUE_AGE_MS_MAX) return EXPIRED
  const tenant = directory.current().tenants.get(record.tenant)
  // One made anew under the old name is another tenant.
  return tenant?.incarnation === record.account && tenant.suspended ? SUSPENDED : undefined
}
