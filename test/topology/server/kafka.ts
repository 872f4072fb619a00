/** A real Kafka: one node, broker and controller in one. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binaryOf } from './binary.ts'
import { type Place, type ServerProcess, startServer } from './process.ts'

export interface KafkaServer extends ServerProcess {
  /** `host:port`, for a client to begin with. */
  readonly broker: string
}

const HOST = '127.0.0.1'
const HEAP = { KAFKA_HEAP_OPTS: '-Xms256m -Xmx512m' }
const FORMAT_MS_MAX = 60_000

/** Starts a Kafka without a topic; it makes none by itself. */
export async function startKafka(): Promise<KafkaServer> {
  const path = binaryOf('kafka')
  const clusterId = randomBytes(16).toString('base64url')
  const server = await startServer({
    name: 'kafka',
    portsCount: 2,
    async prepare(place) {
      const properties = propertiesIn(place)
      await writeFile(properties, `${settingsOf(place).join('\n')}\n`)
      const format = ['kafka.tools.StorageTool', 'format', '--ignore-formatted', '-t', clusterId, '-c', properties]
      await promisify(execFile)(path, format, { timeout: FORMAT_MS_MAX, env: { ...process.env, ...HEAP } })
    },
    command: (place) => ({ path, args: ['kafka.Kafka', propertiesIn(place)], env: HEAP }),
    isReady: answers,
  })
  return { ...server, broker: `${HOST}:${server.port}` }
}

function propertiesIn({ folder }: Place): string {
  return join(folder, 'server.properties')
}

function settingsOf({ folder, ports: [port, controllerPort] }: Place): readonly string[] {
  return [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@${HOST}:${controllerPort}`,
    'controller.listener.names=CONTROLLER',
    `listeners=PLAINTEXT://${HOST}:${port},CONTROLLER://${HOST}:${controllerPort}`,
    `advertised.listeners=PLAINTEXT://${HOST}:${port}`,
    `log.dirs=${join(folder, 'log')}`,
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=1',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    // Else every group waits three seconds for members who might still come.
    'group.initial.rebalance.delay.ms=0',
    'auto.create.topics.enable=false',
  ]
}

/** ApiVersions in its first version, the question every client begins with: size, key 18, version 0, correlation 7, no client id. */
const API_VERSIONS = Buffer.from('0000000a0012000000000007ffff', 'hex')

/** Does the broker answer requests? It opens its port before it does. */
function answers({ port }: Place, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port, signal })
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('closed without an answer')))
    socket.once('data', () => {
      resolve(true)
      socket.destroy()
    })
    socket.write(API_VERSIONS)
  })
}
