/** What the suites of the adapters on Kafka run on: one real server a file, and for each test topics of its own. */
import { connectKafka, type KafkaConnection, type KafkaSettings } from '@platen/adapters/kafka/connect.ts'
import { webhookTopics } from '@platen/adapters/kafka/delivery/topic.ts'
import { prepareTopics, renderTopics, type TopicSettings } from '@platen/adapters/kafka/topic.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { afterAll, assert, beforeAll, describe } from 'vitest'
import { hasServer } from '../topology/server/binary.ts'
import { type KafkaServer, startKafka } from '../topology/server/kafka.ts'
import type { Harness } from './harness.ts'

const OPEN_MS_MAX = 60_000

/** An installation of its own: its topics and groups are those of no other test. */
export interface Installation {
  readonly connection: KafkaConnection
  readonly settings: TopicSettings
}

export interface KafkaFixture {
  server(): KafkaServer
  /** A connection of its own; the caller closes it. */
  connect(): Promise<KafkaConnection>
  /** Topics that no other test has, and nothing in them. */
  topics(settings?: Partial<TopicSettings>): Promise<TopicSettings>
  /** The harness of a port that stands in topics of its own, of one partition each. */
  harness<Port>(portIn: (installation: Installation) => Port | Promise<Port>): Promise<Harness<Port>>
}

/** Describes what runs on a Kafka, or is skipped where there is none. */
export function describeOnKafka(name: string, body: (kafka: KafkaFixture) => void): void {
  describe.skipIf(!hasServer('kafka'))(name, () => {
    let running: KafkaServer | undefined
    let installations = 0
    beforeAll(async () => {
      running = await startKafka()
    })
    afterAll(async () => await running?.[Symbol.asyncDispose]())
    const server = () => {
      assert(running !== undefined, 'the server runs while tests do')
      return running
    }
    const connect = () => connectTo(server())
    const topics = async (settings: Partial<TopicSettings> = {}) => {
      const made = { prefix: `test-${++installations}.`, ...settings }
      await using connection = await connect()
      const options = { settings: made, signal: AbortSignal.timeout(OPEN_MS_MAX) }
      await prepareTopics(
        connection,
        [...renderTopics(made, ['webhooks', 'quota', 'projection']), ...webhookTopics(made)],
        options,
      )
      return made
    }
    body({ server, connect, topics, harness: (portIn) => kafkaHarness({ connect, topics }, portIn) })
  })
}

/** One partition a topic: the suites expect one line. */
export const ONE_PARTITION = { sync: 1, async: 1, bulk: 1, events: 1 }

/** Connects to a server of the tests. Its log is kept for nobody. */
export function connectTo(
  { broker }: Pick<KafkaServer, 'broker'>,
  settings: Partial<KafkaSettings> = {},
): Promise<KafkaConnection> {
  return connectKafka({ brokers: [broker], clientId: 'test', ...settings }, PORTS, AbortSignal.timeout(OPEN_MS_MAX))
}

const quiet = () => undefined
const PORTS = { clock: systemClock(), log: { debug: quiet, info: quiet, warn: quiet, error: quiet } }

async function kafkaHarness<Port>(
  { connect, topics }: Pick<KafkaFixture, 'connect' | 'topics'>,
  portIn: (installation: Installation) => Port | Promise<Port>,
): Promise<Harness<Port>> {
  const settings = await topics({ partitions: ONE_PARTITION })
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
