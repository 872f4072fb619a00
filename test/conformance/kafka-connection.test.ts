/** Tests connecting to Kafka, and the errors for a Kafka that cannot be used. */

import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import { KAFKA_EVENTS_KEPT_MS } from '@platen/adapters/kafka/limit.ts'
import { deletedAfter, KafkaUnfit, prepareTopics, renderTopics, type Topic } from '@platen/adapters/kafka/topic.ts'
import { LANES } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { ConfigResourceTypes } from 'kafkajs'
import { assert, describe, expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { aCertificate } from '../topology/host.ts'
import { hasServer } from '../topology/server/binary.ts'
import { startKafka } from '../topology/server/kafka.ts'
import { listening } from '../topology/server/port.ts'
import { connectTo, describeOnKafka } from './kafka-harness.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describeOnKafka('a connection to Kafka', (kafka) => {
  test('is refused at once where nobody listens, with the address', async () => {
    const connecting = connectTo({ broker: '127.0.0.1:1' })
    await expect(connecting).rejects.toThrow(/^cannot connect to Kafka at 127.0.0.1:1: .*ECONNREFUSED/)
    await expect(connecting).rejects.toBeInstanceOf(Unavailable)
  })

  test('takes any of the brokers it is told', async () => {
    const broker = kafka.broker()
    await using connection = await connectTo({ broker }, { brokers: ['127.0.0.1:1', broker] })
    expect(await (await connection.admin()).listTopics()).not.toContain('nothing')
  })

  test('sets no timers while nothing waits', async () => {
    const warnings: string[] = []
    const listen = ({ name }: Error) => warnings.push(name)
    process.on('warning', listen)
    await using connection = await kafka.connect()
    await (await connection.admin()).listTopics()
    process.off('warning', listen)
    expect(warnings).not.toContain('TimeoutNegativeWarning')
  })

  test('refuses a topic that is not there', async ({ signal }) => {
    await using connection = await kafka.connect()
    await expect(connection.send('nowhere', [{ key: 'a', value: 'b' }], signal)).rejects.toBeInstanceOf(Unavailable)
  })

  test('ends a send with the reason of its signal', async ({ signal }) => {
    await using connection = await kafka.connect()
    const stop = new AbortController()
    const sending = connection.send('nowhere', [{ key: 'a', value: 'b' }], AbortSignal.any([signal, stop.signal]))
    const reason = new Error('gone')
    stop.abort(reason)
    await expect(sending).rejects.toBe(reason)
  })
})

describeOnKafka('the topics in Kafka', (kafka) => {
  const options = (prefix: string, signal: AbortSignal) => ({ settings: { prefix }, signal })

  test('are made with their partitions and settings, and each group has an offset in every partition', async ({
    signal,
  }) => {
    await using connection = await kafka.connect()
    const prefix = kafka.prefix()
    await prepareTopics(connection, renderTopics({ prefix }, ['webhooks']), options(prefix, signal))
    const partitions = { sync: 12, async: 24, bulk: 24 }
    for (const engine of ENGINES) {
      for (const lane of LANES) {
        const topic = `${prefix}render.${engine}.${lane}`
        expect(await offsetsOf(connection, topic, topic)).toStrictEqual(
          Array.from({ length: partitions[lane] }, () => '0'),
        )
      }
    }
    expect(await offsetsOf(connection, `${prefix}render.events.webhooks`, `${prefix}render.events`)).toHaveLength(12)
    const events = await configOf(connection, `${prefix}render.events`)
    expect(Number(events['retention.ms'])).toBeGreaterThanOrEqual(40 * DAY_MS)
    expect(events['cleanup.policy']).toBe('delete')
    expect(Number((await configOf(connection, `${prefix}render.dead`))['max.message.bytes'])).toBe(2 * 1024 * 1024)
  })

  test('are made as they are asked for: partitions, and copies that count', async ({ signal }) => {
    await using connection = await kafka.connect()
    const settings = { prefix: kafka.prefix(), partitions: { events: 5 }, inSyncMin: 2 }
    const topics = renderTopics(settings, ['webhooks']).filter(({ name }) => /events|html.bulk/.test(name))
    await prepareTopics(connection, topics, { settings, signal })
    const [events, bulk] = ['render.events', 'render.html.bulk'].map((name) => settings.prefix + name)
    assert(events !== undefined && bulk !== undefined)
    expect(await offsetsOf(connection, `${events}.webhooks`, events)).toHaveLength(5)
    expect(await configOf(connection, events)).toMatchObject({
      'retention.ms': String(KAFKA_EVENTS_KEPT_MS),
      'min.insync.replicas': '2',
    })
    expect(await configOf(connection, bulk)).toMatchObject({ 'min.insync.replicas': '2' })
  })

  test('may be prepared by several processes at once, and again', async ({ signal }) => {
    const prefix = kafka.prefix()
    const topics = [aTopic('three', 3), aTopic('one', 1)]
    const prepare = async () => {
      await using connection = await kafka.connect()
      await prepareTopics(connection, topics, options(prefix, signal))
    }
    await Promise.all([prepare(), prepare(), prepare()])
    await prepare()
    await using connection = await kafka.connect()
    expect(await offsetsOf(connection, `${prefix}three`, `${prefix}three`)).toStrictEqual(['0', '0', '0'])
    expect(await offsetsOf(connection, `${prefix}one`, `${prefix}one`)).toStrictEqual(['0'])
  })

  test('that somebody deletes meanwhile are created once more', async ({ signal }) => {
    await using connection = await kafka.connect()
    const name = `${kafka.prefix()}deleted`
    const topics = [aTopic(name, 1)]
    await prepareTopics(connection, topics, options('', signal))
    await connection.send(name, [{ key: 'a', value: 'b' }], signal)
    await using other = await kafka.connect()
    let asked = 0
    const whileDeleted: KafkaConnection = {
      ...connection,
      async admin() {
        // It knows by then that they are there, and asks for their offsets.
        if (++asked === 1) {
          const admin = await other.admin()
          await admin.deleteTopics({ topics: [name] })
          await poll(() => admin.listTopics()).until((names) => !names.includes(name))
        }
        return await connection.admin()
      },
    }
    await prepareTopics(whileDeleted, topics, options('', signal))
    expect(await offsetsOf(connection, name, name)).toStrictEqual(['0'])
    expect(await (await connection.admin()).fetchTopicOffsets(name)).toMatchObject([{ high: '0' }])
  })

  test.for([2, -2])(
    'take what is sent by a clock that is %d hours off, at their own time',
    async (hours, { signal }) => {
      await using connection = await kafka.connect()
      const name = `${kafka.prefix()}off`
      await prepareTopics(connection, [aTopic(name, 1)], options('', signal))
      const [hourMs, begunAt] = [3_600_000, Date.now()]
      const producer = connection.client().producer()
      await producer.connect()
      await producer.send({
        topic: name,
        messages: [{ value: 'a', timestamp: String(begunAt + hours * hourMs) }],
      })
      await producer.disconnect()
      const admin = await connection.admin()
      const firstSince = async (at: number) => (await admin.fetchTopicOffsetsByTimestamp(name, at))[0]?.offset
      expect([await firstSince(begunAt), await firstSince(begunAt + hourMs)]).toEqual(['0', '1'])
    },
  )

  test('that are there with fewer partitions are refused, with both numbers', async ({ signal }) => {
    await using connection = await kafka.connect()
    const few = `${kafka.prefix()}few`
    await prepareTopics(connection, [aTopic(few, 2)], options('', signal))
    const preparing = prepareTopics(connection, [aTopic(few, 3)], options('', signal))
    await expect(preparing).rejects.toThrow(`the topic ${few} has 2 partitions in Kafka and needs 3`)
    await expect(preparing).rejects.toBeInstanceOf(KafkaUnfit)
    await prepareTopics(connection, [aTopic(few, 1)], options('', signal))
  })

  test('that were there before keep what is in them, and their groups begin with the first', async ({ signal }) => {
    await using connection = await kafka.connect()
    const old = `${kafka.prefix()}old`
    await prepareTopics(connection, [{ ...aTopic(old, 1), groups: [] }], options('', signal))
    await connection.send(old, [{ key: 'a', value: 'b' }], signal)
    await prepareTopics(connection, [aTopic(old, 1)], options('', signal))
    expect(await offsetsOf(connection, old, old)).toStrictEqual(['0'])
  })
})

describe.skipIf(!hasServer('kafka'))('a Kafka with TLS and passwords', () => {
  const server = shared(async () => {
    const { access, ...rest } = await startKafka({ secured: true })
    assert(access !== undefined, 'it was asked for')
    return { ...rest, access }
  })

  test('serves who has the password', async ({ signal }) => {
    const { tls, user } = server().access
    await using connection = await connectTo(server(), { tls, sasl: user })
    await prepareTopics(connection, [aTopic('secret', 1)], { settings: { prefix: '' }, signal })
    await connection.send('secret', [{ key: 'a', value: 'b' }], signal)
  })

  test('refuses a wrong password, and says whose', async () => {
    const { tls, user } = server().access
    const connecting = connectTo(server(), { tls, sasl: { ...user, password: 'wrong' } })
    await expect(connecting).rejects.toThrow(/^Kafka refused the credentials of platen \(plain\): /)
    await expect(connecting).rejects.not.toThrow('wrong')
  })

  test('refuses a mechanism that it does not have', async () => {
    const { tls, user } = server().access
    const connecting = connectTo(server(), { tls, sasl: { ...user, mechanism: 'scram-sha-512' } })
    await expect(connecting).rejects.toThrow('The broker does not support the requested SASL mechanism')
  })

  test.for(['another authority', 'another name', 'no TLS', 'no password'] as const)(
    'is refused with %s',
    async (fault) => {
      const { tls, user } = server().access
      const [settings, reason] = {
        'another authority': [{ tls: { ...tls, ca: aCertificate().cert }, sasl: user }, 'self-signed certificate'],
        'another name': [{ tls: { ...tls, servername: 'other.example.test' }, sasl: user }, 'does not match'],
        'no TLS': [{ sasl: user }, ''],
        'no password': [{ tls }, ''],
      }[fault] as [object, string]
      await expect(connectTo(server(), settings)).rejects.toThrow(
        new RegExp(`^cannot connect to Kafka at ${server().broker}: .*${reason}`),
      )
    },
  )

  test('authenticates each connection with the credentials of the moment, and goes on after a refusal', async ({
    signal,
  }) => {
    const { tls, user, successor } = server().access
    let sasl = user
    await using connection = await connectTo(server(), { tls, sasl, latest: () => ({ tls, sasl }) })
    sasl = { ...user, password: 'wrong' }
    await expect(connection.admin()).rejects.toThrow(Unavailable)
    sasl = successor
    const admin = await connection.admin()
    await prepareTopics(connection, [aTopic('followed', 1)], { settings: { prefix: '' }, signal })
    sasl = { ...successor, password: 'wrong' }
    const refused: unknown[] = []
    const log = { ...connection.log, debug: (fields: object) => void refused.push(fields) }
    const settings = { group: 'followed', topics: ['followed'], onRecords: () => undefined }
    const joining = openConsumer({ ...connection, log }, settings, signal)
    await poll(() => refused.length).until((count) => count > 0)
    sasl = user
    await using consumer = await joining
    expect(consumer.lag()).toHaveLength(1)
    expect(await admin.listTopics()).toContain('followed')
  })

  test('authenticates by tokens, and says what is wrong without them, but not the secret', async ({ signal }) => {
    const { tls } = server().access
    await using issuer = await aTokenIssuer()
    const oauth = { tokenUrl: issuer.url, scope: 'kafka' }
    const sasl = { mechanism: 'oauthbearer', username: 'a client', password: 'a:secret', oauth } as const
    await using connection = await connectTo(server(), { tls, sasl })
    await prepareTopics(connection, [aTopic('by-token', 1)], { settings: { prefix: '' }, signal })
    await connection.send('by-token', [{ key: 'a', value: 'b' }], signal)
    const [first] = issuer.asked
    expect(first).toEqual({
      authorization: `Basic ${Buffer.from('a+client:a%3Asecret').toString('base64')}`,
      body: 'grant_type=client_credentials&scope=kafka',
    })
    issuer.answer = { status: 401, body: '{"error":"invalid_client","hint":"a:secret"}' }
    const refused = connectTo(server(), { tls, sasl })
    await expect(refused).rejects.toThrow(/no token from http:\/\/127.0.0.1:\d+: it answered 401/)
    await expect(refused).rejects.not.toThrow('a:secret')
  })

  test('makes no topic for who may not, and names those that are missing', async ({ signal }) => {
    const { tls, stranger } = server().access
    await using connection = await connectTo(server(), { tls, sasl: stranger })
    const preparing = prepareTopics(connection, [aTopic('a', 1), aTopic('b', 1)], {
      settings: { prefix: 'x.' },
      signal,
    })
    await expect(preparing).rejects.toThrow(/^these topics are missing in Kafka: x\.a, x\.b; .*[Aa]uthoriz/)
    await expect(preparing).rejects.toBeInstanceOf(KafkaUnfit)
  })
})

test('a start goes on where a broker leaves a handshake without an answer, on another connection', async () => {
  await using broker = await aBroker({ silentOn: 2 })
  const sasl = { mechanism: 'plain', username: 'a', password: 'b' } as const
  await using _ = await connectTo({ broker: `127.0.0.1:${broker.port}` }, { sasl })
  const handshakes = broker.asked.map((keys) => keys.filter((key) => key === SASL_HANDSHAKE).length)
  // kafkajs itself sends it a second time on the same connection, and takes the refusal of that for final.
  expect(handshakes).toEqual([1, 2, 1])
})

const [METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE] = [3, 17, 18, 36]
const ILLEGAL_SASL_STATE = 34

/** A broker that takes every password. On one connection, it leaves the first handshake without an answer, and refuses the next. */
async function aBroker({ silentOn }: { readonly silentOn: number }) {
  /** The kinds of requests of each connection. */
  const asked: number[][] = []
  const server = createTcpServer((socket) => {
    const keys: number[] = []
    asked.push(keys)
    const isSilent = asked.length === silentOn
    socket.on('error', () => undefined)
    // A request is small, and the next one waits for its answer.
    socket.on('data', (request) => {
      const [key, correlation] = [request.readInt16BE(4), request.subarray(8, 12)]
      keys.push(key)
      if (isSilent && key === SASL_HANDSHAKE && keys.filter((each) => each === key).length === 1) return
      const answer = Buffer.concat([correlation, answerTo(key, isSilent ? ILLEGAL_SASL_STATE : 0)])
      socket.write(Buffer.concat([int32(answer.length), answer]))
    })
  })
  const listener = await listening(server)
  const answerTo = (key: number, handshakeError: number): Buffer => {
    const host = Buffer.from('127.0.0.1')
    switch (key) {
      case API_VERSIONS: {
        const kinds = [METADATA, SASL_HANDSHAKE, SASL_AUTHENTICATE]
        const versions = kinds.map((kind) => Buffer.concat([int16(kind), int16(0), int16(kind === METADATA ? 0 : 1)]))
        return Buffer.concat([int16(0), int32(kinds.length), ...versions, int32(0)])
      }
      case SASL_HANDSHAKE: {
        const plain = Buffer.from('PLAIN')
        return Buffer.concat([int16(handshakeError), int32(1), int16(plain.length), plain])
      }
      case SASL_AUTHENTICATE:
        return Buffer.concat([int16(0), int16(-1), int32(0), Buffer.alloc(8)])
      default:
        return Buffer.concat([int32(1), int32(1), int16(host.length), host, int32(listener.port), int32(0)])
    }
  }
  return { asked, port: listener.port, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() }
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** An endpoint that gives tokens of the user with all rights, unless it is told to answer something else. */
async function aTokenIssuer() {
  const asked: { authorization: string | undefined; body: string }[] = []
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  const seconds = Math.floor(Date.now() / 1000)
  const token = `${part({ alg: 'none' })}.${part({ sub: 'platen', scope: 'kafka', iat: seconds, exp: seconds + 3600 })}.`
  const issuer = {
    asked,
    answer: { status: 200, body: JSON.stringify({ access_token: token, expires_in: 3600, token_type: 'Bearer' }) },
  }
  const server = createServer((request, response) => {
    const answer = (body: Buffer) => {
      asked.push({ authorization: request.headers.authorization, body: body.toString() })
      response.writeHead(issuer.answer.status, { 'content-type': 'application/json' }).end(issuer.answer.body)
    }
    buffer(request).then(answer, () => response.destroy())
  })
  return Object.assign(issuer, await listening(server))
}

function aTopic(name: string, partitions: number): Topic {
  return { name, partitions, groups: [name], config: deletedAfter(60_000) }
}

async function offsetsOf(connection: KafkaConnection, groupId: string, topic: string): Promise<string[]> {
  const admin = await connection.admin()
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return (found?.partitions ?? []).map(({ offset }) => offset)
}

async function configOf(connection: KafkaConnection, name: string): Promise<Record<string, string>> {
  const admin = await connection.admin()
  const topic = { type: ConfigResourceTypes.TOPIC, name }
  const { resources } = await admin.describeConfigs({ resources: [topic], includeSynonyms: false })
  return Object.fromEntries(
    (resources[0]?.configEntries ?? []).map(({ configName, configValue }) => [configName, configValue]),
  )
}
