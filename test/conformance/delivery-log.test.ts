import { memoryDeliveryLog } from '@platen/adapters/memory/delivery-log.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { describeDeliveryLog } from './delivery-log.suite.ts'
import { memoryHarness, sqliteHarness } from './harness.ts'

const NEVER = new AbortController().signal

describeDeliveryLog('memory', (clock) => memoryHarness(() => memoryDeliveryLog(clock)))
describeDeliveryLog('sqlite', (clock) => sqliteHarness((database) => openSqliteDeliveryLog(database, clock, NEVER)))
