import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { memoryEventLog } from '@platen/adapters/memory/event-log.ts'
import { sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { assert, expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, NOON } from '../fixture/build.ts'
import { describeEventLog } from './event-log.suite.ts'
import { memoryHarness, sqliteHarness } from './harness.ts'
import { describeOnKafka } from './kafka-harness.ts'

describeEventLog('memory', () => memoryHarness(memoryEventLog))
describeEventLog('sqlite', () => sqliteHarness(sqliteEventLog))

describeOnKafka('on Kafka', (kafka) => {
  describeEventLog('kafka', () =>
    kafka.harness('events', ({ connection, settings }) => kafkaEventLog(connection, { prefix: settings.prefix })),
  )
})

test('the log in SQLite forgets on request the events of renders that ended before then', async ({ signal }) => {
  await using harness = await sqliteHarness(sqliteEventLog)
  const log = await harness.open()
  const [old, young] = [NOON, NOON + 1].map((finishedAt) => anEvent(aManifest({ outcome: aFailure({ finishedAt }) })))
  assert(old !== undefined && young !== undefined)
  await log.append(old, signal)
  await log.append(young, signal)
  await log.prune(NOON + 1, signal)
  for await (const { event } of log.follow('webhooks', signal)) {
    expect(event).toStrictEqual(young)
    break
  }
  await log.append(old, signal)
  const again = await harness.reopen?.()
  assert(again !== undefined)
  const ids: string[] = []
  for await (const { event } of again.follow('webhooks', signal)) if (ids.push(event.id) === 2) break
  expect(ids).toStrictEqual([young.id, old.id])
})
