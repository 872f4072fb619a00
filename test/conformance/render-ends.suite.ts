/** The promises of everything that tells of the ends of renders. The doc comments of the port describe them. */
import type { PendingEnd, RenderEnds } from '@platen/contract/port/render-ends.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aManifest, aRecord } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import type { Harness } from './harness.ts'

/** The port, and the ledger that records the ends that it tells of. */
export interface EndsAndLedger {
  readonly ends: RenderEnds
  readonly ledger: RenderLedger
}

export function describeRenderEnds(name: string, makeHarness: () => Promise<Harness<EndsAndLedger>>): void {
  describe(`ends of renders: ${name}`, () => {
    let ends: RenderEnds
    let ledger: RenderLedger
    beforeEach(async () => {
      const harness = ofTest(await makeHarness())
      ;({ ends, ledger } = await harness.open())
    })
    const record = aRecord()
    const end = (signal: AbortSignal) => ledger.complete(aManifest({ record }), signal)
    const stateOf = async (signal: AbortSignal) => (await ledger.find(record.id, signal))?.state.status

    test('wake those who wait for a render when the ledger shows its end', async ({ signal }) => {
      using one = await looked(ends.expect(record.id), signal)
      using two = await looked(ends.expect(record.id), signal)
      await ledger.markQueued(record, signal)
      const waiting = [one, two].map(async (each) => {
        await each.mayHaveEnded(signal)
        return await stateOf(signal)
      })
      await end(signal)
      expect(await Promise.all(waiting)).toEqual(['succeeded', 'succeeded'])
    })

    test('are kept for the one who looks at the state meanwhile', async ({ signal }) => {
      using pending = await looked(ends.expect(record.id), signal)
      // It looks, and waits after that.
      expect(await stateOf(signal)).toBeUndefined()
      await end(signal)
      await pending.mayHaveEnded(signal)
      expect(await stateOf(signal)).toBe('succeeded')
    })

    test('wake nobody who waits for another render, or who has left', async ({ signal }) => {
      using other = await looked(ends.expect(aRecord().id), signal)
      using one = await looked(ends.expect(record.id), signal)
      const left = await looked(ends.expect(record.id), signal)
      left[Symbol.dispose]()
      await end(signal)
      await one.mayHaveEnded(signal)
      expect(await isWoken(other)).toBe(false)
      expect(await isWoken(left)).toBe(false)
    })

    test('let everybody look first', async ({ signal }) => {
      await end(signal)
      using late = ends.expect(record.id)
      await late.mayHaveEnded(signal)
      expect(await stateOf(signal)).toBe('succeeded')
    })

    test('are no longer waited for when the signal aborts, with its reason', async ({ signal }) => {
      using pending = await looked(ends.expect(record.id), signal)
      const stop = new AbortController()
      const waiting = pending.mayHaveEnded(stop.signal)
      const reason = new Error('long enough')
      stop.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      await end(signal)
      await expect(pending.mayHaveEnded(signal)).resolves.toBeUndefined()
    })
  })
}

/** Takes the first wake-up, which comes at once. */
export async function looked(pending: PendingEnd, signal: AbortSignal): Promise<PendingEnd> {
  await pending.mayHaveEnded(signal)
  return pending
}

async function isWoken(pending: PendingEnd): Promise<boolean> {
  const over = new AbortController()
  const woken = pending.mayHaveEnded(over.signal).then(
    () => true,
    () => false,
  )
  over.abort()
  return await woken
}
