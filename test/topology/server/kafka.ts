/** A real Kafka: one node that is both broker and controller. */
import { createHash, pbkdf2Sync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import kafkajs, { type Admin, Kafka, logLevel } from 'kafkajs'
import { poll } from '../../time/poll.ts'
import { anIdentity, presented, type ServerIdentity } from '../host.ts'
import { binaryOf, cacheFolder } from './binary.ts'
import { HOST } from './port.ts'
import { type Place, type Recipe, type ServerProcess, startServer } from './process.ts'

// Unlike Vitest, Node does not find these exports of a CommonJS module.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes } = kafkajs

export interface KafkaOptions {
  /**
   * Accepts only TLS connections with a password (SASL/PLAIN, SASL/SCRAM-SHA-256) or a token (SASL/OAUTHBEARER). `true` = with its own
   * identity.
   */
  readonly secured?: boolean | ServerIdentity
  /** Ports of proxies in front of it. It opens a port for each proxy, and tells clients there the address of the proxy. */
  readonly proxies?: readonly number[]
  /** The test measures its speed. */
  readonly isMeasured?: boolean
  /** Minutes until it forgets the offsets of a group without members. Default: a week. */
  readonly offsetsKeptMinutes?: number
}

export interface KafkaUser {
  readonly mechanism: 'plain'
  readonly username: string
  readonly password: string
}

export interface KafkaServer extends ServerProcess {
  /** `host:port` of a client's first connection. */
  readonly broker: string
  readonly host: string
  /** Its own ports, one behind each proxy. */
  readonly proxied: readonly number[]
  /** For clients of a secured Kafka. `user` has all rights, `stranger` none. */
  readonly access:
    | {
        readonly tls: { readonly ca: string; readonly servername: string }
        readonly user: KafkaUser
        readonly successor: KafkaUser
        readonly stranger: KafkaUser
      }
    | undefined
  /** `host:port` of a listener without TLS and password. */
  readonly unsecured: string
  /** Changes the identity. When this resolves, new connections meet it. Needs another certificate with the same names. */
  present(identity: ServerIdentity): Promise<void>
  /** Adds a user of SCRAM-SHA-256 with the rights on all topics and groups. */
  addUser(user: { readonly username: string; readonly password: string }): Promise<void>
  /** Removes such a user and its rights, also from open connections. */
  removeUser(username: string): Promise<void>
}

const NAME = 'kafka.example.test'
const USER = { mechanism: 'plain', username: 'platen', password: 'a secret' } as const
const SUCCESSOR = { mechanism: 'plain', username: 'successor', password: 'a newer secret' } as const
const STRANGER = { mechanism: 'plain', username: 'stranger', password: 'another' } as const
const HEAP = '-Xms256m -Xmx512m'
/** For short runs: the JVM's second compiler is useless within minutes. The start takes 60 % of the CPU time. */
const BRIEF = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
/** Ports for clients, for the controller, and for the broker itself. */
const OWN_PORTS = 3

/** Without topics. It never creates topics by itself. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServer> {
  const { secured = false, proxies = [], isMeasured = false, offsetsKeptMinutes } = options
  const path = binaryOf('kafka')
  const identity = secured === true ? anIdentity({ name: NAME, addresses: [HOST] }) : secured || undefined
  const java = isMeasured ? HEAP : `${HEAP} ${BRIEF} -XX:SharedArchiveFile=${classArchiveOf(path)}`
  const server = await startServer(recipeOf({ path, java, identity, proxies, offsetsKeptMinutes }))
  const access = identity && {
    tls: { ca: identity.ca, servername: identity.name },
    user: USER,
    successor: SUCCESSOR,
    stranger: STRANGER,
  }
  const [, , ownPort = 0] = server.ports
  const unsecured = `${HOST}:${ownPort}`
  return {
    ...server,
    host: HOST,
    broker: `${HOST}:${server.port}`,
    proxied: server.ports.slice(OWN_PORTS),
    access,
    unsecured,
    async present(next) {
      await asAdmin(unsecured, (admin) => present(admin, next))
      await presented(server.port, next)
    },
    async addUser({ username, password }) {
      await changeScram(ownPort, { username, password })
      await asAdmin(unsecured, (admin) => grant(admin, username))
    },
    async removeUser(username) {
      await changeScram(ownPort, { username })
      await asAdmin(unsecured, (admin) => revoke(admin, username))
    },
  }
}

interface Start {
  readonly path: string
  readonly java: string
  readonly identity?: ServerIdentity | undefined
  readonly proxies?: readonly number[]
  readonly offsetsKeptMinutes?: number | undefined
}

function recipeOf({ path, java, identity, proxies = [], offsetsKeptMinutes }: Start): Recipe {
  return {
    name: 'kafka',
    portsCount: OWN_PORTS + proxies.length,
    async prepare(place) {
      const settings = settingsOf(place, { identity, proxies, offsetsKeptMinutes })
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
 * Kafka's classes in the form that the JVM has in memory after loading. A start with the archive takes 2.7 s of CPU instead of 4.7. The JVM
 * ignores an archive that is missing or does not match.
 */
function classArchiveOf(path: string): string {
  const key = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(cacheFolder(process.env), `kafka-classes-${key}.jsa`)
}

/** A JVM writes the archive at its exit, which takes some seconds. */
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

/** 16 bytes in Kafka's format. */
function randomId(): string {
  return randomBytes(16).toString('base64url')
}

function settingsOf(
  place: Place,
  { identity, proxies = [], offsetsKeptMinutes }: Omit<Start, 'path' | 'java'>,
): readonly string[] {
  const [port, controllerPort, ownPort, ...proxied] = place.ports
  const listeners = [
    { name: 'CLIENT', port, advertised: port, protocol: identity ? 'SASL_SSL' : 'PLAINTEXT' },
    { name: 'OWN', port: ownPort, advertised: ownPort, protocol: 'PLAINTEXT' },
    ...proxies.map((advertised, at) => ({ name: `PROXY${at}`, port: proxied[at], advertised, protocol: 'PLAINTEXT' })),
  ]
  const controller = { name: 'CONTROLLER', port: controllerPort, protocol: 'PLAINTEXT' }
  const list = (entries: readonly string[]) => entries.join(',')
  return [
    ...(identity ? securedBy(identity) : []),
    ...(offsetsKeptMinutes === undefined
      ? []
      : [`offsets.retention.minutes=${offsetsKeptMinutes}`, 'offsets.retention.check.interval.ms=1000']),
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@${HOST}:${controllerPort}`,
    'controller.listener.names=CONTROLLER',
    `listeners=${list([...listeners, controller].map((each) => `${each.name}://${HOST}:${each.port}`))}`,
    `advertised.listeners=${list(listeners.map(({ name, advertised }) => `${name}://${HOST}:${advertised}`))}`,
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

/** Only named users have rights. The broker connects to itself as ANONYMOUS, on a listener that clients do not know. */
function securedBy(identity: ServerIdentity): readonly string[] {
  const users = [USER, SUCCESSOR, STRANGER].map(({ username, password }) => `user_${username}="${password}"`)
  const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
  return [
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,OAUTHBEARER',
    // Accepts unsigned tokens.
    'listener.name.client.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
    `listener.name.client.plain.sasl.jaas.config=${login} ${users.join(' ')};`,
    'listener.name.client.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'listener.name.client.ssl.keystore.type=PEM',
    'listener.name.client.ssl.truststore.type=PEM',
    `listener.name.client.ssl.client.auth=${identity.clientsCa === undefined ? 'none' : 'required'}`,
    ...storesOf(identity).map(({ name, value }) => `${name}=${inOneLine(value)}`),
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    `super.users=User:ANONYMOUS;User:${USER.username};User:${SUCCESSOR.username}`,
  ]
}

/** These settings may be changed while it runs. */
function storesOf({
  key,
  cert,
  clientsCa,
}: ServerIdentity): readonly { readonly name: string; readonly value: string }[] {
  return [
    { name: 'listener.name.client.ssl.keystore.key', value: key },
    { name: 'listener.name.client.ssl.keystore.certificate.chain', value: cert },
    ...(clientsCa === undefined
      ? []
      : [{ name: 'listener.name.client.ssl.truststore.certificates', value: clientsCa }]),
  ]
}

/** For a properties file. */
function inOneLine(pem: string): string {
  return pem.trim().replaceAll('\n', '\\n')
}

async function asAdmin(broker: string, change: (admin: Admin) => Promise<void>): Promise<void> {
  const admin = new Kafka({ brokers: [broker], clientId: 'test-admin', logLevel: logLevel.NOTHING }).admin()
  try {
    await admin.connect()
    await change(admin)
  } finally {
    await admin.disconnect()
  }
}

async function present(admin: Admin, identity: ServerIdentity): Promise<void> {
  const configEntries = [...storesOf(identity)]
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.BROKER, name: '1', configEntries }],
  })
}

const RIGHTS = [
  [AclResourceTypes.TOPIC, '*'],
  [AclResourceTypes.GROUP, '*'],
  [AclResourceTypes.CLUSTER, 'kafka-cluster'],
] as const

function rightsOf(username: string) {
  return RIGHTS.map(([resourceType, resourceName]) => ({
    resourceType,
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${username}`,
    host: '*',
    operation: AclOperationTypes.ALL,
    permissionType: AclPermissionTypes.ALLOW,
  }))
}

/** The broker learns of a change a moment after the controller, and in order. */
async function countRights(admin: Admin, username: string): Promise<number> {
  const found = await Promise.all(rightsOf(username).map((right) => admin.describeAcls(right)))
  return found.filter(({ resources }) => resources.length > 0).length
}

async function grant(admin: Admin, username: string): Promise<void> {
  await admin.createAcls({ acl: rightsOf(username) })
  await poll(() => countRights(admin, username)).until((count) => count === RIGHTS.length)
}

async function revoke(admin: Admin, username: string): Promise<void> {
  await admin.deleteAcls({ filters: rightsOf(username) })
  await poll(() => countRights(admin, username)).until((count) => count === 0)
}

const [SCRAM_SHA_256, ITERATIONS] = [1, 4096]

/** Sets the password, or removes the user. kafkajs has no such request. */
async function changeScram(port: number, { username, password }: { username: string; password?: string }) {
  const [name, salt] = [Buffer.from(username), randomBytes(16)]
  const known = [...compact(name), SCRAM_SHA_256]
  const salted = password === undefined ? undefined : pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const [deletions, upsertions] = salted
    ? [NOTHING, [2, ...known, ...int32(ITERATIONS), ...compact(salt), ...compact(salted), 0]]
    : [[2, ...known, 0], NOTHING]
  const request = Buffer.from([...ALTER_SCRAM, ...deletions, ...upsertions, 0])
  const answer = await ask(port, Buffer.concat([int32(request.length), request]), AbortSignal.timeout(ASK_MS_MAX))
  // After its length, the correlation, tags, throttle time, and one result: its name and its error.
  const error = answer.readInt16BE(4 + 4 + 1 + 4 + 1 + 1 + name.length)
  if (error !== 0) throw new Error(`Kafka refused to change ${username}: error ${error}`)
}

/** AlterUserScramCredentials: key 51, version 0, correlation 7, no client id, no tags. */
const ALTER_SCRAM = Buffer.from('0033000000000007ffff00', 'hex')
/** An empty array. */
const NOTHING = [1]
const ASK_MS_MAX = 60_000

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** At most 126 bytes, after their count plus one. */
function compact(bytes: Uint8Array): readonly number[] {
  return [bytes.length + 1, ...bytes]
}

/** ApiVersions in its first version, the first request of every client: size, key 18, version 0, correlation 7, no client id. */
const API_VERSIONS = Buffer.from('0000000a0012000000000007ffff', 'hex')

/** All ports open at the same time, before the broker answers. */
async function answers({ ports: [, , ownPort = 0] }: Place, signal: AbortSignal): Promise<boolean> {
  await ask(ownPort, API_VERSIONS, signal)
  return true
}

/** Resolves with the beginning of the answer. */
function ask(port: number, request: Buffer, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port, signal })
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('closed without an answer')))
    socket.once('data', (answer) => {
      resolve(answer)
      socket.destroy()
    })
    socket.write(request)
  })
}

// `make test` runs this before its tests, because it would delay the start of a test's Kafka.
if (import.meta.main) await archiveClasses()
