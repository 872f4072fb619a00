/**
 * The render ledger of a cluster: the shared ledger, the list of renders beside it, and what a renderer does while both are unavailable.
 * Ledger and list are views, and no render waits for them: the projections read missed ends from the event log. Only a claim is repeated,
 * when neither the ledger nor the artifact store can say whether the render has ended.
 */
import { RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { expiryOf, manifestAddress, type RenderEnd, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { listedEnded, listedOpen } from '@platen/contract/port/listed-render.ts'
import type { Claim, ClaimResult, RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderListView } from '@platen/contract/port/render-list.ts'
import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { ignoreUnavailable } from './ignore-unavailable.ts'

interface FallbackLedgerOptions {
  readonly list: Pick<RenderListView, 'put' | 'cancel' | 'remove'>
  readonly artifacts: Pick<ArtifactStore, 'has'>
  readonly serviceBucket: string
  readonly log: Log
}

/** The fence of a claim that the ledger does not know. The ledger's own fences begin with 1. */
const LOCAL_FENCE = 0

/**
 * Tells the list of each async render that is accepted, begins or ends, and of each sync render that ended. While the ledger throws
 * `Unavailable`, `claim` is granted to this process alone, unless the render has a manifest: if two renderers run it, the manifest that is
 * written first counts. `claim` throws that error only if the artifact store cannot be reached either; `renew`, `release` and `complete`
 * never do.
 */
export function fallbackRenderLedger(
  ledger: RenderLedger,
  { list, artifacts, serviceBucket, log }: FallbackLedgerOptions,
): RenderLedger {
  // Only for renders in hand, since each is completed in the end. Attempts that crash the process are not counted.
  const attempts = new Map<RenderId, number>()

  const once = (call: Promise<void>, fields: object) => ignoreUnavailable(call, { log, fields })
  const listOpen = async (record: RenderRecord, status: 'queued' | 'running', signal: AbortSignal) => {
    if (record.mode === 'sync') return
    await once(list.put(record, listedOpen(record, status), signal), logFieldsOf(record))
  }
  const claimLocally = async (id: RenderId, signal: AbortSignal): Promise<ClaimResult> => {
    if (await artifacts.has(manifestAddress(id, serviceBucket), signal)) return { kind: 'settled' }
    const before = attempts.get(id) ?? 0
    if (before >= RENDER_ATTEMPTS_MAX) return { kind: 'exhausted', attempts: before }
    attempts.set(id, before + 1)
    return { kind: 'granted', claim: { id, fence: LOCAL_FENCE, attempt: before + 1 } }
  }

  return {
    ...ledger,
    async markQueued(record, signal) {
      await Promise.all([ledger.markQueued(record, signal), listOpen(record, 'queued', signal)])
    },
    async claim(record, lease, signal) {
      try {
        const answer = await ledger.claim(record, lease, signal)
        if (answer.kind === 'granted') await listOpen(record, 'running', signal)
        return answer
      } catch (err) {
        if (!(err instanceof Unavailable)) throw err
        log.debug({ ...logFieldsOf(record), err }, 'render claimed without the ledger')
        return await claimLocally(record.id, signal)
      }
    },
    renew: async (claim, lease, signal) => isLocal(claim) || (await ledger.renew(claim, lease, signal)),
    async release(claim, owner, signal) {
      if (isLocal(claim)) attempts.delete(claim.id)
      else await once(ledger.release(claim, owner, signal), { render: claim.id })
    },
    async complete(end, signal) {
      const fields = logFieldsOf(end.render)
      attempts.delete(end.render.id)
      await Promise.all([once(ledger.complete(end, signal), fields), once(listEnd(list, end, signal), fields)])
    },
  }
}

function isLocal({ fence }: Claim): boolean {
  return fence === LOCAL_FENCE
}

async function listEnd(
  list: FallbackLedgerOptions['list'],
  { kind, render, outcome }: RenderEnd,
  signal: AbortSignal,
): Promise<void> {
  switch (kind) {
    case 'ended':
    case 'removed':
      return await list.put(render, listedEnded({ render, outcome }), signal)
    case 'canceled': {
      const { finishedAt } = outcome
      const ended = { id: render.id, finishedAt, expiresAt: expiryOf(render, finishedAt) }
      return await list.cancel(render, ended, signal)
    }
    case 'abandoned':
      return await list.remove(render, render.id, signal)
    case 'erased':
    // Whoever erases a render takes it out of the list.
  }
}
