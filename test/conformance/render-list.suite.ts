/** The promises of every list of renders, and of the ledger that keeps it. */

import {
  cancellationOf,
  type EndedManifest,
  endOf,
  erasedEndOf,
  type RenderRecord,
  STATUSES,
  type Tombstone,
  tombstoneOf,
} from '@platen/contract/domain/render.ts'
import type { BatchId, IdScope } from '@platen/contract/domain/render-id.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { ListedRender, RenderList, RenderQuery } from '@platen/contract/port/render-list.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aManifest, anAbandonedManifest, aRecord, aRenderId, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import type { Harness } from './harness.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const LEASE = { owner: 'a', leaseMs: DAY_MS }
const { account, environment } = aRecord()
const SCOPE: IdScope = { account, environment }

export interface ListedRenders {
  readonly list: RenderList
  readonly ledger: RenderLedger
  /** Erases a render in the way of an erasure. */
  readonly erase: (manifest: EndedManifest, tombstone: Tombstone) => Promise<void>
}

export interface RenderListHarness extends Harness<ListedRenders> {
  readonly clock: { now(): number }
  advance(ms: number): unknown
}

/** Builds a render that was accepted so many minutes ago. */
function accepted(minutesAgo: number, fields: Partial<RenderRecord> = {}): RenderRecord {
  const acceptedAt = NOON - minutesAgo * MINUTE_MS
  return aRecord({ id: aRenderId(acceptedAt), acceptedAt, ...fields })
}

const codeOf = (text: string) => text as TemplateCode
const templateOf = (text: string) => ({ ...aRecord().template, code: codeOf(text) })

export function describeRenderList(name: string, makeHarness: () => Promise<RenderListHarness>): void {
  describe(`list of renders: ${name}`, () => {
    let harness: RenderListHarness
    let renders: ListedRenders
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      renders = await harness.open()
    })

    /** The ids on all pages, and how many renders each page had. */
    const walk = async (query: Partial<RenderQuery>, signal: AbortSignal) => {
      const [ids, sizes]: [string[], number[]] = [[], []]
      let below: RenderQuery['below']
      do {
        const asked = { scope: SCOPE, limit: 3, ...query, ...(below && { below }) }
        const page = await renders.list.page(asked, signal)
        ids.push(...page.renders.map(({ id }) => id))
        sizes.push(page.renders.length)
        below = page.next
      } while (below !== undefined)
      return { ids, sizes }
    }
    const idsOf = async (query: Partial<RenderQuery>, signal: AbortSignal) => (await walk(query, signal)).ids
    const only = async (signal: AbortSignal): Promise<readonly ListedRender[]> =>
      (await renders.list.page({ scope: SCOPE, limit: 100 }, signal)).renders

    test('is empty before there is a render', async ({ signal }) => {
      expect(await renders.list.page({ scope: SCOPE, limit: 100 }, signal)).toEqual({ renders: [] })
      const filters = { status: 'failed', template: codeOf('invoice'), engine: 'html', reference: 'x' } as const
      expect(await renders.list.page({ scope: SCOPE, limit: 1, ...filters }, signal)).toEqual({ renders: [] })
    })

    test('shows a render in each of its states, with its labels', async ({ signal }) => {
      const labels = { reference: 'order/7 "é" 🧾', metadata: { customer: 'c-1', note: '', constructor: '\\' } }
      const record = accepted(1, { ...labels, engine: 'html', retentionDays: 2 })
      const { id, template, acceptedAt } = record
      const known = { id, template: template.code, engine: 'html', acceptedAt, ...labels }
      await renders.ledger.markQueued(record, signal)
      const expiresAt = acceptedAt + 3 * DAY_MS
      expect(await only(signal)).toStrictEqual([{ ...known, state: { status: 'queued' }, expiresAt }])
      await renders.ledger.claim(record, LEASE, signal)
      expect(await only(signal)).toStrictEqual([{ ...known, state: { status: 'running' }, expiresAt }])
      const manifest = aManifest({ record })
      await renders.ledger.complete(manifest, signal)
      const { finishedAt } = manifest.outcome
      const state = { status: 'succeeded', finishedAt, bytes: 1234 }
      expect(await only(signal)).toStrictEqual([{ ...known, state, expiresAt: finishedAt + 2 * DAY_MS }])
    })

    test('shows how a render failed, and of one that it did not know how it ended', async ({ signal }) => {
      const record = accepted(1)
      await renders.ledger.complete(aManifest({ record, outcome: aFailure() }), signal)
      const state = { status: 'failed', finishedAt: NOON + 500, code: 'template_error' }
      expect(await only(signal)).toMatchObject([{ id: record.id, state }])
      expect(Object.keys((await only(signal))[0] ?? {})).not.toContain('reference')
    })

    test('keeps the first outcome, and takes no render back to an earlier state', async ({ signal }) => {
      const record = accepted(1)
      await renders.ledger.complete(aManifest({ record }), signal)
      await renders.ledger.complete(aManifest({ record, outcome: aFailure() }), signal)
      await renders.ledger.markQueued(record, signal)
      await renders.ledger.claim(record, LEASE, signal)
      expect((await only(signal)).map(({ state }) => state.status)).toEqual(['succeeded'])
      expect(await idsOf({ status: 'succeeded' }, signal)).toEqual([record.id])
      for (const status of ['queued', 'running', 'failed'] as const) expect(await idsOf({ status }, signal)).toEqual([])
    })

    test('keeps labels that the queue does not have, and shows those that only the manifest has', async ({
      signal,
    }) => {
      const { reference, metadata, ...stored } = accepted(1, {
        reference: 'a',
        metadata: { k: 'v' },
        requestData: 'Stored',
      })
      const record: RenderRecord = { ...stored, reference: 'a', metadata: { k: 'v' } }
      await renders.ledger.markQueued(record, signal)
      await renders.ledger.claim(stored, LEASE, signal)
      expect(await only(signal)).toMatchObject([{ reference, metadata, state: { status: 'running' } }])
      const late = accepted(2)
      await renders.ledger.claim(late, LEASE, signal)
      await renders.ledger.complete(aManifest({ record: { ...late, reference: 'b' } }), signal)
      expect(await idsOf({ reference: 'a' }, signal)).toEqual([record.id])
      expect(await idsOf({ reference: 'b' }, signal)).toEqual([late.id])
    })

    test('shows a render that is canceled with what it was accepted with', async ({ signal }) => {
      const record = accepted(1, { reference: 'a', engine: 'html' })
      const { id, template, tenant, storage, retentionDays } = record
      const known = { id, tenant, account, environment, storage, retentionDays }
      await renders.ledger.markQueued(record, signal)
      const cancellation = cancellationOf(known, NOON)
      await renders.ledger.complete(cancellation, signal)
      const listed = { id, template: template.code, engine: 'html', reference: 'a' }
      const canceled = { ...listed, state: { status: 'failed', finishedAt: NOON, code: 'canceled' } }
      expect(await only(signal)).toMatchObject([canceled])
      await renders.ledger.complete(endOf(record, 1, cancellation.outcome), signal)
      expect(await only(signal)).toMatchObject([canceled])
      expect(await idsOf({ status: 'failed', engine: 'html', reference: 'a' }, signal)).toEqual([id])
    })

    test('does not show a render that was removed, whatever comes later', async ({ signal }) => {
      const [ended, late] = [accepted(1), accepted(2)]
      await renders.ledger.complete(aManifest({ record: ended }), signal)
      await renders.ledger.markQueued(late, signal)
      for (const { id } of [ended, late]) await renders.list.remove(SCOPE, id, signal)
      for (const record of [ended, late]) await renders.ledger.complete(aManifest({ record }), signal)
      expect(await only(signal)).toEqual([])
    })

    test('gives pages, the newest first, each render once, however the renders came', async ({ signal }) => {
      const records = Array.from({ length: 7 }, (_, i) => accepted(i))
      for (const at of [3, 0, 6, 1, 5, 2, 4])
        await renders.ledger.complete(aManifest({ record: records[at] ?? aRecord() }), signal)
      const ids = records.map(({ id }) => id)
      expect(await walk({}, signal)).toEqual({ ids, sizes: [3, 3, 1] })
      expect(await walk({ limit: 7 }, signal)).toEqual({ ids, sizes: [7] })
      expect(await walk({ limit: 1 }, signal)).toEqual({ ids, sizes: ids.map(() => 1) })
      expect(await walk({ template: codeOf('invoice'), limit: 6 }, signal)).toEqual({ ids, sizes: [6, 1] })
    })

    test('goes on where it was, whatever is accepted meanwhile', async ({ signal }) => {
      const records = Array.from({ length: 4 }, (_, i) => accepted(i + 1))
      for (const record of records) await renders.ledger.markQueued(record, signal)
      const first = await renders.list.page({ scope: SCOPE, limit: 2 }, signal)
      await renders.ledger.markQueued(accepted(0), signal)
      const { next } = first
      const second = await renders.list.page({ scope: SCOPE, limit: 2, ...(next && { below: next }) }, signal)
      expect([...first.renders, ...second.renders].map(({ id }) => id)).toEqual(records.map(({ id }) => id))
    })

    test('lists by every combination of filters exactly what it should', { timeout: 60_000 }, async ({ signal }) => {
      const records: { record: RenderRecord; status: (typeof STATUSES)[number] }[] = []
      const [templates, references] = [
        ['invoice', 'letter'],
        [undefined, 'a', 'b'],
      ]
      let minutes = 0
      for (const status of STATUSES)
        for (const engine of ENGINES)
          for (const code of templates)
            for (const reference of references) {
              const labels = reference === undefined ? {} : { reference }
              const record = accepted(minutes++, { engine, template: templateOf(code), ...labels })
              records.push({ record, status })
              if (status === 'queued' || status === 'running') await renders.ledger.markQueued(record, signal)
              if (status === 'running') await renders.ledger.claim(record, LEASE, signal)
              if (status === 'succeeded') await renders.ledger.complete(aManifest({ record }), signal)
              if (status === 'failed') await renders.ledger.complete(aManifest({ record, outcome: aFailure() }), signal)
            }
      const since = NOON - 40 * MINUTE_MS
      const before = NOON - 10 * MINUTE_MS
      for (const status of [undefined, ...STATUSES])
        for (const engine of [undefined, ...ENGINES])
          for (const code of [undefined, ...templates, 'none'])
            for (const reference of [...references, 'none'])
              for (const times of [{}, { since, before }]) {
                const wanted = records.filter(
                  ({ record, status: found }) =>
                    found === (status ?? found) &&
                    record.engine === (engine ?? record.engine) &&
                    record.template.code === (code ?? record.template.code) &&
                    record.reference === (reference ?? record.reference) &&
                    (!('since' in times) || (record.acceptedAt >= since && record.acceptedAt < before)),
                )
                const query = {
                  ...(status && { status }),
                  ...(engine && { engine }),
                  ...(code && { template: codeOf(code) }),
                  ...(reference !== undefined && { reference }),
                  ...times,
                }
                expect(await idsOf({ ...query, limit: 10 }, signal), JSON.stringify(query)).toEqual(
                  wanted.map(({ record }) => record.id),
                )
              }
    })

    test('finds the renders of a batch, by other filters too, and counts them by state', async ({ signal }) => {
      const [batch, other] = ['01KAJHYV7NF3S8G9TWQ2MZXC4R', '01KAJHYV7NF3S8G9TWQ2MZXC4S'] as const
      const of = (text: string) => text as BatchId
      const records = Array.from({ length: 7 }, (_, at) =>
        accepted(at, { batch: of(batch), reference: `r${at % 2}`, ...(at > 4 && { engine: 'html' }) }),
      )
      const foreign = accepted(8, { batch: of(other), account: 'other' })
      for (const record of [...records, accepted(9, { batch: of(other) }), accepted(10), foreign])
        await renders.ledger.markQueued(record, signal)
      const [first, second, third, fourth] = records
      for (const record of [first, second, third]) if (record) await renders.ledger.claim(record, LEASE, signal)
      if (first) await renders.ledger.complete(aManifest({ record: first }), signal)
      if (second) await renders.ledger.complete(aManifest({ record: second, outcome: aFailure() }), signal)
      const ids = records.map(({ id }) => id)
      expect(await idsOf({ batch: of(batch) }, signal)).toEqual(ids)
      expect((await only(signal))[0]).toMatchObject({ id: first?.id, batch, state: { status: 'succeeded' } })
      expect(await idsOf({ batch: of(batch), status: 'queued', engine: 'react_pdf' }, signal)).toEqual(ids.slice(3, 5))
      expect(await idsOf({ batch: of(batch), reference: 'r1' }, signal)).toEqual([ids[1], ids[3], ids[5]])
      expect(await idsOf({ batch: of(batch), template: codeOf('none') }, signal)).toEqual([])
      expect(await renders.list.count(SCOPE, of(batch), signal)).toEqual({
        queued: 4,
        running: 1,
        succeeded: 1,
        failed: 1,
      })
      expect(await renders.list.count(SCOPE, of('01KAJHYV7NF3S8G9TWQ2MZXC4T'), signal)).toEqual({
        queued: 0,
        running: 0,
        succeeded: 0,
        failed: 0,
      })
      if (fourth) await renders.list.remove(SCOPE, fourth.id, signal)
      expect(await renders.list.count(SCOPE, of(batch), signal)).toMatchObject({ queued: 3 })
    })

    test('shows no render of another account or environment', async ({ signal }) => {
      const others = [accepted(1, { account: 'other' }), accepted(2, { environment: 'test' })]
      for (const record of others) await renders.ledger.complete(aManifest({ record }), signal)
      expect(await only(signal)).toEqual([])
      expect(await idsOf({ scope: { ...SCOPE, environment: 'test' } }, signal)).toEqual([others[1]?.id])
      expect(await idsOf({ scope: { ...SCOPE, account: 'other' } }, signal)).toEqual([others[0]?.id])
    })

    test('shows a sync render once it has ended, and one that was refused never', async ({ signal }) => {
      const [sync, refused] = [accepted(1, { lane: 'sync' }), accepted(2)]
      await renders.ledger.markQueued(sync, signal)
      await renders.ledger.claim(sync, LEASE, signal)
      await renders.ledger.markQueued(refused, signal)
      await renders.ledger.complete(anAbandonedManifest(refused), signal)
      expect(await only(signal)).toEqual([])
      await renders.ledger.complete(aManifest({ record: sync }), signal)
      expect((await only(signal)).map(({ id }) => id)).toEqual([sync.id])
    })

    test('shows nothing after its retention, whatever else is kept for longer', async ({ signal }) => {
      const records = [accepted(1), accepted(2, { retentionDays: 1 }), accepted(3, { retentionDays: 9 })]
      for (const record of records) await renders.ledger.complete(aManifest({ record }), signal)
      const [newest, , oldest] = records.map(({ id }) => id)
      await harness.advance(DAY_MS + 499)
      expect(await only(signal)).toHaveLength(3)
      await harness.advance(1)
      expect(await idsOf({}, signal)).toEqual([newest, oldest])
      expect(await idsOf({ template: codeOf('invoice') }, signal)).toEqual([newest, oldest])
    })

    test('shows nothing of an erased render, also not if its renderer ends it late', async ({ signal }) => {
      const [record, other] = [accepted(1, { reference: 'a' }), accepted(2, { reference: 'a' })]
      const manifest = aManifest({ record })
      for (const each of [manifest, aManifest({ record: other })]) await renders.ledger.complete(each, signal)
      const tombstone = tombstoneOf(manifest.render, harness.clock.now())
      await renders.erase(manifest, tombstone)
      await renders.ledger.markQueued(record, signal)
      await renders.ledger.claim(record, LEASE, signal)
      for (const end of [tombstone, erasedEndOf(record, tombstone)]) await renders.ledger.complete(end, signal)
      expect((await only(signal)).map(({ id }) => id)).toEqual([other.id])
      expect(await idsOf({ reference: 'a' }, signal)).toEqual([other.id])
    })
  })
}
