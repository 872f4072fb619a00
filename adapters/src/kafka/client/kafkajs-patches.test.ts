import Cluster from 'kafkajs/src/cluster/index.js'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import { expect, test } from 'vitest'
import { manualClock } from '../../memory/clock.ts'
import { patchKafkajs } from './kafkajs-patches.ts'

/** Asks as kafkajs does; each broker behaves like `withBroker`. */
function askFor(withBroker: () => Promise<unknown>): Promise<unknown> {
  return Cluster.prototype.findGroupCoordinatorMetadata.call({ brokerPool: { withBroker } }, { groupId: 'a' })
}

test('a group whose coordinator no broker names is asked for again, and other faults stay what they are', async () => {
  const nobody = () => askFor(async () => undefined)
  await expect(nobody()).rejects.toMatchObject({ retriable: false })
  patchKafkajs(manualClock())
  patchKafkajs(manualClock())
  await expect(nobody()).rejects.toMatchObject({ retriable: true, message: 'Failed to find group coordinator' })
  const other = new Error('not allowed')
  await expect(askFor(() => Promise.reject(other))).rejects.toBe(other)
  expect(await askFor(async () => 'broker 1')).toBe('broker 1')
})

test('a heartbeat is sent although the last one was an hour later by the clock, before it was set back', async () => {
  patchKafkajs(manualClock())
  let beats = 0
  const logger = { namespace: () => ({}) }
  const group: ConsumerGroup = Reflect.construct(ConsumerGroup, [{ logger, instrumentationEmitter: { emit() {} } }])
  const joined = { memberId: 'a', coordinator: { heartbeat: async () => void (beats += 1) } }
  Object.assign(group, joined, { lastRequest: group.lastRequest + 3_600_000 })
  await group.heartbeat({ interval: 0 })
  expect(beats).toBe(1)
})
