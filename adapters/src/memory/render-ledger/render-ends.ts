import { openEndWaiters } from '@platen/contract/port/end-waiters.ts'
import type { RenderEnds } from '@platen/contract/port/render-ends.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'

/** For a service of one process: `ends` learns of each end from the returned ledger. */
export function memoryRenderEnds<Ledger extends RenderLedger>(ledger: Ledger): { ledger: Ledger; ends: RenderEnds } {
  const waiters = openEndWaiters()
  return {
    ledger: {
      ...ledger,
      async complete(end, signal) {
        await ledger.complete(end, signal)
        waiters.ended(end.render.id)
      },
    },
    ends: waiters,
  }
}
