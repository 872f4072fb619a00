import { kafkaDeliveryReader } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { aDelivery, NEVER } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../fixture/memory/delivery-log.ts'
import { hasServer } from '../topology/server/binary.ts'
import { openStore, type S3Server, startS3 } from '../topology/server/s3.ts'
import { describeDeliveryLog } from './delivery-log.suite.ts'
import { memoryHarness, opened, sqliteHarness } from './harness.ts'
import { deliveryHarness } from './kafka-delivery-harness.ts'
import { describeOnKafka } from './kafka-harness.ts'

describeDeliveryLog('memory', (clock) => memoryHarness(() => memoryDeliveryLog(clock)))
/** Tests schedule a delivery, and make its first attempt when it is stored: it is waited for a hundredth of the usual time. */
const system = systemClock()
const timer: Pick<Clock, 'monotonic' | 'sleep'> = {
  monotonic: () => 100 * system.monotonic(),
  sleep: (ms, signal) => system.sleep(ms / 100, signal),
}
describeDeliveryLog('sqlite', (clock) =>
  sqliteHarness((database) => openSqliteDeliveryLog(database, { clock, timer }, NEVER)),
)

describeOnKafka('on Kafka', (kafka) => {
  describe.skipIf(!hasServer('s3'))('and S3', () => {
    let server: S3Server
    let installations = 0
    beforeAll(async () => {
      server = await startS3(['platen'])
      return () => server[Symbol.asyncDispose]()
    })
    describeDeliveryLog('kafka and S3', async (clock) => {
      const prefix = `${++installations}/`
      const artifacts = await openStore(server, { prefix, installation: prefix })
      const harness = await deliveryHarness(kafka, { clock, artifacts })
      return {
        ...harness,
        async [Symbol.asyncDispose]() {
          await harness[Symbol.asyncDispose]()
          artifacts[Symbol.dispose]()
        },
      }
    })
  })

  test('shows deliveries to other processes, and is asked by them', async ({ signal }) => {
    const made = { clock: manualClock(), artifacts: memoryArtifactStore() }
    await using harness = await deliveryHarness(kafka, made)
    const log = await harness.open()
    const desk = kafkaDeliveryReader({ ...made, connection: harness.connection, ids: systemIds() }, harness.settings)
    const delivery = aDelivery()
    await log.schedule([delivery], signal)
    for await (const due of log.consume(signal)) {
      await due.record({ startedAt: 0, durationMs: 1, result: 'ok' }, { status: 'delivered' })
      break
    }
    expect(await desk.find(delivery.id, signal)).toMatchObject({ delivery, status: 'delivered' })
    expect(await desk.listByRender(delivery.render, signal)).toHaveLength(1)
    expect(await desk.redeliver(delivery.id, signal)).toBe(true)
    for await (const due of log.consume(signal)) {
      expect(due).toMatchObject({ isRedelivery: true, delivery })
      break
    }
  })

  test('forgets the deliveries of a render, and leaves nothing of them', async ({ signal }) => {
    const artifacts = memoryArtifactStore()
    const log = await opened(deliveryHarness(kafka, { clock: manualClock(), artifacts }))
    const [gone, kept] = [aDelivery(), aDelivery()]
    await log.schedule([gone], signal)
    await log.redeliver(gone.id, signal)
    await log.schedule([kept], signal)
    await log.forget(gone.render, signal)
    await log.forget(gone.render, signal)
    expect(await log.find(gone.id, signal)).toBeUndefined()
    for await (const due of log.consume(signal)) {
      expect(due.delivery).toStrictEqual(kept)
      break
    }
    const left = await Array.fromAsync(artifacts.list('platen', '', signal))
    expect(left.every(({ key }) => key.includes(kept.id))).toBe(true)
  })
})
