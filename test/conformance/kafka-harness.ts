/** What the suites of the adapters on Kafka run on: the server of the run or one of their own, and for each test topics of its own. */
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
import { freeTopicPrefix, kafkaOfRun, removeTopics } from '../topology/run-server.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type KafkaOptions, type KafkaServer, startKafka } from '../topology/server/kafka.ts'
import type { Harness } from './harness.ts'

const OPEN_MS_MAX = 60_000

/** An installation of its own: its topics and groups are those of no other test. */
export interface Installation {
  readonly connection: KafkaConnection
  readonly settings: TopicSettings
}

export interface KafkaFixture {
  /** `host:port`. */
  broker(): string
  /** A connection of its own; the caller closes it. */
  connect(): Promise<KafkaConnection>
  /** Begins the names of topics that only one test makes. */
  prefix(): string
  /** Topics that no other test has, and nothing in them. */
  topics(kind: TopicKind, settings?: Partial<TopicSettings>): Promise<TopicSettings>
  /** The harness of a port that stands in topics of its own, of one partition each. */
  harness<Port>(kind: TopicKind, portIn: PortIn<Port>): Promise<Harness<Port>>
}

/** What a test uses of an installation: making all of its topics and groups takes a second. */
export type TopicKind = keyof typeof TOPICS

const READERS = ['webhooks', 'quota', 'projection']
const TOPICS = {
  queue: (settings: TopicSettings) => renderTopics(settings, []).filter(({ name }) => name !== EVENT_TOPIC),
  events: (settings: TopicSettings) =>
    renderTopics(settings, READERS).filter(({ name }) => name === EVENT_TOPIC || name === DEAD_TOPIC),
  webhook: webhookTopics,
}

/** A server that the tests of one file have for themselves, to stop it, kill it and start it again. */
export interface OwnKafkaFixture extends KafkaFixture {
  server(): KafkaServer
}

/** Describes what runs on the Kafka of the run, or is skipped where there is none. */
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

/** Describes what runs on a Kafka of its own, or is skipped where there is none. */
export function describeOnOwnKafka(
  name: string,
  body: (kafka: OwnKafkaFixture) => void,
  options: KafkaOptions = {},
): void {
  describe.skipIf(!hasServer('kafka'))(name, () => {
    let running: KafkaServer | undefined
    beforeAll(async () => {
      running = await startKafka(options)
    })
    afterAll(async () => await running?.[Symbol.asyncDispose]())
    const server = () => {
      assert(running !== undefined, 'the server runs while tests do')
      return running
    }
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

/** Opens a port in an installation. */
type PortIn<Port> = (installation: Installation) => Port | Promise<Port>

/** One partition a topic: the suites expect one line. */
export const ONE_PARTITION = { sync: 1, async: 1, bulk: 1, events: 1 }

/** Connects to a server of the tests. Its log is kept for nobody. */
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
  // What is disposed of by this symbol is a function without arguments.
  if (isOpen) await (port as AsyncDisposable)[Symbol.asyncDispose]()
}
