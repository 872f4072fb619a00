import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { describe } from 'vitest'
import { memoryHarness, sqliteHarness } from '../conformance/harness.ts'
import { deliveryHarness } from '../conformance/kafka-delivery-harness.ts'
import { describeOnKafka } from '../conformance/kafka-harness.ts'
import { NEVER } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { memoryDeliveryLog } from '../fixture/memory/delivery-log.ts'
import { describeDispatcher } from './dispatcher.suite.ts'

describe('over the log in memory', () => describeDispatcher((clock) => memoryHarness(() => memoryDeliveryLog(clock))))
describe('over the log in SQLite', () =>
  describeDispatcher((clock) =>
    sqliteHarness((database) => openSqliteDeliveryLog(database, { clock, timer: systemClock() }, NEVER)),
  ))
describeOnKafka('over the log on Kafka', (kafka) =>
  describeDispatcher((clock) => deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore() })),
)
