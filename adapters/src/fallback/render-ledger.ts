/**
 * The render ledger of renderers that continue while it is unavailable. No other process then knows of a render that starts. So the
 * manifest tells whether it has ended already; if two renderers run it, the manifest that is written first counts. The end is reported
 * to the ledger once; the projection, which follows the event log, reports it again.
 */
import { RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { manifestAddress } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Claim, ClaimResult, RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { ignoreUnavailable } from './ignore-unavailable.ts'

interface FallbackLedgerOptions {
  readonly artifacts: Pick<ArtifactStore, 'has'>
  /** The bucket of manifests. */
  readonly serviceBucket: string
  readonly log: Log
}

/** The fence of a claim that the ledger does not know. The ledger's own fences begin with 1. */
const LOCAL_FENCE = 0

/**
 * The ledger, with a fallback for `claim`, `renew`, `release` and `complete` while it throws `Unavailable`. `claim` still throws that
 * error if the artifact store cannot be reached either.
 */
export function fallbackRenderLedger(ledger: RenderLedger, options: FallbackLedgerOptions): RenderLedger {
  const { artifacts, serviceBucket, log } = options
  // Only for renders in hand, since each is completed in the end. An attempt that crashes the whole process is counted nowhere.
  const attempts = new Map<RenderId, number>()

  const claimLocally = async (id: RenderId, signal: AbortSignal): Promise<ClaimResult> => {
    if (await artifacts.has(manifestAddress(id, serviceBucket), signal)) return { kind: 'settled' }
    const before = attempts.get(id) ?? 0
    if (before >= RENDER_ATTEMPTS_MAX) return { kind: 'exhausted', attempts: before }
    attempts.set(id, before + 1)
    return { kind: 'granted', claim: { id, fence: LOCAL_FENCE, attempt: before + 1 } }
  }

  return {
    ...ledger,
    async claim(record, lease, signal) {
      try {
        return await ledger.claim(record, lease, signal)
      } catch (err) {
        if (!(err instanceof Unavailable)) throw err
        log.debug({ ...logFieldsOf(record), err }, 'render claimed without the ledger')
        return await claimLocally(record.id, signal)
      }
    },
    renew: async (claim, lease, signal) => isLocal(claim) || (await ledger.renew(claim, lease, signal)),
    async release(claim, owner, signal) {
      if (isLocal(claim)) attempts.delete(claim.id)
      else await ignoreUnavailable(ledger.release(claim, owner, signal), { log, fields: { render: claim.id } })
    },
    async complete(end, signal) {
      attempts.delete(end.render.id)
      await ignoreUnavailable(ledger.complete(end, signal), { log, fields: logFieldsOf(end.render) })
    },
  }
}

function isLocal({ fence }: Claim): boolean {
  return fence === LOCAL_FENCE
}
