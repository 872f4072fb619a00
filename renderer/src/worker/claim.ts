/** Claims a render, renews the claim until the work on it has ended, and releases it if the work was left unfinished. */
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import type { Claim, ClaimResult, Lease } from '@platen/contract/port/render-ledger.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import { CANCELED_POLL_MS, CLAIM_LEASE_MS, CLAIM_RENEW_MS } from './limit.ts'
import type { Worker } from './port.ts'

const SECOND_MS = 1000
/** How long a stopping renderer may take to release a claim. An unreleased claim expires by itself, only later. */
const CLAIM_RELEASE_MS_MAX = SECOND_MS

/** Waits until the engine is ready. Counts the attempt. */
export async function claimRender(worker: Worker, record: RenderRecord): Promise<ClaimResult> {
  const { ledger, engine, drain, forceStop } = worker
  // Checked here, because a ready engine does not check `drain`. So a drain also leaves a crashed render to other renderers.
  drain.throwIfAborted()
  // A claim counts as an attempt and starts the deadline. So there is no claim while the browser does not start.
  await engine.ready(drain)
  return await ledger.claim(record, leaseOf(worker), forceStop)
}

export interface ClaimRenewal extends AsyncDisposable {
  readonly claimLost: AbortSignal
  readonly canceled: AbortSignal
}

/** Renews a claim until it is disposed. An unavailable ledger does no harm until the lease expires. */
export function renewClaim(worker: Worker, record: RenderRecord, claim: Claim): ClaimRenewal {
  const [over, lost, canceled] = [new AbortController(), new AbortController(), new AbortController()]
  const renew = async () => {
    while (!over.signal.aborted) {
      await worker.clock.sleep(CLAIM_RENEW_MS, over.signal)
      const isHeld = await worker.ledger.renew(claim, leaseOf(worker), over.signal).catch(() => true)
      if (!isHeld) return lost.abort(new Error('the claim was taken over'))
    }
  }
  const watch = async () => {
    while (!over.signal.aborted) {
      await worker.clock.sleep(CANCELED_POLL_MS, over.signal)
      const isCanceled = await worker.ledger.isCanceled(claim.id, over.signal).catch(() => false)
      if (isCanceled) return canceled.abort(new Error('the render was canceled'))
    }
  }
  const working = [renew(), watch()].map((work) => work.catch(throwUnlessAborted(over.signal)))
  return {
    claimLost: lost.signal,
    canceled: canceled.signal,
    async [Symbol.asyncDispose]() {
      // The default reason would take a stack trace each time.
      over.abort('the attempt has ended')
      await Promise.all(working)
      // A render that has ended has no claim to release.
      if (worker.drain.aborted) await release(worker, record, claim)
    },
  }
}

/** Lets another renderer take the render before the claim expires. Never throws, because the claim expires anyway. */
async function release(
  { ledger, clock, observer, settings }: Worker,
  record: RenderRecord,
  claim: Claim,
): Promise<void> {
  try {
    await ledger.release(claim, settings.owner, clock.timeout(CLAIM_RELEASE_MS_MAX))
  } catch (err) {
    observer.claimNotReleased(record, err)
  }
}

function leaseOf({ settings }: Worker): Lease {
  return { owner: settings.owner, leaseMs: CLAIM_LEASE_MS }
}
