import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import type { Database } from '@platen/adapters/sqlite/database.ts'
import { EVENT_PREFETCH, sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { assert, describe, expect, test } from 'vitest'
import { aFailure, aManifest, anEvent, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { memoryEventLog } from '../fixture/memory/event-log.ts'
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

describe('a reader of the log in SQLite', () => {
  /** The log, and how often it was asked for stored events. */
  async function aLog() {
    const looks = { count: 0 }
    const counted = (database: Database): Database => ({
      ...database,
      run(command, signal) {
        if (command[0]?.sql.includes('FROM event WHERE') === true) looks.count += 1
        return database.run(command, signal)
      },
    })
    const harness = ofTest(await sqliteHarness((database) => sqliteEventLog(counted(database))))
    return { log: await harness.open(), looks }
  }

  test('that keeps up does not read new events from the disk', async ({ signal }) => {
    const { log, looks } = await aLog()
    const events = log.follow('webhooks', signal)[Symbol.asyncIterator]()
    for (let round = 0; round < 5; round += 1) {
      const [event, next] = [anEvent(), events.next()]
      await log.append(event, signal)
      expect((await next).value?.event.id).toBe(event.id)
    }
    // At its start.
    expect(looks.count).toBe(1)
    await events.return?.()
  })

  test('that falls behind by more than is kept for it gets all events from the disk, in their order', async ({
    signal,
  }) => {
    const { log, looks } = await aLog()
    const events = log.follow('webhooks', signal)[Symbol.asyncIterator]()
    const all = Array.from({ length: 2 * EVENT_PREFETCH + 3 }, () => anEvent())
    const [first, ...others] = all
    assert(first !== undefined)
    const next = events.next()
    await log.append(first, signal)
    expect((await next).value?.event.id).toBe(first.id)
    await Promise.all(others.map((event) => log.append(event, signal)))
    for (const { id } of others) expect((await events.next()).value?.event.id).toBe(id)
    expect(looks.count).toBe(4)
    await events.return?.()
  })
})
