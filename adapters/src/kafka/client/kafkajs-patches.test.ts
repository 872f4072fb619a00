import type { Broker, Cluster } from 'kafkajs'
import { expect, test } from 'vitest'
import { keepCommittedOffsets } from './kafkajs-patches.ts'

test('an offset that is no place of a log is not committed, and every other one is', async () => {
  const [committed, missing]: [unknown[], unknown[]] = [[], []]
  class OfBroker {
    async offsetCommit(request: unknown) {
      committed.push(request)
    }
  }
  const broker = new OfBroker() as unknown as Broker
  const cluster = { findBroker: async () => broker } as unknown as Cluster
  keepCommittedOffsets(cluster, (place) => missing.push(place))
  const found = await cluster.findBroker({ nodeId: '1' })
  // It is found again for each request, and must be changed once.
  expect(await cluster.findBroker({ nodeId: '1' })).toBe(found)
  const commitOf = (offset: unknown) => ({
    groupId: 'a',
    groupGenerationId: 1,
    memberId: 'b',
    topics: [{ topic: 'c', partitions: [{ partition: 3, offset: offset as string }] }],
  })
  for (const offset of ['0', '7', { toString: () => '8' }, -2, -1]) await found.offsetCommit(commitOf(offset))
  expect(committed).toHaveLength(3)
  expect(missing).toEqual([-2, -1].map(() => ({ topic: 'c', partition: 3 })))
})
