/** Tests what processes that do not render report about the queue on Kafka, also when no renderer runs. */

import { readBacklog } from '@platen/adapters/kafka/partition/backlog.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { expect, test } from 'vitest'
import { aRecord, aRenderId } from '../fixture/build.ts'
import { describeOnKafka } from './kafka-harness.ts'

describeOnKafka('the backlog of the queue on Kafka', (kafka) => {
  test('is what was accepted and is not done, by line, and how old the oldest is', async ({ signal }) => {
    await using connection = await kafka.connect()
    const settings = await kafka.topics('queue')
    // Advances the clock after the records were accepted.
    let laterMs = 0
    const clock = { ...connection.clock, now: () => connection.clock.now() + laterMs }
    const look = async () => {
      const { queues } = await readBacklog({ ...connection, clock }, { ...settings, readers: [], deliveries: [] })
      return queues.filter(({ renders }) => renders > 0)
    }
    await using queue = kafkaRenderQueue(connection, settings)
    expect(await look()).toEqual([])
    for (let count = 0; count < 3; count++) {
      await queue.enqueue(aRecord({ id: aRenderId(), engine: 'html', mode: 'async', lane: 'bulk' }), signal)
    }
    laterMs = 3_600_000
    const [line, ...others] = await look()
    expect([line, others]).toMatchObject([{ engine: 'html', lane: 'bulk', renders: 3 }, []])
    // The estimate is at most a tenth too low. The upper bound allows for the time that the test itself takes.
    expect(line?.oldestMs).toBeGreaterThan(laterMs / 1.1)
    expect(line?.oldestMs).toBeLessThan(laterMs * 1.1)
    const consumer = await queue.consume('html', signal)
    for (let left = 3; left > 0; ) {
      const arrived = consumer.waitForRecord(signal)
      for (let delivery = consumer.poll('bulk'); delivery !== undefined; delivery = consumer.poll('bulk')) {
        await delivery.done(signal)
        left--
      }
      if (left > 0) await arrived
    }
    // It commits when it closes.
    await consumer[Symbol.asyncDispose]()
    expect(await look()).toEqual([])
  })
})
