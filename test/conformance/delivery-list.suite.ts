/** The promises of every list of deliveries. */
import {
  type Attempt,
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryStatus,
} from '@platen/contract/domain/delivery.ts'
import { TEST_EVENT } from '@platen/contract/domain/event.ts'
import type { IdScope, RenderId } from '@platen/contract/domain/render-id.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { DeliveryList, DeliveryQuery, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import type { DeliveryLog, NextStatus } from '@platen/contract/port/delivery-log.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aDelivery, aRecord, aRenderId, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { FAILED, OK, take } from './delivery-log.suite.ts'
import type { Harness } from './harness.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const { account, environment } = aRecord()
const SCOPE: IdScope = { account, environment }

export interface ListedDeliveries {
  readonly list: DeliveryList
  readonly log: DeliveryLog
  /** Tells a list that is a view what the log has. */
  readonly shown: (id: string) => Promise<void>
  /** Forgets the delivery of a render in the way of an erasure. */
  readonly erase: (render: RenderId) => Promise<void>
}

export interface DeliveryListHarness extends Harness<ListedDeliveries> {
  advance(ms: number): unknown
}

const codeOf = (text: string) => text as TemplateCode
const INVOICE = { template: codeOf('invoice'), expiresAt: NOON + DAY_MS }

let made = 0
/** Builds a delivery of a render that was accepted so many minutes ago. */
export function aListedDelivery(minutesAgo: number, fields: Partial<Delivery> = {}): Delivery {
  const render = aRenderId(NOON - minutesAgo * MINUTE_MS)
  return aDelivery({ id: `delivery-${made++}`, render, listed: INVOICE, ...fields })
}

/** An attempt that leads to a status. */
const ATTEMPTS: Readonly<Record<DeliveryStatus, readonly [Attempt, NextStatus]>> = {
  scheduled: [FAILED, { status: 'scheduled', waitMs: DAY_MS }],
  delivered: [OK, { status: 'delivered' }],
  exhausted: [FAILED, { status: 'exhausted' }],
  gone: [{ ...FAILED, statusCode: 410 }, { status: 'gone' }],
  blocked: [
    { startedAt: NOON, durationMs: 0, result: 'blocked', message: 'no' },
    { status: 'blocked', reason: 'no' },
  ],
}

export function describeDeliveryList(name: string, makeHarness: () => Promise<DeliveryListHarness>): void {
  describe(`list of deliveries: ${name}`, () => {
    let harness: DeliveryListHarness
    let deliveries: ListedDeliveries
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      deliveries = await harness.open()
    })

    const schedule = async (delivery: Delivery, signal: AbortSignal) => {
      await deliveries.log.schedule([delivery], signal)
      await deliveries.shown(delivery.id)
      return delivery
    }
    const attempt = async (status: DeliveryStatus, signal: AbortSignal) => {
      const due = await take(deliveries.log, signal)
      await due.record(...ATTEMPTS[status])
      await deliveries.shown(due.delivery.id)
    }
    const page = async (query: Partial<DeliveryQuery>, signal: AbortSignal) =>
      await deliveries.list.page({ scope: SCOPE, limit: 100, ...query }, signal)
    const only = async (signal: AbortSignal): Promise<readonly ListedDelivery[]> => (await page({}, signal)).deliveries
    const idsOf = async (query: Partial<DeliveryQuery>, signal: AbortSignal) => {
      const ids: string[] = []
      for (let below: RenderId | undefined, isFirst = true; isFirst || below !== undefined; isFirst = false) {
        const { deliveries: found, next } = await page({ limit: 7, ...query, ...(below && { below }) }, signal)
        ids.push(...found.map(({ id }) => id))
        below = next
      }
      return ids
    }

    test('is empty before there is a delivery', async ({ signal }) => {
      expect(await page({}, signal)).toEqual({ deliveries: [] })
      const filters = { status: 'exhausted', template: codeOf('invoice'), reference: 'x' } as const
      expect(await page(filters, signal)).toEqual({ deliveries: [] })
    })

    test('shows a delivery before its attempt and after it, without URL and answer', async ({ signal }) => {
      const listed = { ...INVOICE, reference: 'order/7 "é" 🧾' }
      const delivery = await schedule(aListedDelivery(1, { listed }), signal)
      const { id, render, createdAt } = delivery
      const known = { id, event: 'render.succeeded', render, ...listed, createdAt }
      expect(await only(signal)).toStrictEqual([{ ...known, status: 'scheduled' }])
      await attempt('exhausted', signal)
      const { startedAt, durationMs, result, statusCode } = FAILED
      const lastAttempt = { startedAt, durationMs, result, statusCode }
      expect(await only(signal)).toStrictEqual([{ ...known, status: 'exhausted', lastAttempt }])
      await deliveries.log.redeliver(id, signal)
      await attempt('delivered', signal)
      expect(await only(signal)).toStrictEqual([{ ...known, status: 'delivered', lastAttempt: OK }])
      expect(await idsOf({ status: 'exhausted' }, signal)).toEqual([])
      expect(await idsOf({ status: 'delivered', reference: listed.reference }, signal)).toEqual([id])
    })

    test('lists by every combination of filters exactly what it should', { timeout: 60_000 }, async ({ signal }) => {
      const [templates, references] = [
        ['invoice', 'letter'],
        [undefined, 'a', 'b'],
      ]
      const all: { delivery: Delivery; status: DeliveryStatus; minutesAgo: number }[] = []
      for (const status of DELIVERY_STATUSES)
        for (const template of templates)
          for (const reference of references) {
            const minutesAgo = all.length
            const listed = { ...INVOICE, template: codeOf(template), ...(reference !== undefined && { reference }) }
            const delivery = await schedule(aListedDelivery(minutesAgo, { listed }), signal)
            await attempt(status, signal)
            all.push({ delivery, status, minutesAgo })
          }
      const [from, to] = [20, 5]
      const times = { since: NOON - from * MINUTE_MS, before: NOON - to * MINUTE_MS }
      for (const status of [undefined, ...DELIVERY_STATUSES])
        for (const template of [undefined, ...templates, 'none'])
          for (const reference of [...references, 'none'])
            for (const isTimed of [false, true]) {
              const wanted = all.filter(
                (one) =>
                  one.status === (status ?? one.status) &&
                  one.delivery.listed?.template === (template ?? one.delivery.listed?.template) &&
                  one.delivery.listed?.reference === (reference ?? one.delivery.listed?.reference) &&
                  (!isTimed || (one.minutesAgo <= from && one.minutesAgo > to)),
              )
              const query = {
                ...(status && { status }),
                ...(template && { template: codeOf(template) }),
                ...(reference !== undefined && { reference }),
                ...(isTimed && times),
              }
              expect(await idsOf(query, signal), JSON.stringify(query)).toEqual(
                wanted.map(({ delivery }) => delivery.id),
              )
            }
    })

    test('shows no delivery of another account or environment', async ({ signal }) => {
      const others = [aListedDelivery(1, { account: 'other' }), aListedDelivery(2, { environment: 'test' })]
      for (const delivery of others) await schedule(delivery, signal)
      expect(await only(signal)).toEqual([])
      expect(await idsOf({ scope: { ...SCOPE, environment: 'test' } }, signal)).toEqual([others[1]?.id])
      expect(await idsOf({ scope: { ...SCOPE, account: 'other' } }, signal)).toEqual([others[0]?.id])
    })

    test('shows neither test events nor what does not say by what it is listed', async ({ signal }) => {
      const { listed: _listed, ...bare } = aListedDelivery(1)
      for (const delivery of [bare, { ...bare, id: 'of-a-test', type: TEST_EVENT } as const])
        await schedule(delivery, signal)
      expect(await only(signal)).toEqual([])
    })

    test('shows nothing after its retention, whatever else is kept for longer', async ({ signal }) => {
      const long = { ...INVOICE, expiresAt: NOON + 9 * DAY_MS }
      const [newest, brief, oldest] = [
        aListedDelivery(1, { listed: long }),
        aListedDelivery(2),
        aListedDelivery(3, { listed: long }),
      ]
      for (const delivery of [newest, brief, oldest]) await schedule(delivery, signal)
      await harness.advance(DAY_MS - 1)
      expect(await only(signal)).toHaveLength(3)
      await harness.advance(1)
      expect(await idsOf({}, signal)).toEqual([newest.id, oldest.id])
      expect(await idsOf({ template: codeOf('invoice') }, signal)).toEqual([newest.id, oldest.id])
    })

    test('shows nothing of an erased render, also if its delivery was in hand', async ({ signal }) => {
      const [erased, other] = [aListedDelivery(1), aListedDelivery(2)]
      await schedule(erased, signal)
      const due = await take(deliveries.log, signal)
      await schedule(other, signal)
      await deliveries.erase(erased.render)
      await due.record(...ATTEMPTS.delivered)
      await deliveries.shown(erased.id)
      expect(await idsOf({}, signal)).toEqual([other.id])
    })
  })
}
