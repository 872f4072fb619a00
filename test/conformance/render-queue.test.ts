import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { queueByLane } from '@platen/embedded/store/by-lane.ts'
import { memoryHarness, sqliteHarness } from './harness.ts'
import { describeRenderQueue } from './render-queue.suite.ts'

describeRenderQueue('memory', () => memoryHarness(memoryRenderQueue))
describeRenderQueue('sqlite', () => sqliteHarness(sqliteRenderQueue))
describeRenderQueue('memory for sync, sqlite for the rest', () =>
  sqliteHarness((database) => queueByLane({ memory: memoryRenderQueue(), disk: sqliteRenderQueue(database) })),
)
