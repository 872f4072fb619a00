import { join } from 'node:path'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { DEAD_LETTERS_KEPT_MS } from '@platen/contract/domain/limit.ts'
import { queueByLane } from '@platen/embedded/store/by-lane.ts'
import { expect, test } from 'vitest'
import { aRecord } from '../fixture/build.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { memoryHarness, sqliteHarness } from './harness.ts'
import { describeOnKafka } from './kafka-harness.ts'
import { describeRenderQueue } from './render-queue.suite.ts'

describeRenderQueue('memory', () => memoryHarness(memoryRenderQueue))
describeRenderQueue('sqlite', () => sqliteHarness(sqliteRenderQueue))
describeRenderQueue('memory for sync, sqlite for the rest', () =>
  sqliteHarness((database) => queueByLane({ memory: memoryRenderQueue(), disk: sqliteRenderQueue(database) })),
)

describeOnKafka('on Kafka', (kafka) => {
  describeRenderQueue('kafka', () =>
    kafka.harness('queue', ({ connection, settings }) => kafkaRenderQueue(connection, { prefix: settings.prefix })),
  )
})

test('the queue in SQLite keeps dead letters as they were queued, for thirty days', async ({ signal }) => {
  const path = join(aFolder(), 'platen.db')
  const [old, young] = [aRecord(), aRecord()]
  await using database = await openDatabase({ path, signal })
  const queue = sqliteRenderQueue(database)
  await using consumer = await queue.consume('react_pdf', signal)
  for (const record of [old, young]) {
    await queue.enqueue(record, signal)
    let delivery = consumer.poll('async')
    for (; delivery === undefined; delivery = consumer.poll('async')) await consumer.waitForRecord(signal)
    await delivery.deadLetter('render_crashed', signal)
    const age = `UPDATE dead_letter SET buried_at = buried_at - ? WHERE id = ?`
    if (record === old) await database.run([{ sql: age, values: [DEAD_LETTERS_KEPT_MS + 1000, old.id] }], signal)
  }
  const [rows = []] = await database.run([{ sql: 'SELECT record, reason FROM dead_letter', values: [] }], signal)
  expect(rows.map(({ record, reason }) => [JSON.parse(String(record)), reason])).toStrictEqual([
    [young, 'render_crashed'],
  ])
})
