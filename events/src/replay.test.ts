/** Tests the order in which a replay reads, applies and moves checkpoints. The suites on Kafka and Redis test what comes of it. */

import type { Checkpoint, Checkpoints } from '@platen/contract/port/checkpoint.ts'
import type { EventBatch, ReplayableLog } from '@platen/contract/port/event-log.ts'
import { expect, test } from 'vitest'
import { SILENT } from '../../test/fixture/build.ts'
import { manualClock } from '../../test/fixture/memory/clock.ts'
import { applyEvents } from './replay.ts'

/** A log of one partition that is read in two batches, and what happens to it. */
function aLog() {
  const seen: string[] = []
  const secondRead = Promise.withResolvers<void>()
  const batchOf = (from: number, to: number): EventBatch => ({
    partition: 0,
    from,
    to,
    events: [],
    done: () => seen.push(`done ${from}`),
    rewind: () => seen.push(`rewind ${from}`),
  })
  const events: ReplayableLog = {
    async *replay(_reader, begin) {
      await begin(0, { first: 0, written: 4, partitions: 1 })
      yield [batchOf(0, 2)]
      seen.push('read 2')
      secondRead.resolve()
      yield [batchOf(2, 4)]
    },
  }
  return { events, seen, secondRead: secondRead.promise }
}

/** Checkpoints of one partition; `isMovable` says whether it may be moved from an offset. */
function checkpointsOf(seen: string[], isMovable: (offset: number) => boolean): Checkpoints {
  const begun: Checkpoint = { partition: 0, offset: 0, fence: 'one' }
  return {
    begin: async () => begun,
    async advance(checkpoint, { to }) {
      seen.push(`advance ${checkpoint.offset} to ${to}`)
      return isMovable(checkpoint.offset) ? { ...begun, offset: to } : undefined
    },
    isComplete: async () => true,
    charged: async (period) => ({ period, beginning: '', units: new Map() }),
    forget: async () => undefined,
  }
}

const NOTHING = { period: '2026-11', charged: new Map() }

test('reads the next events while it applies, and applies them after it', async ({ signal }) => {
  const { events, seen, secondRead } = aLog()
  const apply = async ([batch]: readonly EventBatch[]) => {
    // Would never resolve if the next events were read after this.
    await secondRead
    seen.push(`apply ${batch?.from}`)
    return [NOTHING]
  }
  const ports = { events, checkpoints: checkpointsOf(seen, () => true), clock: manualClock(0), log: SILENT }
  await applyEvents({ reader: 'test', apply }, ports, signal)
  expect(seen).toEqual(['read 2', 'apply 0', 'advance 0 to 2', 'done 0', 'apply 2', 'advance 2 to 4', 'done 2'])
})

test('reads again what it had read already when a checkpoint before it does not move', async ({ signal }) => {
  const { events, seen } = aLog()
  const ports = { events, checkpoints: checkpointsOf(seen, () => false), clock: manualClock(0), log: SILENT }
  await applyEvents({ reader: 'test', apply: async () => [NOTHING] }, ports, signal)
  expect(seen.filter((step) => step !== 'read 2')).toEqual(['advance 0 to 2', 'rewind 0', 'rewind 2'])
})

test('ends with the error of a step while it waits for events', async ({ signal }) => {
  const { events, seen } = aLog()
  const endless: ReplayableLog = {
    async *replay(reader, begin, until) {
      yield* events.replay(reader, begin, until)
      await new Promise<void>((resolve) => until.addEventListener('abort', () => resolve()))
    },
  }
  const ports = { events: endless, checkpoints: checkpointsOf(seen, () => true), clock: manualClock(0), log: SILENT }
  const apply = async ([batch]: readonly EventBatch[]) => {
    if (batch?.from === 2) throw new Error('a defect')
    return [NOTHING]
  }
  await expect(applyEvents({ reader: 'test', apply }, ports, signal)).rejects.toThrow('a defect')
})
