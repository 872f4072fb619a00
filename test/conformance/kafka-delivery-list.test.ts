/** Deliveries on Kafka as their list shows them: told of each attempt, however long it is away, and without holding up any. */

import { memoryDeliveryList } from '@platen/adapters/memory/delivery-log/delivery-list.ts'
import type { DeliveryStatus } from '@platen/contract/domain/delivery.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { aRecord, NEVER, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { poll } from '../time/poll.ts'
import { aListedDelivery } from './delivery-list.suite.ts'
import { FAILED, OK, take } from './delivery-log.suite.ts'
import { deliveryHarness, expectNone, NEXT } from './kafka-delivery-harness.ts'
import { describeOnKafka } from './kafka-harness.ts'

const { account, environment } = aRecord()
const SCOPE = { account, environment }
/** Longer than a list is left alone that could not be told. */
const LATER_MS = 600_000

describeOnKafka('the list of deliveries on Kafka', (kafka) => {
  async function installed() {
    const clock = manualClock(NOON)
    const memory = memoryDeliveryList(clock)
    let isAway = false
    const reached = <T>(call: () => Promise<T>) => (isAway ? Promise.reject(new Unavailable('away')) : call())
    const list: DeliveryListView = {
      ...memory,
      put: (...args) => reached(() => memory.put(...args)),
      add: (...args) => reached(() => memory.add(...args)),
    }
    const harness = ofTest(await deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore(), list }))
    return {
      clock,
      harness,
      log: await harness.open(),
      away: (is: boolean) => void (isAway = is),
      statuses: async (): Promise<DeliveryStatus[]> => {
        const { deliveries } = await memory.page({ scope: SCOPE, limit: 100 }, NEVER)
        return deliveries.filter(({ id }) => id.startsWith('delivery-')).map(({ status }) => status)
      },
    }
  }

  test('shows a delivery from its schedule on, and each attempt at once', async ({ signal }) => {
    const { log, statuses, clock } = await installed()
    await log.schedule([aListedDelivery(1)], signal)
    expect(await statuses()).toEqual(['scheduled'])
    await (await take(log, signal)).record(FAILED, NEXT)
    const again = take(log, signal)
    while (clock.armed() === 0) await new Promise(setImmediate)
    await clock.advance(NEXT.waitMs)
    await (await again).record(OK, { status: 'delivered' })
    expect(await statuses()).toEqual(['delivered'])
  })

  test('shows what became of deliveries while it was away, and nobody is called again for that', async ({ signal }) => {
    const { log, statuses, clock, away } = await installed()
    away(true)
    const delivery = aListedDelivery(1)
    await log.schedule([delivery], signal)
    await (await take(log, signal)).record(OK, { status: 'delivered' })
    expect(await statuses()).toEqual([])
    away(false)
    const next = take(log, signal)
    await poll(async () => {
      await clock.advance(LATER_MS)
      return await statuses()
    }).until((found) => found.includes('delivered'))
    const last = aListedDelivery(0)
    await log.schedule([last], signal)
    expect((await next).delivery.id).toBe(last.id)
    expect((await log.find(delivery.id, signal))?.attempts).toEqual([OK])
  })

  test('shows the attempt of a process that died before it could tell', async ({ signal }) => {
    const { log, harness, statuses, away } = await installed()
    await log.schedule([aListedDelivery(1)], signal)
    const due = await take(log, signal)
    away(true)
    harness.fail(/^send webhook.wait/)
    await expect(due.record(OK, { status: 'delivered' })).rejects.toThrow(Unavailable)
    expect(await statuses()).toEqual(['scheduled'])
    away(false)
    await expectNone(await harness.reopen(), signal)
    expect(await statuses()).toEqual(['delivered'])
  })

  test('is not told of one that was forgotten', async ({ signal }) => {
    const { log, statuses, away, clock } = await installed()
    away(true)
    const delivery = aListedDelivery(1)
    await log.schedule([delivery], signal)
    await (await take(log, signal)).record(OK, { status: 'delivered' })
    await log.forget(delivery.render, signal)
    away(false)
    await clock.advance(LATER_MS)
    await expectNone(log, signal)
    expect(await statuses()).toEqual([])
  })
})
