import { openLruCache } from '@platen/lib/lru-cache.ts'
import { LEDGER_ENDED_MAX } from '../domain/limit.ts'
import type { RenderId } from '../domain/render-id.ts'
import type { ErasableRenderLedger } from './render-ledger.ts'

type Uncancelable = Omit<ErasableRenderLedger, 'cancel' | 'isCanceled'>

/**
 * Adds `cancel` and `isCanceled` to the ledger of one process. `isHeld` says whether somebody holds a render now. Cancellations are only in
 * memory: whoever cancels a render answers only when its outcome is durable.
 */
export function cancelableLedger<Ledger extends Uncancelable>(
  ledger: Ledger,
  isHeld: (id: RenderId, signal: AbortSignal) => Promise<boolean>,
): Ledger & ErasableRenderLedger {
  const canceled = openLruCache<true>(LEDGER_ENDED_MAX)
  const has = (id: RenderId) => canceled.peek(id) === true
  return {
    ...ledger,
    async claim(record, lease, signal) {
      const result = await ledger.claim(record, lease, signal)
      return result.kind === 'granted' && has(record.id) ? { ...result, isCanceled: true } : result
    },
    async cancel(id, signal) {
      signal.throwIfAborted()
      // Before `isHeld`, so that a claim it does not see yet finds the cancellation.
      canceled.set(id, true)
      return await isHeld(id, signal)
    },
    isCanceled: async (id) => has(id),
    async find(id, signal) {
      const view = await ledger.find(id, signal)
      return view !== undefined && has(id) ? { ...view, mayHaveEnded: true } : view
    },
    async complete(end, signal) {
      await ledger.complete(end, signal)
      canceled.drop(end.render.id)
    },
    async forget(id, signal) {
      await ledger.forget(id, signal)
      canceled.drop(id)
    },
  }
}
