import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Message } from 'kafkajs'
import { expect, test } from 'vitest'
import { NEVER } from '../../../../test/fixture/build.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { KAFKA_ENQUEUE_MS_MAX } from '../limit.ts'
import { batchSends, KAFKA_BATCH_BYTES_MAX, KAFKA_SEND_MS_MAX, KAFKA_SENDS_MAX } from './batch.ts'

interface Request {
  readonly topic: string
  readonly keys: readonly string[]
  readonly answer: PromiseWithResolvers<void>
}

/** A broker that answers each request on command. */
function broker() {
  const requests: Request[] = []
  const clock = manualClock(0)
  const send = batchSends(async (topic, messages) => {
    const answer = Promise.withResolvers<void>()
    requests.push({ topic, keys: messages.map(({ key }) => String(key)), answer })
    await answer.promise
  }, clock)
  const sendOne = (key: string, { topic = 'async', size = 1, signal = NEVER } = {}) =>
    send(topic, [message(key, size)], signal)
  const keys = () => requests.map((request) => request.keys)
  return { requests, clock, send, sendOne, keys }
}

function message(key: string, size = 1): Message {
  return { key, value: Buffer.alloc(size) }
}

/** Resolves when all pending promises that wait for no event have settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a message that comes alone is sent at once, and those that come meanwhile go together, in their order', async () => {
  const { requests, sendOne, keys } = broker()
  const sends = ['a', 'b', 'c', 'd'].map((key) => sendOne(key))
  expect(keys()).toEqual([['a']])
  requests[0]?.answer.resolve()
  await sends[0]
  await settled()
  expect(keys()).toEqual([['a'], ['b', 'c', 'd']])
  requests[1]?.answer.resolve()
  await Promise.all(sends)
})

test('topics do not wait for each other', async () => {
  const { sendOne, requests } = broker()
  void sendOne('a')
  void sendOne('b', { topic: 'sync' })
  expect(requests.map(({ topic }) => topic)).toEqual(['async', 'sync'])
})

test('a request is no larger than brokers take, unless one message alone is', async () => {
  const { requests, sendOne, keys } = broker()
  const half = KAFKA_BATCH_BYTES_MAX / 2
  const sizes = { a: 1, b: half, c: half, d: 1, e: 2 * KAFKA_BATCH_BYTES_MAX, f: 1 }
  const sends = Object.entries(sizes).map(([key, size]) => sendOne(key, { size }))
  for (let i = 0; i < 5; i++) {
    requests[i]?.answer.resolve()
    await settled()
  }
  await Promise.all(sends)
  expect(keys()).toEqual([['a'], ['b'], ['c', 'd'], ['e'], ['f']])
})

test('messages that were sent together stay together', async () => {
  const { requests, send, sendOne, keys } = broker()
  const first = sendOne('a')
  const both = send('async', [message('b', KAFKA_BATCH_BYTES_MAX), message('c', KAFKA_BATCH_BYTES_MAX)], NEVER)
  requests[0]?.answer.resolve()
  await first
  await settled()
  expect(keys()[1]).toEqual(['b', 'c'])
  requests[1]?.answer.resolve()
  await both
})

test('a request that fails fails for all in it, and for no other', async () => {
  const { requests, sendOne } = broker()
  const sends = ['a', 'b', 'c'].map((key) => sendOne(key).catch((error: unknown) => error))
  requests[0]?.answer.resolve()
  await settled()
  const reason = new Unavailable('Kafka is away')
  requests[1]?.answer.reject(reason)
  expect(await Promise.all(sends)).toEqual([undefined, reason, reason])
})

test('what was given up before its turn is not sent', async () => {
  const { requests, sendOne, keys } = broker()
  const leaving = new AbortController()
  const first = sendOne('a')
  const left = sendOne('b', { signal: leaving.signal })
  const last = sendOne('c')
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  await expect(sendOne('d', { signal: leaving.signal })).rejects.toThrow('gone')
  requests[0]?.answer.resolve()
  await first
  await settled()
  expect(keys()).toEqual([['a'], ['c']])
  requests[1]?.answer.resolve()
  await last
})

test('a send ends in its time, and a request that does not holds up no other for longer', async () => {
  const { requests, clock, sendOne, keys } = broker()
  const stuck = sendOne('a').catch((error: unknown) => error)
  await clock.advance(KAFKA_ENQUEUE_MS_MAX / 2)
  const next = sendOne('b')
  await clock.advance(KAFKA_SEND_MS_MAX - KAFKA_ENQUEUE_MS_MAX / 2)
  expect(await stuck).toBeInstanceOf(Unavailable)
  await settled()
  expect(keys()).toEqual([['a'], ['b']])
  requests[1]?.answer.resolve()
  await next
})

test('where brokers do not answer, one send of a topic at a time finds out whether they do again', async () => {
  const { requests, clock, sendOne, keys } = broker()
  const outcome = (sent: Promise<void>) => sent.catch((error: unknown) => error)
  const first = outcome(sendOne('a'))
  await clock.advance(KAFKA_ENQUEUE_MS_MAX)
  await expect(sendOne('b')).rejects.toThrow(Unavailable)
  requests[0]?.answer.reject(new Unavailable('Kafka did not answer'))
  expect(await first).toBeInstanceOf(Unavailable)
  await settled()
  const tries = [sendOne('c'), sendOne('d', { topic: 'sync' })]
  for (const topic of ['async', 'sync']) await expect(sendOne('e', { topic })).rejects.toThrow(Unavailable)
  requests[1]?.answer.resolve()
  await tries[0]
  // This applies to every topic, even one whose own request is still unanswered.
  const rest = [sendOne('f'), sendOne('g', { topic: 'sync' })]
  for (const at of [2, 3, 4]) {
    requests[at]?.answer.resolve()
    await settled()
  }
  await Promise.all([...tries, ...rest])
  expect(keys()).toEqual([['a'], ['c'], ['d'], ['f'], ['g']])
})

test('a broker that refuses what one sends is not away for others', async () => {
  const { requests, sendOne } = broker()
  const refused = sendOne('a').catch((error: unknown) => error)
  requests[0]?.answer.reject(new Unavailable('too large'))
  await refused
  await settled()
  const rest = [sendOne('b'), sendOne('c')]
  requests[1]?.answer.resolve()
  await settled()
  requests[2]?.answer.resolve()
  await Promise.all(rest)
})

test('more than can be waited for are refused at once', async () => {
  const { sendOne, requests } = broker()
  const sends = Array.from({ length: KAFKA_SENDS_MAX }, (_, i) => sendOne(`${i}`))
  await expect(sendOne('over')).rejects.toThrow(Unavailable)
  for (let i = 0; i < requests.length; i++) {
    requests[i]?.answer.resolve()
    await settled()
  }
  await Promise.all(sends)
})
