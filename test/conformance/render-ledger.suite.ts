/** The promises of every render ledger. The doc comments of the port describe them. */
import { RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import { canTransition, isTerminal, type Status, tombstoneOf } from '@platen/contract/domain/render.ts'
import type { Claim, ClaimResult, ErasableRenderLedger, RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { Clock } from '@platen/lib/clock.ts'
import * as fc from 'fast-check'
import { assert, beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aManifest, aRecord, aRenderId } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { IS_LONG } from '../run/form.ts'
import type { Harness } from './harness.ts'

export interface RenderLedgerHarness extends Harness<RenderLedger> {
  readonly clock: Clock
  /** Can it continue claims after it has lost all its data? */
  readonly takesUpClaims?: boolean
  advance(ms: number): Promise<void>
}

const LEASE = { owner: 'renderer-1', leaseMs: 15_000 }
const OTHER = { owner: 'renderer-2', leaseMs: 15_000 }

export function describeRenderLedger(name: string, makeHarness: () => Promise<RenderLedgerHarness>): void {
  describe(`render ledger: ${name}`, () => {
    let harness: RenderLedgerHarness
    let ledger: RenderLedger
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      ledger = await harness.open()
    })

    test('knows nothing of a render that was never opened', async ({ signal }) => {
      expect(await ledger.find(aRenderId(), signal)).toBeUndefined()
    })

    test('shows an opened render as queued at once', async ({ signal }) => {
      const record = aRecord()
      await ledger.markQueued(record, signal)
      const { id, template, acceptedAt } = record
      expect(await ledger.find(id, signal)).toStrictEqual({
        id,
        template: template.code,
        acceptedAt,
        state: { status: 'queued' },
      })
    })

    test('shows a claimed render as running, and opening it again changes nothing', async ({ signal }) => {
      const record = aRecord()
      await granted(ledger.claim(record, LEASE, signal))
      await ledger.markQueued(record, signal)
      expect((await ledger.find(record.id, signal))?.state).toStrictEqual({ status: 'running', attempt: 1 })
    })

    test.for([
      ['succeeded', aManifest().outcome],
      ['failed', aFailure()],
    ] as const)(
      'shows a settled render as %s with its outcome, whatever comes later',
      async ([, outcome], { signal }) => {
        const record = aRecord()
        const claim = await granted(ledger.claim(record, LEASE, signal))
        await ledger.complete(aManifest({ record, outcome }), signal)
        await ledger.complete(aManifest({ record, outcome }), signal)
        await ledger.complete(
          aManifest({ record, outcome: aFailure({ error: { code: 'canceled', message: 'late' } }) }),
          signal,
        )
        await ledger.markQueued(record, signal)
        expect(await ledger.claim(record, OTHER, signal)).toStrictEqual({ kind: 'settled' })
        expect(await ledger.renew(claim, LEASE, signal)).toBe(false)
        expect((await ledger.find(record.id, signal))?.state).toStrictEqual(outcome)
      },
    )

    test('settles a render that it did not know', async ({ signal }) => {
      const record = aRecord()
      const manifest = aManifest({ record, outcome: aFailure() })
      await ledger.complete(manifest, signal)
      expect(await ledger.find(record.id, signal)).toStrictEqual({
        id: record.id,
        template: record.template.code,
        acceptedAt: record.acceptedAt,
        state: manifest.outcome,
      })
      expect(await ledger.claim(record, LEASE, signal)).toStrictEqual({ kind: 'settled' })
    })

    test('that can forget a render forgets it in any state, and holds a tombstone in its place', async ({ signal }) => {
      if (!isErasable(ledger)) return
      const [waiting, running, ended] = [aRecord(), aRecord(), aRecord()]
      await ledger.markQueued(waiting, signal)
      const claim = await granted(ledger.claim(running, LEASE, signal))
      await ledger.complete(aManifest({ record: ended }), signal)
      for (const record of [waiting, running, ended]) {
        await ledger.forget(record.id, signal)
        expect(await ledger.find(record.id, signal)).toBeUndefined()
        const tombstone = tombstoneOf(aManifest({ record }).render, harness.clock.now())
        await ledger.complete(tombstone, signal)
        expect((await ledger.find(record.id, signal))?.state).toStrictEqual(tombstone.outcome)
        expect(await ledger.claim(record, OTHER, signal)).toStrictEqual({ kind: 'settled' })
      }
      expect(await ledger.renew(claim, LEASE, signal)).toBe(false)
      await ledger.forget(aRenderId(), signal)
    })

    test('tells the holder of a canceled render, whoever claims it next, and readers', async ({ signal }) => {
      const [waiting, running, unknown] = [aRecord(), aRecord(), aRecord()]
      await ledger.markQueued(waiting, signal)
      const claim = await granted(ledger.claim(running, LEASE, signal))
      expect(await ledger.isCanceled(running.id, signal)).toBe(false)
      const ids = [waiting.id, running.id, unknown.id]
      for (let times = 0; times < 2; times++)
        expect(await Promise.all(ids.map((id) => ledger.cancel(id, signal)))).toEqual([false, true, false])
      for (const id of ids) expect(await ledger.isCanceled(id, signal)).toBe(true)
      expect(await ledger.find(waiting.id, signal)).toMatchObject({ state: { status: 'queued' }, mayHaveEnded: true })
      expect(await ledger.find(running.id, signal)).toMatchObject({ state: { status: 'running' }, mayHaveEnded: true })
      expect(await ledger.renew(claim, LEASE, signal)).toBe(true)
      await harness.advance(LEASE.leaseMs)
      expect(await ledger.cancel(running.id, signal)).toBe(false)
      for (const record of [waiting, running, unknown])
        expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'granted', isCanceled: true })
    })

    test('does not cancel a render that has ended', async ({ signal }) => {
      const record = aRecord()
      await granted(ledger.claim(record, LEASE, signal))
      const manifest = aManifest({ record })
      await ledger.complete(manifest, signal)
      expect(await ledger.cancel(record.id, signal)).toBe(false)
      expect((await ledger.find(record.id, signal))?.state).toStrictEqual(manifest.outcome)
      expect(await ledger.claim(record, OTHER, signal)).toStrictEqual({ kind: 'settled' })
    })

    test('lets nobody claim what another holds, and says until when', async ({ signal }) => {
      const record = aRecord()
      await granted(ledger.claim(record, LEASE, signal))
      const until = harness.clock.now() + LEASE.leaseMs
      expect(await ledger.claim(record, OTHER, signal)).toStrictEqual({ kind: 'held', until })
      expect((await ledger.find(record.id, signal))?.state).toStrictEqual({ status: 'running', attempt: 1 })
    })

    test('lets exactly one of fifty racing renderers claim a render', async ({ signal }) => {
      const record = aRecord()
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => ledger.claim(record, { owner: `renderer-${i}`, leaseMs: 15_000 }, signal)),
      )
      expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(1)
      expect(answers.filter(({ kind }) => kind === 'held')).toHaveLength(49)
    })

    test('lets another take over when the lease has lapsed, not a moment before', async ({ signal }) => {
      const record = aRecord()
      const first = await granted(ledger.claim(record, LEASE, signal))
      await harness.advance(LEASE.leaseMs - 1)
      expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'held' })
      await harness.advance(1)
      const second = await granted(ledger.claim(record, OTHER, signal))
      expect(second.attempt).toBe(2)
      expect(second.fence).toBeGreaterThan(first.fence)
      expect(await ledger.renew(first, LEASE, signal)).toBe(false)
      expect(await ledger.renew(second, OTHER, signal)).toBe(true)
    })

    test('counts a lease from the moment it was renewed', async ({ signal }) => {
      const record = aRecord()
      const claim = await granted(ledger.claim(record, LEASE, signal))
      await harness.advance(10_000)
      expect(await ledger.renew(claim, LEASE, signal)).toBe(true)
      await harness.advance(LEASE.leaseMs - 1)
      expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'held' })
      await harness.advance(1)
      expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'granted' })
    })

    test('renews a lapsed claim that nobody has taken over', async ({ signal }) => {
      const record = aRecord()
      const claim = await granted(ledger.claim(record, LEASE, signal))
      await harness.advance(LEASE.leaseMs * 2)
      expect(await ledger.renew(claim, LEASE, signal)).toBe(true)
      expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'held' })
    })

    test('renews nothing it never granted, unless it is one that may have forgotten', async ({ signal }) => {
      const unknown = { id: aRenderId(), fence: 2, attempt: 2 }
      const isTakenUp = harness.takesUpClaims === true
      expect(await ledger.renew(unknown, LEASE, signal)).toBe(isTakenUp)
      const again = await ledger.claim(aRecord({ id: unknown.id }), OTHER, signal)
      expect(again).toMatchObject(isTakenUp ? { kind: 'held' } : { claim: { attempt: 1 } })
      expect(await ledger.renew(unknown, LEASE, signal)).toBe(isTakenUp)
      const record = aRecord()
      const claim = await granted(ledger.claim(record, LEASE, signal))
      expect(await ledger.renew(claim, OTHER, signal)).toBe(false)
      expect(await ledger.renew({ ...claim, fence: claim.fence + 1 }, LEASE, signal)).toBe(false)
    })

    test('gives a claim that was released to whoever asks next, and counts no attempt for it', async ({ signal }) => {
      const record = aRecord()
      for (let attempt = 1; attempt <= 2 * RENDER_ATTEMPTS_MAX; attempt++) {
        const claim = await granted(ledger.claim(record, LEASE, signal))
        expect(claim).toMatchObject({ attempt })
        await ledger.release(claim, LEASE.owner, signal)
        await ledger.release(claim, LEASE.owner, signal)
        expect(await ledger.renew(claim, LEASE, signal)).toBe(false)
        // A state never goes back to an earlier one.
        expect((await ledger.find(record.id, signal))?.state).toStrictEqual({ status: 'running', attempt })
      }
      for (let attempt = 1; attempt <= RENDER_ATTEMPTS_MAX; attempt++) {
        await granted(ledger.claim(record, OTHER, signal))
      }
      await harness.advance(LEASE.leaseMs)
      const exhausted = { kind: 'exhausted', attempts: RENDER_ATTEMPTS_MAX }
      expect(await ledger.claim(record, LEASE, signal)).toStrictEqual(exhausted)
    })

    test('releases nothing that is not held, or not by who says so', async ({ signal }) => {
      const [record, ended] = [aRecord(), aRecord()]
      const first = await granted(ledger.claim(record, LEASE, signal))
      await ledger.release(first, OTHER.owner, signal)
      expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'held' })
      await harness.advance(LEASE.leaseMs)
      const second = await granted(ledger.claim(record, OTHER, signal))
      await ledger.release(first, LEASE.owner, signal)
      expect(await ledger.renew(second, OTHER, signal)).toBe(true)
      const claim = await granted(ledger.claim(ended, LEASE, signal))
      await ledger.complete(aManifest({ record: ended }), signal)
      await ledger.release(claim, LEASE.owner, signal)
      expect(await ledger.claim(ended, OTHER, signal)).toStrictEqual({ kind: 'settled' })
    })

    test('lets an owner claim again what it holds, as the next attempt', async ({ signal }) => {
      const record = aRecord()
      const first = await granted(ledger.claim(record, LEASE, signal))
      const second = await granted(ledger.claim(record, LEASE, signal))
      expect(second).toMatchObject({ attempt: 2 })
      expect(second.fence).toBeGreaterThan(first.fence)
      expect(await ledger.renew(first, LEASE, signal)).toBe(false)
    })

    test('gives a render up after the last attempt, but not before its lease has lapsed', async ({ signal }) => {
      const record = aRecord()
      for (let attempt = 1; attempt <= RENDER_ATTEMPTS_MAX; attempt++) {
        await harness.advance(LEASE.leaseMs)
        expect(await granted(ledger.claim(record, LEASE, signal))).toMatchObject({ attempt })
      }
      expect(await ledger.claim(record, OTHER, signal)).toMatchObject({ kind: 'held' })
      const exhausted = { kind: 'exhausted', attempts: RENDER_ATTEMPTS_MAX }
      expect(await ledger.claim(record, LEASE, signal)).toStrictEqual(exhausted)
      await harness.advance(LEASE.leaseMs)
      expect(await ledger.claim(record, OTHER, signal)).toStrictEqual(exhausted)
    })

    test('keeps renders apart', async ({ signal }) => {
      const [one, two] = [aRecord(), aRecord()]
      await granted(ledger.claim(one, LEASE, signal))
      expect(await granted(ledger.claim(two, OTHER, signal))).toMatchObject({ id: two.id, attempt: 1 })
    })

    test('does nothing for a caller that has gone already', async ({ signal }) => {
      const record = aRecord()
      const reason = new Error('gone')
      const gone = AbortSignal.abort(reason)
      await expect(ledger.markQueued(record, gone)).rejects.toBe(reason)
      await expect(ledger.claim(record, LEASE, gone)).rejects.toBe(reason)
      await expect(ledger.complete(aManifest({ record }), gone)).rejects.toBe(reason)
      await expect(ledger.find(record.id, gone)).rejects.toBe(reason)
      expect(await ledger.find(record.id, signal)).toBeUndefined()
    })

    test('lets states follow each other only as the contract says, whatever is asked of it', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), (steps) => walk({ ledger, harness }, steps)),
        { numRuns: IS_LONG ? 60 : 20 },
      )
    })

    test('counts attempts and frees claims over a restart, and keeps outcomes', async ({ signal, skip }) => {
      if (harness.reopen === undefined) return skip('nothing in it is durable')
      const [running, ended] = [aRecord(), aRecord()]
      const claim = await granted(ledger.claim(running, LEASE, signal))
      await ledger.complete(aManifest({ record: ended }), signal)
      const again = await harness.reopen()
      expect((await again.find(running.id, signal))?.state).toStrictEqual({ status: 'running', attempt: 1 })
      expect((await again.find(ended.id, signal))?.state).toStrictEqual(aManifest({ record: ended }).outcome)
      expect(await again.renew(claim, LEASE, signal)).toBe(false)
      expect(await granted(again.claim(running, OTHER, signal))).toMatchObject({ attempt: 2 })
    })
  })
}

type Step =
  | { readonly kind: 'open' | 'settle' | 'cancel' }
  | { readonly kind: 'claim'; readonly owner: string }
  | { readonly kind: 'renew'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('open', 'settle', 'cancel') }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('claim'), owner: fc.constantFrom('a', 'b') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew'), which: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(1, 7_500, 15_000) }) },
)

/** Takes one render through the steps. Checks all invariants after each step. */
async function walk(
  { ledger, harness }: { ledger: RenderLedger; harness: RenderLedgerHarness },
  steps: readonly Step[],
): Promise<void> {
  const signal = AbortSignal.timeout(10_000)
  const record = aRecord()
  const claims: { readonly claim: Claim; readonly owner: string }[] = []
  let holder: { readonly owner: string; until: number } | undefined
  let before: Status | undefined
  let isCanceled = false

  for (const step of steps) {
    const now = harness.clock.now()
    if (step.kind === 'open') await ledger.markQueued(record, signal)
    if (step.kind === 'settle') await ledger.complete(aManifest({ record }), signal)
    if (step.kind === 'cancel') {
      const isOpen = before === undefined || !isTerminal(before)
      expect(await ledger.cancel(record.id, signal)).toBe(isOpen && holder !== undefined && holder.until > now)
      isCanceled ||= isOpen
    }
    if (step.kind === 'wait') await harness.advance(step.ms)
    if (step.kind === 'claim') {
      const answer = await ledger.claim(record, { owner: step.owner, leaseMs: 15_000 }, signal)
      expect(answer.kind).toBe(expectedAnswer(step.owner))
      if (answer.kind === 'granted') {
        expect(answer.isCanceled === true).toBe(isCanceled)
        expect(answer.claim.attempt).toBe(claims.length + 1)
        expect(answer.claim.fence).toBeGreaterThan(claims.at(-1)?.claim.fence ?? -1)
        claims.push({ claim: answer.claim, owner: step.owner })
        holder = { owner: step.owner, until: now + 15_000 }
      }
    }
    const renewed = step.kind === 'renew' ? claims[step.which] : undefined
    if (renewed !== undefined) {
      const isLatest = renewed === claims.at(-1) && !(before !== undefined && isTerminal(before))
      expect(await ledger.renew(renewed.claim, { owner: renewed.owner, leaseMs: 15_000 }, signal)).toBe(isLatest)
      if (isLatest) holder = { owner: renewed.owner, until: now + 15_000 }
    }
    const after = (await ledger.find(record.id, signal))?.state.status
    if (before !== undefined) assert(after !== undefined && (after === before || canTransition(before, after)))
    before = after
  }

  function expectedAnswer(owner: string): ClaimResult['kind'] {
    if (before !== undefined && isTerminal(before)) return 'settled'
    if (holder !== undefined && holder.owner !== owner && holder.until > harness.clock.now()) return 'held'
    return claims.length >= RENDER_ATTEMPTS_MAX ? 'exhausted' : 'granted'
  }
}

async function granted(answer: Promise<ClaimResult>): Promise<Claim> {
  const given = await answer
  assert(given.kind === 'granted', `granted, not ${given.kind}`)
  return given.claim
}

function isErasable(ledger: RenderLedger): ledger is ErasableRenderLedger {
  return 'forget' in ledger
}
