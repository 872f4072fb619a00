import { Duplex } from 'node:stream'
import kafkajs, { type Kafka, logLevel } from 'kafkajs'
import SaslAuthenticator from 'kafkajs/src/broker/saslAuthenticator/index.js'
import Cluster from 'kafkajs/src/cluster/index.js'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import { expect, test } from 'vitest'
import { manualClock } from '../../memory/clock.ts'
import { KAFKA_FETCH_WAIT_MS, KAFKA_PAUSED_FETCH_WAIT_MS } from '../limit.ts'
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

test('metadata that no broker gives are asked for again', async () => {
  patchKafkajs(manualClock())
  const ask = (found: object | null) => {
    const brokerPool = { refreshMetadataIfNecessary: async () => undefined, withBroker: async () => found }
    const retrier = (step: () => Promise<unknown>) => step()
    return Cluster.prototype.metadata.call({ brokerPool, retrier })
  }
  await expect(ask(null)).rejects.toMatchObject({ retriable: true })
  expect(await ask({ brokers: [] })).toEqual({ brokers: [] })
})

const [SASL_HANDSHAKE, API_VERSIONS] = [17, 18]
/** The answer to the first request, `ApiVersions`: versions 0 and 1 of the requests 17 and 36, which authenticate. */
const VERSIONS = Buffer.from('0000001a0000000000000000000200110000000100240000000100000000', 'hex')

test('a handshake that is not answered in time is sent again on another connection', async () => {
  patchKafkajs(manualClock())
  const connections: number[][] = []
  const socketFactory = ({ onConnect }: { readonly onConnect: () => void }) => {
    const requests: number[] = []
    connections.push(requests)
    const socket = new Duplex({
      read: () => undefined,
      write(request: Buffer, _encoding, done) {
        const key = request.readInt16BE(4)
        requests.push(key)
        if (key === API_VERSIONS) socket.push(VERSIONS)
        done()
      },
    })
    queueMicrotask(onConnect)
    return Object.assign(socket, { unref: () => undefined })
  }
  const sasl = { mechanism: 'plain', username: 'a', password: 'b' }
  const retry = { retries: 1, initialRetryTime: 1 }
  const options = { brokers: ['a:1'], sasl, socketFactory, requestTimeout: 1, retry, logLevel: logLevel.NOTHING }
  const client: Kafka = Reflect.construct(kafkajs.Kafka, [options])
  await expect(client.admin().connect()).rejects.toThrow('SaslHandshake(key: 17, version: 1) timed out')
  expect(connections).toEqual([[API_VERSIONS, SASL_HANDSHAKE], [SASL_HANDSHAKE]])
})

test('a failed authentication closes its own socket, and not that of a connection which was opened meanwhile', async () => {
  patchKafkajs(manualClock())
  const closed: string[] = []
  const socketNamed = (name: string) => ({ destroy: () => void closed.push(name) })
  const connection = {
    socket: socketNamed('first'),
    disconnect: async () => void (connection.socket = socketNamed('second')),
  }
  await expect(SaslAuthenticator.prototype.authenticate.call({ connection })).rejects.toThrow(TypeError)
  expect(closed).toEqual(['first'])
})

test('a connection that is being closed is not authenticated again', async () => {
  patchKafkajs(manualClock())
  const sent: unknown[] = []
  const connection = {
    host: 'a',
    port: 1,
    connectionStatus: 'disconnecting',
    sasl: { mechanism: 'plain' },
    send: async (request: unknown) => void sent.push(request),
  }
  const again = SaslAuthenticator.prototype.authenticate.call({ connection, saslHandshake: () => 'a handshake' })
  await expect(again).rejects.toMatchObject({ name: 'KafkaJSConnectionError', retriable: true })
  expect(sent).toEqual([])
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

test('a fetch that leaves out a paused partition is a short one, so that it joins the next one soon', async () => {
  patchKafkajs(manualClock())
  patchKafkajs(manualClock())
  const logger = { namespace: () => ({ info() {} }) }
  const groupOf = (maxWaitTimeInMs: number): ConsumerGroup => {
    const group = Reflect.construct(ConsumerGroup, [{ logger, instrumentationEmitter: { emit() {} }, maxWaitTimeInMs }])
    group.subscriptionState.assign([{ topic: 'a', partitions: [0, 1] }])
    return group
  }
  const [long, short] = [groupOf(KAFKA_FETCH_WAIT_MS), groupOf(1)]
  const waits = () => [long.maxWaitTime, short.maxWaitTime]
  expect(waits()).toEqual([KAFKA_FETCH_WAIT_MS, 1])
  const one = [{ topic: 'a', partitions: [1] }]
  for (const group of [long, short]) group.pause(one)
  expect(waits()).toEqual([KAFKA_PAUSED_FETCH_WAIT_MS, 1])
  for (const group of [long, short]) group.resume(one)
  expect(waits()).toEqual([KAFKA_FETCH_WAIT_MS, 1])
})
