/** A claim while it is held: it is renewed until whatever it was taken for has come to an end, or given back where it has not. */
import { CLAIM_LEASE_MS, CLAIM_RENEW_MS } from '@platen/contract/limit.ts'
import type { Claim, Lease } from '@platen/contract/port/render-ledger.ts'
import { CLAIM_RELEASE_MS_MAX } from '@platen/contract/worker-limit.ts'
import type { Worker } from './port.ts'

export interface ClaimRenewal extends AsyncDisposable {
  /** Aborts when the claim is lost to another renderer. */
  readonly claimLost: AbortSignal
}

/** Renews a claim until it is disposed of. A ledger that is away costs nothing until the lease lapses. */
export function renewClaim(worker: Worker, claim: Claim): ClaimRenewal {
  const [over, lost] = [new AbortController(), new AbortController()]
  const renew = async () => {
    while (!over.signal.aborted) {
      await worker.clock.sleep(CLAIM_RENEW_MS, over.signal)
      const isHeld = await worker.ledger.renew(claim, leaseOf(worker), over.signal).catch(() => true)
      if (!isHeld) return lost.abort(new Error('the claim was taken over'))
    }
  }
  const renewing = renew().catch((error: unknown) => {
    if (!over.signal.aborted) throw error
  })
  return {
    claimLost: lost.signal,
    async [Symbol.asyncDispose]() {
      over.abort()
      await renewing
      // Where the render has ended, there is none to give back.
      if (worker.drain.aborted) await release(worker, claim)
    },
  }
}

/** So that another renderer need not wait for it to lapse. Never throws, as it will. */
async function release({ ledger, clock, log, settings }: Worker, claim: Claim): Promise<void> {
  try {
    await ledger.release(claim, settings.owner, clock.timeout(CLAIM_RELEASE_MS_MAX))
  } catch (err) {
    log.debug({ render: claim.id, err }, 'claim release failed')
  }
}

/** What a claim is asked for with. */
export function leaseOf({ settings }: Worker): Lease {
  return { owner: settings.owner, leaseMs: CLAIM_LEASE_MS }
}
