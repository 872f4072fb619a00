import { expect, test } from 'vitest'
import { NOON, openedMetrics } from '../../../../test/fixture/build.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { retentionMeter } from './retention.ts'
import { webhookMeter } from './webhook.ts'

test('deliveries that are put off are counted by why', async () => {
  const { metrics, seriesOf } = openedMetrics()
  const meter = webhookMeter(metrics)
  meter.deferred('secret_missing')
  meter.dispatching(() => ({ waiting: 3, calling: 2 }))
  meter.deadLettered('delivery')
  expect(await seriesOf('webhook_deferrals')).toEqual(['platen_webhook_deferrals_total{reason="secret_missing"} 1'])
  expect(await seriesOf('webhook_deliveries_held')).toEqual([
    'platen_webhook_deliveries_held{state="waiting"} 3',
    'platen_webhook_deliveries_held{state="calling"} 2',
  ])
  expect(await seriesOf('webhook_dead')).toEqual(['platen_webhook_dead_letters_total{record="delivery"} 1'])
})

test('a pass of the removal is complete only if nothing failed', async () => {
  const { metrics, seriesOf } = openedMetrics()
  const clock = manualClock(NOON)
  const meter = retentionMeter(metrics, clock)
  await clock.advance(60_000)
  meter.ended('render', { removed: 7, failed: 0 })
  meter.ended('idempotency_claim', { removed: 1, failed: 2 })
  expect(await seriesOf('retention')).toEqual([
    'platen_retention_removals_total{kind="render",result="removed"} 7',
    'platen_retention_removals_total{kind="idempotency_claim",result="removed"} 1',
    'platen_retention_removals_total{kind="idempotency_claim",result="failed"} 2',
    `platen_retention_complete_timestamp_seconds{kind="render"} ${NOON / 1000 + 60}`,
    `platen_retention_complete_timestamp_seconds{kind="expiry_index_part"} ${NOON / 1000}`,
    `platen_retention_complete_timestamp_seconds{kind="idempotency_claim"} ${NOON / 1000}`,
  ])
})
