/** Harness of the suites on Kafka: the shared server or one of their own, and new topics for each test. */
import { connectKafka, type KafkaConnection, type KafkaSettings } from '@platen/adapters/kafka/connect.ts'
import { webhookTopics } from '@platen/adapters/kafka/delivery/topic.ts'
import {
  DEAD_TOPIC,
  EVENT_TOPIC,
  prepareTopics,
  renderTopics,
  type TopicSettings,
} from '@platen/adapters/kafka/topic.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { afterAll, assert, beforeAll, describe } from 'vitest'
import { SILENT } from '../fixture/build.ts'
import { shared } from '../fixture/lifetime.ts'
import { freeTopicPrefix, kafkaOfRun, removeTopics } from '../topology/run-server.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type KafkaOptions, type KafkaServer, startKafka } from '../topology/server/kafka.ts'
import type { Harness } from './harness.ts'

const OPEN_MS_MAX = 60_000

export interface Installation {
  readonly connection: KafkaConnection
  readonly settings: TopicSettings
}

export interface KafkaFixture {
  /** `host:port`. */
  broker(): string
  /** Opens a separate connection. The caller closes it. */
  connect(): Promise<KafkaConnection>
  prefix(): string
  topics(kind: TopicKind, settings?: Partial<TopicSettings>): Promise<TopicSettings>
  /** Builds the harness of a port in new topics with one partition each. */
  harness<Port>(kind: TopicKind, portIn: PortIn<Port>): Promise<Harness<Port>>
}

/** The topics that a test needs. Creating all topics and groups of an installation takes a second. */
export type TopicKind = keyof typeof TOPICS

const READERS = ['webhooks', 'quota', 'projection']
const TOPICS = {
  queue: (settings: TopicSettings) => renderTopics(settings, []).filter(({ name }) => name !== EVENT_TOPIC),
  events: (settings: TopicSettings) =>
    renderTopics(settings, READERS).filter(({ name }) => [EVENT_TOPIC, DEAD_TOPIC].includes(name)),
  webhook: webhookTopics,
}

/** A server of one test file, which may stop, kill and start it. */
export interface OwnKafkaFixture extends KafkaFixture {
  server(): KafkaServer
}

/** Describes tests on the shared Kafka. Skips them when there is none. */
export function describeOnKafka(name: string, body: (kafka: KafkaFixture) => void): void {
  describe.skipIf(!hasServer('kafka'))(name, () => {
    let broker: string | undefined
    beforeAll(async () => {
      broker = (await kafkaOfRun()).broker
    })
    const brokerOfRun = () => {
      assert(broker !== undefined, 'it is known while tests run')
      return broker
    }
    const { fixture, prefixes } = fixtureOn(brokerOfRun)
    afterAll(() => removeTopics(brokerOfRun(), prefixes))
    body(fixture)
  })
}

/** Describes tests on a separate Kafka. Skips them when there is none. */
export function describeOnOwnKafka(
  name: string,
  body: (kafka: OwnKafkaFixture) => void,
  options: KafkaOptions = {},
): void {
  describe.skipIf(!hasServer('kafka'))(name, () => {
    const server = shared(() => startKafka(options))
    body({ ...fixtureOn(() => server().broker).fixture, server })
  })
}

function fixtureOn(broker: () => string): { fixture: KafkaFixture; prefixes: readonly string[] } {
  const prefixes: string[] = []
  const connect = () => connectTo({ broker: broker() })
  const prefix = () => {
    const free = freeTopicPrefix()
    prefixes.push(free)
    return free
  }
  const topics = async (kind: TopicKind, settings: Partial<TopicSettings> = {}) => {
    const made = { ...settings, prefix: prefix() }
    await using connection = await connect()
    const options = { settings: made, signal: AbortSignal.timeout(OPEN_MS_MAX) }
    await prepareTopics(connection, TOPICS[kind](made), options)
    return made
  }
  const harness = <Port>(kind: TopicKind, portIn: PortIn<Port>) =>
    kafkaHarness({ connect, topics: () => topics(kind, { partitions: ONE_PARTITION }) }, portIn)
  const fixture = { broker, connect, prefix, topics, harness }
  return { fixture, prefixes }
}

type PortIn<Port> = (installation: Installation) => Port | Promise<Port>

/** One partition for each topic: the suites expect one global order. */
export const ONE_PARTITION = { sync: 1, async: 1, bulk: 1, events: 1 }

/** Connects to a test server. The log is discarded. */
export function connectTo(
  { broker }: Pick<KafkaServer, 'broker'>,
  settings: Partial<KafkaSettings> = {},
): Promise<KafkaConnection> {
  return connectKafka({ brokers: [broker], clientId: 'test', ...settings }, PORTS, AbortSignal.timeout(OPEN_MS_MAX))
}

const PORTS = { clock: systemClock(), log: SILENT }

async function kafkaHarness<Port>(
  { connect, topics }: Pick<KafkaFixture, 'connect'> & { topics: () => Promise<TopicSettings> },
  portIn: PortIn<Port>,
): Promise<Harness<Port>> {
  const settings = await topics()
  let opened = new AsyncDisposableStack()
  const open = async () => {
    await opened.disposeAsync()
    opened = new AsyncDisposableStack()
    const connection = opened.use(await connect())
    const port = await portIn({ connection, settings })
    opened.defer(async () => await closeIfOpen(port))
    return port
  }
  return { open, reopen: open, isPositional: true, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function closeIfOpen(port: unknown): Promise<void> {
  const isOpen = typeof port === 'object' && port !== null && Symbol.asyncDispose in port
  // The function under this symbol takes no arguments.
  if (isOpen) await (port as AsyncDisposable)[Symbol.asyncDispose]()
}
