/**
 * What each process logs when it is started on something that it cannot work with: one clear line, and exit code 1. What all of them depend
 * on they open by the same functions, so one of them is a process for each fault, and the others open it in the process of the test.
 */

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as ask, createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { KAFKA_EVENTS_KEPT_MS } from '@platen/adapters/kafka/limit.ts'
import type { ProcessConfig } from '@platen/adapters/setting/process.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { reportFailure } from '@platen/adapters/system/report.ts'
import * as api from '@platen/api/config.ts'
import * as events from '@platen/events/config.ts'
import { type DataPlaneConfig, openDataPlane } from '@platen/process/data-plane.ts'
import { openProcess } from '@platen/process/process.ts'
import * as renderer from '@platen/renderer/config.ts'
import { ConfigResourceTypes } from 'kafkajs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Deployable } from '../topology/cluster/cluster.ts'
import { spawnService } from '../topology/embedded.ts'
import { freeTopicPrefix, kafkaOfRun, removeTopics } from '../topology/run-server.ts'
import { type KafkaServer, startKafka } from '../topology/server/kafka.ts'
import { type Listener, listening } from '../topology/server/port.ts'
import { type RedisServer, startRedis } from '../topology/server/redis.ts'
import { openStore, type S3Server, s3Settings, startS3 } from '../topology/server/s3.ts'
import { connectTo } from './harness.ts'

type Name = Exclude<Deployable, 'publish' | 'operator'>
type Settings = Readonly<Record<string, string>>

const ROOT = new URL('../..', import.meta.url).pathname
const CONFIGS = { api, renderer, events }
const EACH: readonly Name[] = ['api', 'renderer', 'events']
const KEY = Buffer.alloc(32, 1)
/** Nobody listens there. */
const NOWHERE = '127.0.0.1:1'
/** What nobody may read in a log. */
const SECRET = 'hunter2'
const OPEN_MS_MAX = 60_000

interface World {
  readonly redis: RedisServer
  readonly s3: S3Server
  readonly secured: KafkaServer
  /** Of the run, and where its topics are good, where one of them has too few partitions, and where there are none yet. */
  readonly kafka: { readonly broker: string; readonly good: string; readonly narrow: string; readonly fresh: string }
  /** Where an S3 is that takes If-None-Match for nothing. */
  readonly forgetful: string
  readonly caFile: string
}

let stack: AsyncDisposableStack
let world: World
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'platen-start-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const caFile = join(folder, 'ca.pem')
  const [redis, secured, s3] = [
    stack.use(await startRedis({ password: 'a secret' })),
    stack.use(await startKafka({ secured: true })),
    stack.use(await startS3()),
  ]
  await writeFile(caFile, secured.access?.tls.ca ?? '')
  await takePrefix(s3, 'taken/')
  const { broker } = await kafkaOfRun()
  const kafka = { broker, good: freeTopicPrefix(), narrow: freeTopicPrefix(), fresh: freeTopicPrefix() }
  stack.defer(() => removeTopics(broker, [kafka.good, kafka.narrow, kafka.fresh]))
  await makeTopic(broker, `${kafka.narrow}render.html.sync`)
  const { url: forgetful } = stack.use(await forgetfulBefore(s3.endpoint))
  world = { redis, s3, kafka, secured, forgetful, caFile }
  // S3's client reads them there.
  for (const [name, value] of Object.entries(settingsOn(world))) if (name.startsWith('AWS_')) vi.stubEnv(name, value)
  stack.defer(() => void vi.unstubAllEnvs())
})
afterAll(() => stack.disposeAsync())

/** Settings by which every process starts. */
function settingsOn({ redis, s3, kafka }: World): Settings {
  return {
    PLATEN_HOST: '127.0.0.1',
    PLATEN_PORT: '0',
    PLATEN_METRICS_PORT: '0',
    PLATEN_ID_KEYS: KEY.toString('base64url'),
    PLATEN_EVENT_KEY: KEY.toString('base64url'),
    PLATEN_SEAL_KEY: KEY.toString('base64'),
    PLATEN_ENGINES: 'react_pdf',
    PLATEN_REDIS_URL: redis.url,
    PLATEN_KAFKA_BROKERS: kafka.broker,
    PLATEN_KAFKA_TOPIC_PREFIX: kafka.good,
    PLATEN_KAFKA_PARTITIONS: '2',
    ...s3Settings(s3),
  }
}

/** Those of a Kafka that speaks TLS, and of somebody it knows. */
function securedSettings({ secured, caFile }: World, who: 'user' | 'stranger' = 'user'): Settings {
  const { username = '', password = '' } = secured.access?.[who] ?? {}
  return {
    PLATEN_KAFKA_BROKERS: secured.broker,
    PLATEN_KAFKA_TLS: 'true',
    PLATEN_KAFKA_CA_FILE: caFile,
    PLATEN_KAFKA_SASL: 'plain',
    PLATEN_KAFKA_USERNAME: username,
    PLATEN_KAFKA_PASSWORD: password,
  }
}

type Fault = readonly [string, readonly Name[], (world: World) => Settings, RegExp]

const FAULTS: readonly Fault[] = [
  ['a bucket that is missing', EACH, () => ({ PLATEN_S3_BUCKET: 'nowhere' }), /there is no bucket nowhere/],
  // Of the environment itself, which each process has one of.
  ...EACH.map(
    (name): Fault => [
      'a wrong secret for S3',
      [name],
      () => ({ AWS_SECRET_ACCESS_KEY: SECRET }),
      /S3 refuses these credentials, .*SignatureDoesNotMatch/,
    ],
  ),
  [
    'an S3 that ignores If-None-Match',
    EACH,
    ({ forgetful }) => ({ PLATEN_S3_ENDPOINT: forgetful }),
    /this S3 ignores If-None-Match/,
  ],
  [
    'a prefix of another installation',
    EACH,
    () => ({ PLATEN_S3_PREFIX: 'taken/' }),
    /taken\/ in the bucket platen belongs to another installation: another/,
  ],
  ['an S3 that is not there', ['api'], () => ({ PLATEN_S3_ENDPOINT: `http://${NOWHERE}` }), /S3 .*ECONNREFUSED/],
  [
    'a Redis that is not there',
    EACH,
    () => ({ PLATEN_REDIS_URL: `redis://:${SECRET}@${NOWHERE}` }),
    /cannot connect to Redis: .*ECONNREFUSED/,
  ],
  [
    'a wrong password for Redis',
    EACH,
    ({ redis }) => ({ PLATEN_REDIS_URL: `redis://:${SECRET}@127.0.0.1:${redis.port}` }),
    /cannot connect to Redis: WRONGPASS/,
  ],
  [
    'a Kafka that is not there',
    EACH,
    () => ({ PLATEN_KAFKA_BROKERS: NOWHERE }),
    /cannot connect to Kafka at 127\.0\.0\.1:1: .*ECONNREFUSED/,
  ],
  [
    'a wrong password for Kafka',
    EACH,
    (where) => ({ ...securedSettings(where), PLATEN_KAFKA_PASSWORD: SECRET }),
    /Kafka refused the credentials of platen \(plain\)/,
  ],
  [
    'a Kafka where it may make no topics',
    ['renderer'],
    (where) => securedSettings(where, 'stranger'),
    /these topics are missing in Kafka: \S+\.render\.react_pdf\.sync, .*failed/,
  ],
  [
    'a topic with too few partitions',
    EACH,
    ({ kafka }) => ({ PLATEN_KAFKA_TOPIC_PREFIX: kafka.narrow }),
    /the topic \S+\.render\.html\.sync has 1 partitions in Kafka and needs 2/,
  ],
  [
    'a port of probes that somebody has',
    ['events'],
    ({ redis }) => ({ PLATEN_METRICS_PORT: `${redis.port}` }),
    /EADDRINUSE/,
  ],
  [
    'html to render and no Chromium',
    ['renderer'],
    () => ({ PLATEN_ENGINES: 'html', PLATEN_CHROMIUM: 'none' }),
    /PLATEN_ENGINES has html, but no Chromium was found: set PLATEN_CHROMIUM/,
  ],
]

/** Each deployable is the process for some of the faults. */
const CASES = FAULTS.flatMap(([fault, names, change, said], row) =>
  names.map((name, at) => ({ name, fault, change, said, isProcess: at === row % names.length })),
)

test.concurrent.for(CASES)('$name ends with $fault', async ({ name, change, said, isProcess }, { signal }) => {
  const settings = { ...settingsOn(world), ...change(world) }
  const { code, err } = isProcess ? await ends(name, settings, signal) : { code: 1, err: await refusal(name, settings) }
  expect(code).toBe(1)
  expect(err).toMatch(said)
  expect(linesOf(err).at(-1)).toMatchObject({ level: 'error', process: name, msg: 'process failed' })
  expect(err).not.toContain(SECRET)
})

/** The secret that each needs of its own. */
const OWN = { api: 'PLATEN_ID_KEYS', renderer: 'PLATEN_EVENT_KEY', events: 'PLATEN_SEAL_KEY' }

test.for(EACH)('%s ends with a key that is missing', async (name) => {
  const said = await refusal(name, { ...settingsOn(world), [OWN[name]]: '' })
  const detail = expect.stringMatching(new RegExp(`^${OWN[name]} is missing`))
  expect(linesOf(said)).toMatchObject([{ level: 'error', process: name, msg: 'setting refused', detail }])
})

test.for(EACH)('%s without any setting names all that it needs', async (name, { signal }) => {
  const { code, err } = await ends(name, {}, signal)
  expect(code).toBe(1)
  const faults = linesOf(err)
  for (const needed of [OWN[name], 'PLATEN_REDIS_URL', 'PLATEN_S3_BUCKET', 'PLATEN_KAFKA_BROKERS']) {
    const detail = expect.stringMatching(new RegExp(`^${needed} `))
    expect(faults).toContainEqual(expect.objectContaining({ process: name, msg: 'setting refused', detail }))
  }
})

test.for(EACH)(
  '%s starts on a Redis with a password and a Kafka with TLS, and ends with 0',
  async (name, { signal }) => {
    const child = spawnService(
      { ...settingsOn(world), ...securedSettings(world) },
      { program: [join(ROOT, name, 'src/main.ts')] },
    )
    signal.addEventListener('abort', () => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    let log = ''
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => {
        log += text
        // It is sent once more with every line after that, which changes nothing.
        if (/"msg":"process started"/.test(log)) child.kill('SIGTERM')
      })
    }
    const [code] = await ended
    expect(code).toBe(0)
    for (const line of linesOf(log)) expect(line).toMatchObject({ process: name, msg: expect.any(String) })
  },
)

test('makes its topics as its settings say', async ({ signal }) => {
  const { fresh: prefix } = world.kafka
  const variables = {
    ...settingsOn(world),
    PLATEN_KAFKA_TOPIC_PREFIX: prefix,
    PLATEN_KAFKA_PARTITIONS: '4',
    PLATEN_LOG_LEVEL: 'error',
  }
  await using stack = new AsyncDisposableStack()
  await openAs('renderer', variables, stack)
  await using connection = await connectTo(world.kafka.broker, signal)
  const admin = await connection.admin()
  const [bulk, events] = [`${prefix}render.html.bulk`, `${prefix}render.events`]
  const { topics } = await admin.fetchTopicMetadata({ topics: [bulk, events] })
  const partitions = topics.map((topic) => [topic.name, topic.partitions.length])
  expect(Object.fromEntries(partitions)).toEqual({ [bulk]: 4, [events]: 4 })
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: events, configNames: ['retention.ms'] }]
  const described = await admin.describeConfigs({ resources, includeSynonyms: false })
  expect(described.resources[0]?.configEntries[0]?.configValue).toBe(String(KAFKA_EVENTS_KEPT_MS))
})

async function ends(name: Name, settings: Settings, signal: AbortSignal) {
  const child = spawnService(settings, { program: [join(ROOT, name, 'src/main.ts')] })
  signal.addEventListener('abort', () => child.kill('SIGKILL'))
  const [err, [code]] = await Promise.all([
    Array.fromAsync(child.stderr),
    once(child, 'exit'),
    // Nobody reads it, and a pipe that is full would hold the process up.
    Array.fromAsync(child.stdout),
  ])
  return { code: code as number | null, err: Buffer.concat(err).toString() }
}

/** What a process would log that cannot start, by what each of them does first. */
async function refusal(name: Name, settings: Settings): Promise<string> {
  try {
    await using stack = new AsyncDisposableStack()
    await openAs(name, { ...settings, PLATEN_LOG_LEVEL: 'error' }, stack)
  } catch (error) {
    return failureOf(name, error)
  }
  throw new Error(`${name} has nothing against it`)
}

/** Opens what the process opens first. */
async function openAs(name: Name, variables: Settings, stack: AsyncDisposableStack): Promise<void> {
  const options = { deployable: name, settings: CONFIGS[name].SETTINGS, variables }
  const log = openLog({ level: 'error', process: name, instance: 'test' })
  const lifetime = { log, stop: new AbortController().signal, stack }
  await openDataPlane(await openProcess<ProcessConfig & DataPlaneConfig>(options, lifetime))
}

/** What a process logs of the error that ends it. */
function failureOf(name: Name, error: unknown): string {
  let said = ''
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      said += line
      done()
    },
  })
  reportFailure(openLog({ level: 'error', process: name, instance: 'test', stream }), error)
  return said
}

/** The lines of a log; each is an object. */
function linesOf(output: string): readonly Readonly<Record<string, unknown>>[] {
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** Another installation takes a prefix. */
async function takePrefix(s3: S3Server, prefix: string): Promise<void> {
  using _ = await openStore(s3, { prefix, installation: 'another' })
}

/** A topic of one partition. */
async function makeTopic(broker: string, topic: string): Promise<void> {
  await using connection = await connectTo(broker, AbortSignal.timeout(OPEN_MS_MAX))
  const admin = await connection.admin()
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true })
}

/** An S3 in front of another that tells every creator that it has created. */
function forgetfulBefore(endpoint: string): Promise<Listener> {
  const forward: RequestListener = (incoming, outgoing) => {
    const { method, url, headers } = incoming
    const onward = ask(`${endpoint}${url}`, { method, headers }, (answer) => {
      const isRefused = headers['if-none-match'] !== undefined && answer.statusCode === 412
      outgoing.writeHead(isRefused ? 200 : (answer.statusCode ?? 502), isRefused ? { etag: '"1"' } : answer.headers)
      if (!isRefused) return answer.pipe(outgoing)
      answer.resume()
      return outgoing.end()
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  }
  return listening(createServer(forward))
}
