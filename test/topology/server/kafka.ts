/** Starts a real Kafka: one node that is both broker and controller. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { aCertificate, type Certificate } from '../host.ts'
import { binaryOf, cacheFolder } from './binary.ts'
import { HOST } from './port.ts'
import { type Place, type Recipe, type ServerProcess, startServer } from './process.ts'

export interface KafkaOptions {
  /** Does it accept only TLS connections with a password (SASL/PLAIN) or a token (SASL/OAUTHBEARER)? */
  readonly secured?: boolean
  /** Ports of proxies in front of it. It opens one port for each proxy, and tells clients on that port the address of the proxy. */
  readonly proxies?: readonly number[]
  /** Does the test measure its speed? */
  readonly isMeasured?: boolean
  /** Minutes until it forgets the offsets of a group without members. Default: a week. */
  readonly offsetsKeptMinutes?: number
}

/** A user it knows. */
export interface KafkaUser {
  readonly mechanism: 'plain'
  readonly username: string
  readonly password: string
}

export interface KafkaServer extends ServerProcess {
  /** `host:port` of the first connection of a client. */
  readonly broker: string
  readonly host: string
  /** Its own ports behind the proxies, one for each. */
  readonly proxied: readonly number[]
  /** What a client of a secured Kafka needs: the CA, the name on the certificate, a user with all rights, and a user with none. */
  readonly access:
    | {
        readonly tls: { readonly ca: string; readonly servername: string }
        readonly user: KafkaUser
        /** Another user with all rights. */
        readonly successor: KafkaUser
        readonly stranger: KafkaUser
      }
    | undefined
}

const NAME = 'kafka.example.test'
const USER = { mechanism: 'plain', username: 'platen', password: 'a secret' } as const
const SUCCESSOR = { mechanism: 'plain', username: 'successor', password: 'a newer secret' } as const
const STRANGER = { mechanism: 'plain', username: 'stranger', password: 'another' } as const
const HEAP = '-Xms256m -Xmx512m'
/**
 * Options for short runs. A server that lives for minutes gains nothing from the JVM's second compiler. The start takes 60 % of the CPU
 * time.
 */
const BRIEF = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
/** Ports for clients, for the controller, and for the broker itself. */
const OWN_PORTS = 3

/** Starts a Kafka without topics. It never creates topics by itself. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServer> {
  const { secured = false, proxies = [], isMeasured = false, offsetsKeptMinutes } = options
  const path = binaryOf('kafka')
  const certificate = secured ? aCertificate({ name: NAME, addresses: [HOST] }) : undefined
  const java = isMeasured ? HEAP : `${HEAP} ${BRIEF} -XX:SharedArchiveFile=${classArchiveOf(path)}`
  const server = await startServer(recipeOf({ path, java, certificate, proxies, offsetsKeptMinutes }))
  const access = certificate && {
    tls: { ca: certificate.cert, servername: NAME },
    user: USER,
    successor: SUCCESSOR,
    stranger: STRANGER,
  }
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
      // Kafka's own tool would write this file, in a JVM that takes 1.5 s of CPU.
      const ids = [`cluster.id=${randomId()}`, `directory.id=${randomId()}`]
      await mkdir(logIn(place), { recursive: true })
      await writeFile(join(logIn(place), 'meta.properties'), ['version=1', 'node.id=1', ...ids, ''].join('\n'))
    },
    command: (place) => ({ path, args: ['kafka.Kafka', propertiesIn(place)], env: { KAFKA_HEAP_OPTS: java } }),
    isReady: answers,
  }
}

/**
 * Path of the class archive: Kafka's classes in the form the JVM has in memory after loading. A start with it takes 2.7 s of CPU instead of
 * 4.7. The JVM ignores an archive that is missing or does not match.
 */
function classArchiveOf(path: string): string {
  const key = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(cacheFolder(process.env), `kafka-classes-${key}.jsa`)
}

/** Creates the class archive if it is missing. A JVM writes it at its exit, which takes some seconds. */
async function archiveClasses(): Promise<void> {
  const path = binaryOf('kafka')
  const archive = classArchiveOf(path)
  if (existsSync(archive)) return
  await mkdir(cacheFolder(process.env), { recursive: true })
  const draft = `${archive}.${process.pid}`
  await using server = await startServer(recipeOf({ path, java: `${HEAP} ${BRIEF} -XX:ArchiveClassesAtExit=${draft}` }))
  await server.stop()
  // Only a complete archive gets the final name, because tests may run at the same time.
  await rename(draft, archive)
}

function propertiesIn({ folder }: Place): string {
  return join(folder, 'server.properties')
}

function logIn({ folder }: Place): string {
  return join(folder, 'log')
}

/** Returns an id of 16 bytes in Kafka's format. */
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
    // Otherwise every group waits three seconds for further members.
    'group.initial.rebalance.delay.ms=0',
    // Tests scale time, and with it the session timeouts of consumers.
    'group.min.session.timeout.ms=1000',
    'auto.create.topics.enable=false',
    // Otherwise each partition takes 20 MB on disk, and tests that read its files would read all of that.
    'log.index.size.max.bytes=102400',
  ]
}

/** Only named users have rights. The broker connects to itself as ANONYMOUS, on a listener that no client learns of. */
function securedBy({ key, cert }: Certificate): readonly string[] {
  const users = [USER, SUCCESSOR, STRANGER].map(({ username, password }) => `user_${username}="${password}"`)
  const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
  return [
    'sasl.enabled.mechanisms=PLAIN,OAUTHBEARER',
    // Accepts tokens that nobody signed.
    'listener.name.client.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
    `listener.name.client.plain.sasl.jaas.config=${login} ${users.join(' ')};`,
    'listener.name.client.ssl.keystore.type=PEM',
    `listener.name.client.ssl.keystore.key=${inOneLine(key)}`,
    `listener.name.client.ssl.keystore.certificate.chain=${inOneLine(cert)}`,
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    `super.users=User:ANONYMOUS;User:${USER.username};User:${SUCCESSOR.username}`,
  ]
}

/** Escapes a text of several lines for a properties file. */
function inOneLine(pem: string): string {
  return pem.trim().replaceAll('\n', '\\n')
}

/** ApiVersions in its first version, the first request of every client: size, key 18, version 0, correlation 7, no client id. */
const API_VERSIONS = Buffer.from('0000000a0012000000000007ffff', 'hex')

/** Does the broker answer requests? Its ports open before it does, and all at the same time. */
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

// `make test` runs this before its tests, because it would delay the start of a test's Kafka.
if (import.meta.main) await archiveClasses()
