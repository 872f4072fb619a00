/** Tests a Kafka that goes down and comes back: writers get errors, and readers continue without a restart. */
import { connectKafka, type KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { KAFKA_SILENCE_MS_MAX, openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { isTransient } from '@platen/adapters/kafka/group.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { deletedAfter, prepareTopics, renderTopics } from '@platen/adapters/kafka/topic.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { afterAll, expect, test } from 'vitest'
import { anEvent, aRecord, SILENT } from '../fixture/build.ts'
import { openFaultProxy } from '../topology/proxy/fault-proxy.ts'
import { connectTo, describeOnKafka, describeOnOwnKafka, ONE_PARTITION } from './kafka-harness.ts'
import { take, untilTaken } from './kafka-record.ts'

/** On a busy machine a broker takes longer to start than tests of other ports allow. */
const PATIENT = { timeout: 240_000 }
/** All topics of a start, one after another, take longer than `KAFKA_REQUEST_MS_MAX`. */
const LATE_MS = 400
const COORDINATOR = /^kafka:10 /
const METADATA = /^kafka:3 /
/** The request of each client for the versions of the API. */
const FIRST_REQUEST = { side: 'before', request: /^kafka:18 / } as const

const proxy = await openFaultProxy('kafka')
afterAll(() => proxy[Symbol.asyncDispose]())

describeOnOwnKafka(
  'a Kafka that goes away',
  (kafka) => {
    test.for(['stop', 'kill'] as const)(
      'by %s is missed by writers, and followed again by readers when it is back',
      PATIENT,
      async (end, { signal }) => {
        const server = kafka.server()
        await using connection = await connectTo(server)
        const settings = { prefix: kafka.prefix(), partitions: { ...ONE_PARTITION, async: 3 } }
        await prepareTopics(connection, renderTopics(settings, ['webhooks']), { settings, signal })
        await using queue = kafkaRenderQueue(connection, settings)
        const consumer = await queue.consume('react_pdf', signal)
        const log = kafkaEventLog(connection, settings)
        const events = log.follow('webhooks', signal)[Symbol.asyncIterator]()
        const before = aRecord()
        await queue.enqueue(before, signal)
        const held = await take(consumer, signal)
        const event = anEvent()
        const following = events.next()

        await server[end]()
        await expect(queue.enqueue(aRecord(), signal)).rejects.toBeInstanceOf(Unavailable)
        await expect(log.append(anEvent(), signal)).rejects.toBeInstanceOf(Unavailable)
        // A record taken before the outage is finished during it, and committed after it.
        await held.done(signal)
        expect([queue.isAlive(), log.isAlive()]).toStrictEqual([true, true])

        await server.start()
        const after = aRecord()
        await untilTaken(() => queue.enqueue(after, signal), signal)
        await untilTaken(() => log.append(event, signal), signal)
        const given: string[] = []
        while (given.at(-1) !== after.id) {
          const delivery = await take(consumer, signal)
          given.push(delivery.record.id)
          await delivery.done(signal)
        }
        expect(given).not.toContain(before.id)
        const first = await following
        if (first.done === true) throw new Error('the log has ended')
        await first.value.done()
        await events.return?.()
        expect([queue.isAlive(), log.isAlive()]).toStrictEqual([true, true])
      },
    )

    test('without closing its connections lets nobody wait for ever', PATIENT, async ({ signal }) => {
      const server = kafka.server()
      await using connection = await connectTo(server)
      const topic = { name: 'paused', partitions: 1, groups: ['paused'], config: deletedAfter(60_000) }
      await prepareTopics(connection, [topic], { settings: { prefix: '' }, signal })
      const send = () => connection.send('paused', [{ key: 'a', value: 'b' }], signal)
      await send()
      server.pause()
      // The signal takes a moment to reach all threads of the broker.
      let refusal: unknown
      while (refusal === undefined) refusal = await send().catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(Unavailable)
      server.resume()
      await untilTaken(send, signal)
    })

    test('while it is asked for a coordinator does not keep a process from its start', PATIENT, async ({ signal }) => {
      const server = kafka.server()
      const name = `${kafka.prefix()}asked`
      const topic = { name, partitions: 1, groups: [name], config: deletedAfter(60_000) }
      proxy.towards(server.proxied[0] ?? 0)
      await using connection = await connectTo({ broker: `127.0.0.1:${proxy.port}` })
      let losses = 0
      const loseNext = () => proxy.disturb({ kind: 'lose', request: COORDINATOR, happened: () => void losses++ })
      loseNext()
      await prepareTopics(connection, [topic], { settings: { prefix: '' }, signal })
      loseNext()
      const settings = { group: name, topics: [name], onRecords: () => undefined }
      await using consumer = await openConsumer(connection, settings, signal)
      expect([losses, consumer.lag().length]).toEqual([2, 1])
    })

    test('while it is asked for its metadata is an error that passes', PATIENT, async ({ signal }) => {
      proxy.towards(kafka.server().proxied[0] ?? 0)
      await using connection = await connectTo({ broker: `127.0.0.1:${proxy.port}` })
      const admin = await connection.admin()
      // kafkajs asks twice: for the brokers, and then one of them, whose failure it takes for an answer.
      const first = proxy.hold({ side: 'after', request: METADATA }, signal)
      const listing = admin.listTopics()
      const held = await first
      proxy.disturb({ kind: 'lose', request: METADATA, happened: () => undefined })
      held.release()
      const error: unknown = await listing.catch((cause: unknown) => cause)
      expect(isTransient(error)).toBe(true)
      expect(await admin.listTopics()).toEqual(expect.any(Array))
    })

    test('or only answers late lets a process start', PATIENT, async ({ signal }) => {
      const server = kafka.server()
      const settings = { prefix: kafka.prefix() }
      const names = Array.from({ length: 12 }, (_, at) => `late-${at}`)
      const topics = names.map((name) => ({ name, partitions: 1, groups: [name], config: deletedAfter(60_000) }))
      await using direct = await connectTo(server)
      await prepareTopics(direct, topics, { settings, signal })
      proxy.towards(server.proxied[0] ?? 0)
      const unanswered = proxy.hold(FIRST_REQUEST, signal)
      const connecting = connectTo({ broker: `127.0.0.1:${proxy.port}` })
      await unanswered
      const again = proxy.hold(FIRST_REQUEST, signal)
      await Promise.race([again.then((held) => held.release()), connecting])
      await using connection = await connecting
      proxy.disturb({ kind: 'slow', ms: LATE_MS })
      await prepareTopics(connection, topics, { settings, signal })
      proxy.disturb(undefined)
    })
  },
  { proxies: [proxy.port] },
)

describeOnKafka('a consumer on Kafka', (kafka) => {
  test('comes back also from what kafkajs takes for a fault that no retry mends', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    const topic = `${prefix}render.html.async`
    const warnings: unknown[] = []
    const log = { ...SILENT, warn: (fields: object, message: string) => 'err' in fields && warnings.push(message) }
    await using connection = await connectWith({ log })
    const fresh = openNotifier()
    let defects = 1
    const onRecords = () => {
      fresh.notify()
      if (defects-- > 0) throw new TypeError('a defect')
    }
    await using consumer = await openConsumer(connection, { group: topic, topics: [topic], onRecords }, signal)
    await connection.send(topic, [{ key: 'a', value: 'b' }], signal)
    const taken: (number | undefined)[] = []
    while (!taken.includes(1)) {
      const record = consumer.poll(topic)
      if (record === undefined) await fresh.wait(signal)
      else if (taken.push(record.offset) === 1) await connection.send(topic, [{ key: 'a', value: 'c' }], signal)
    }
    expect(taken).toStrictEqual([0, 1])
    expect(warnings).toStrictEqual(['consumer crashed, restarting'])
    expect(consumer.isAlive()).toBe(true)
  })

  test('is not alive when it gave no sign for long, until it does again', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    const topic = `${prefix}render.html.async`
    let passed = 0
    const clock = { ...systemClock(), monotonic: () => passed }
    await using connection = await connectWith({ clock })
    const settings = { group: topic, topics: [topic], onRecords: () => undefined }
    await using consumer = await openConsumer(connection, settings, signal)
    expect(consumer.isAlive()).toBe(true)
    passed += KAFKA_SILENCE_MS_MAX
    expect(consumer.isAlive()).toBe(false)
    // Its loop continues and reports that it is alive. If not, the time limit of the test ends this.
    while (!consumer.isAlive()) await clock.sleep(10, signal)
  })

  function connectWith(ports: Partial<Parameters<typeof connectKafka>[1]>): Promise<KafkaConnection> {
    const settings = { brokers: [kafka.broker()], clientId: 'test' }
    return connectKafka(settings, { clock: systemClock(), log: SILENT, ...ports }, AbortSignal.timeout(20_000))
  }
})
