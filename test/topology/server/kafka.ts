/** A real Kafka: one node, broker and controller in one. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { aCertificate, type Certificate } from '../host.ts'
import { binaryOf, cacheFolder } from './binary.ts'
import { HOST } from './free-port.ts'
import { type Place, type Recipe, type ServerProcess, startServer } from './process.ts'

export interface KafkaOptions {
  /** Does it speak TLS and ask for a password (SASL/PLAIN), and nothing else? */
  readonly secured?: boolean
  /** Ports of proxies in front of it: it has a port of its own for each, and names that of the proxy to whoever comes by it. */
  readonly proxies?: readonly number[]
  /** Does its speed matter? */
  readonly isMeasured?: boolean
  /** After how long it forgets the offsets of a group without members; a week if absent. */
  readonly offsetsKeptMinutes?: number
}

/** Somebody it knows. */
export interface KafkaUser {
  readonly mechanism: 'plain'
  readonly username: string
  readonly password: string
}

export interface KafkaServer extends ServerProcess {
  /** `host:port`, for a client to begin with. */
  readonly broker: string
  readonly host: string
  /** Its own ports behind each of the proxies. */
  readonly proxied: readonly number[]
  /** What a client of a secured one needs: whom to trust, the name on the certificate, who may do all, and who may do nothing. */
  readonly access:
    | {
        readonly tls: { readonly ca: string; readonly servername: string }
        readonly user: KafkaUser
        readonly stranger: KafkaUser
      }
    | undefined
}

const NAME = 'kafka.example.test'
const USER = { mechanism: 'plain', username: 'platen', password: 'a secret' } as const
const STRANGER = { mechanism: 'plain', username: 'stranger', password: 'another' } as const
const HEAP = '-Xms256m -Xmx512m'
/** A server that lives for minutes gains nothing by what the JVM compiles twice: it starts with 60 % of the CPU time. */
const BRIEF = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
/** For clients, for its controller, and for itself. */
const OWN_PORTS = 3

/** Starts a Kafka without a topic; it makes none by itself. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServer> {
  const { secured = false, proxies = [], isMeasured = false, offsetsKeptMinutes } = options
  const path = binaryOf('kafka')
  const certificate = secured ? aCertificate({ name: NAME, addresses: [HOST] }) : undefined
  const java = isMeasured ? HEAP : `${HEAP} ${BRIEF} -XX:SharedArchiveFile=${classArchiveOf(path)}`
  const server = await startServer(recipeOf({ path, java, certificate, proxies, offsetsKeptMinutes }))
  const access = certificate && { tls: { ca: certificate.cert, servername: NAME }, user: USER, stranger: STRANGER }
  return { ...server, host: HOST, broker: `${HOST}:${server.port}`, proxied: server.ports.slice(OWN_PORTS), access }
}

interface Start {
  readonly path: string
  /** Options of the JVM. */
  readonly java: string
  readonly certificate?: Certificate | undefined
  readonly proxies?: readonly number[]
  readonly offsetsKeptMinutes?: number | undefined
}

function recipeOf({ path, java, certificate, proxies = [], offsetsKeptMinutes }: Start): Recipe {
  return {
    name: 'kafka',
    portsCount: OWN_PORTS + proxies.length,
    async prepare(place) {
      const settings = settingsOf(place, { certificate, proxies, offsetsKeptMinutes })
      await writeFile(propertiesIn(place), `${settings.join('\n')}\n`, { mode: 0o600 })
      // What Kafka's own tool formats a folder with, by a JVM that takes 1.5 s of CPU.
      const ids = [`cluster.id=${randomId()}`, `directory.id=${randomId()}`]
      await mkdir(logIn(place), { recursive: true })
      await writeFile(join(logIn(place), 'meta.properties'), ['version=1', 'node.id=1', ...ids, ''].join('\n'))
    },
    command: (place) => ({ path, args: ['kafka.Kafka', propertiesIn(place)], env: { KAFKA_HEAP_OPTS: java } }),
    isReady: answers,
  }
}

/**
 * Where Kafka's classes lie as the JVM has them once they are loaded: a start with it takes 2.7 s of CPU instead of 4.7. The JVM does
 * without where there is none, or one that does not fit.
 */
function classArchiveOf(path: string): string {
  const key = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(cacheFolder(process.env), `kafka-classes-${key}.jsa`)
}

/** Makes it where it is missing: a JVM writes it at its end, which takes some seconds. */
async function archiveClasses(): Promise<void> {
  const path = binaryOf('kafka')
  const archive = classArchiveOf(path)
  if (existsSync(archive)) return
  await mkdir(cacheFolder(process.env), { recursive: true })
  const draft = `${archive}.${process.pid}`
  await using server = await startServer(recipeOf({ path, java: `${HEAP} ${BRIEF} -XX:ArchiveClassesAtExit=${draft}` }))
  await server.stop()
  // Only a whole one has its name: tests may run beside this.
  await rename(draft, archive)
}

function propertiesIn({ folder }: Place): string {
  return join(folder, 'server.properties')
}

function logIn({ folder }: Place): string {
  return join(folder, 'log')
}

/** As Kafka writes an id of 16 bytes. */
function randomId(): string {
  return randomBytes(16).toString('base64url')
}

function settingsOf(
  place: Place,
  { certificate, proxies = [], offsetsKeptMinutes }: Omit<Start, 'path' | 'java'>,
): readonly string[] {
  const [port, controllerPort, ownPort, ...proxied] = place.ports
  const listeners = [
    { name: 'CLIENT', port, told: port, protocol: certificate ? 'SASL_SSL' : 'PLAINTEXT' },
    { name: 'OWN', port: ownPort, told: ownPort, protocol: 'PLAINTEXT' },
    ...proxies.map((told, at) => ({ name: `PROXY${at}`, port: proxied[at], told, protocol: 'PLAINTEXT' })),
  ]
  const controller = { name: 'CONTROLLER', port: controllerPort, protocol: 'PLAINTEXT' }
  const list = (entries: readonly string[]) => entries.join(',')
  return [
    ...(certificate ? securedBy(certificate) : []),
    ...(offsetsKeptMinutes === undefined
      ? []
      : [`offsets.retention.minutes=${offsetsKeptMinutes}`, 'offsets.retention.check.interval.ms=1000']),
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@${HOST}:${controllerPort}`,
    'controller.listener.names=CONTROLLER',
    `listeners=${list([...listeners, controller].map((each) => `${each.name}://${HOST}:${each.port}`))}`,
    `advertised.listeners=${list(listeners.map(({ name, told }) => `${name}://${HOST}:${told}`))}`,
    `listener.security.protocol.map=${list([...listeners, controller].map(({ name, protocol }) => `${name}:${protocol}`))}`,
    'inter.broker.listener.name=OWN',
    `log.dirs=${logIn(place)}`,
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=1',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    // Else every group waits three seconds for members who might still come.
    'group.initial.rebalance.delay.ms=0',
    // Tests scale time, and with it the sessions of consumers.
    'group.min.session.timeout.ms=1000',
    'auto.create.topics.enable=false',
    // Else each partition takes 20 MB, which whoever looks through its files reads.
    'log.index.size.max.bytes=102400',
  ]
}

/** Only those may do anything who are named; itself it knows by no name, on listeners that no client is told of. */
function securedBy({ key, cert }: Certificate): readonly string[] {
  const users = [USER, STRANGER].map(({ username, password }) => `user_${username}="${password}"`)
  const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
  return [
    'sasl.enabled.mechanisms=PLAIN',
    `listener.name.client.plain.sasl.jaas.config=${login} ${users.join(' ')};`,
    'listener.name.client.ssl.keystore.type=PEM',
    `listener.name.client.ssl.keystore.key=${inOneLine(key)}`,
    `listener.name.client.ssl.keystore.certificate.chain=${inOneLine(cert)}`,
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    `super.users=User:ANONYMOUS;User:${USER.username}`,
  ]
}

/** As a properties file takes text of several lines. */
function inOneLine(pem: string): string {
  return pem.trim().replaceAll('\n', '\\n')
}

/** ApiVersions in its first version, the question every client begins with: size, key 18, version 0, correlation 7, no client id. */
const API_VERSIONS = Buffer.from('0000000a0012000000000007ffff', 'hex')

/** Does the broker answer requests? It opens its ports before it does, and all of them at once. */
function answers({ ports: [, , ownPort = 0] }: Place, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port: ownPort, signal })
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('closed without an answer')))
    socket.once('data', () => {
      resolve(true)
      socket.destroy()
    })
    socket.write(API_VERSIONS)
  })
}

// `make test` does this before it starts, as a test's own Kafka would be late by it.
if (import.meta.main) await archiveClasses()
