import { LANES, type Lane } from '@platen/contract/render.ts'
import { expect, test } from 'vitest'
import { aRecord } from '../../test/fixture/build.ts'
import { anEngine, queueUp, WORKER_SETTINGS, workerPorts } from '../../test/fixture/render-work.ts'
import type { RenderWork } from './port/engine.ts'
import { runWorker } from './worker.ts'

/** Counts the running renders per lane: an engine of three slots, three renders waiting in each lane, and none of them ends. */
async function underWay(lanes: readonly Lane[] | undefined): Promise<Record<Lane, number>> {
  const records = LANES.flatMap((lane) => [1, 2, 3].map(() => aRecord({ lane })))
  const count = { sync: 0, async: 0, bulk: 0 }
  const over = Promise.withResolvers<Uint8Array>()
  const render = async ({ render: id }: RenderWork) => {
    count[records.find((record) => record.id === id)?.lane ?? 'bulk'] += 1
    return await over.promise
  }
  const engine = anEngine(render, { slots: 3 })
  const ports = workerPorts()
  for (const record of records) await queueUp(ports, record)
  // The callers wait for all of the sync renders.
  const callers = records.filter(({ lane }) => lane === 'sync').map(({ id }) => ports.replies.expect(id))
  const stopping = new AbortController()
  const settings = { ...WORKER_SETTINGS, ...(lanes && { lanes }) }
  const running = runWorker(ports, engine, { settings, signal: stopping.signal })
  // Each step turns the event loop once. Everything is in memory, so whatever may begin has begun after 50 turns.
  for (let turn = 0; turn < 50; turn++) await ports.clock.advance(0)
  const seen = { ...count }
  stopping.abort()
  over.resolve(Buffer.from('%PDF-'))
  await running
  for (const caller of callers) caller[Symbol.dispose]()
  return seen
}

test.for<[string, readonly Lane[] | undefined, Record<Lane, number>]>([
  ['all lanes, sync first, and one tenant has not all slots for it', undefined, { sync: 2, async: 1, bulk: 0 }],
  ['sync alone, in every slot but the last, which is for another tenant', ['sync'], { sync: 2, async: 0, bulk: 0 }],
  ['async alone in every slot, none being kept for sync', ['async'], { sync: 0, async: 3, bulk: 0 }],
  ['async before bulk where no sync is served', ['async', 'bulk'], { sync: 0, async: 3, bulk: 0 }],
])('a worker serves %s', async ([, lanes, expected]) => {
  expect(await underWay(lanes)).toEqual(expected)
})
