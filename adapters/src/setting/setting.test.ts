import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { CLIENT_CERTIFICATE, CLIENT_KEY } from '../../../test/fixture/build.ts'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { CONNECTION_SETTINGS } from './connection.ts'
import { DEFAULT_TRAFFIC_LIMITS } from './limit.ts'
import { ConfigError, table, unknownSettings, type Variables } from './setting.ts'
import { TRAFFIC_SETTINGS } from './traffic.ts'
import { SEAL_KEYS_SETTING } from './webhook.ts'

const SEAL_KEY = Buffer.alloc(32, 7).toString('base64')
const NEEDED = {
  PLATEN_REDIS_URL: 'redis://localhost',
  PLATEN_S3_BUCKET: 'pdfs',
  PLATEN_KAFKA_BROKERS: 'localhost',
  PLATEN_SEAL_KEY: SEAL_KEY,
}

const SETTINGS = table({ ...CONNECTION_SETTINGS, sealKeys: SEAL_KEYS_SETTING })

const read = (variables: Variables) => SETTINGS.read({ ...NEEDED, ...variables })

const server = (host: string, port: number) => ({ kind: 'server', address: { host, port } })

describe('the settings of the connections', () => {
  test('are few where nothing is out of the ordinary', () => {
    expect(read({})).toEqual({
      redis: { location: server('localhost', 6379), username: undefined, password: undefined, callMsMax: 500 },
      s3: {
        region: 'us-east-1',
        isPathStyle: false,
        namespace: { bucket: 'pdfs', prefix: '', installation: 'platen' },
      },
      kafka: {
        connection: { brokers: ['localhost:9092'] },
        topics: { prefix: '' },
      },
      sealKeys: [Buffer.alloc(32, 7)],
    })
  })

  test('cannot be changed', () => {
    const config = read({})
    for (const part of [config, config.redis, config.s3, config.kafka]) expect(part).toSatisfy(Object.isFrozen)
  })

  test.for<[string, object]>([
    ['redis://redis.data:6380', { location: server('redis.data', 6380) }],
    ['redis://[fd12::7]:6380/0', { location: server('fd12::7', 6380) }],
    ['redis://:s%40cret@h/', { location: server('h', 6379), username: undefined, password: 's@cret' }],
    ['rediss://me:s:cret@h', { location: server('h', 6379), username: 'me', password: 's:cret', tls: {} }],
    [
      'redis+cluster://a,b:7001',
      {
        location: {
          kind: 'cluster',
          nodes: [
            { host: 'a', port: 6379 },
            { host: 'b', port: 7001 },
          ],
        },
      },
    ],
    [
      'rediss+sentinel://:x@a,b:7/main',
      {
        location: {
          kind: 'sentinel',
          sentinels: [
            { host: 'a', port: 26_379 },
            { host: 'b', port: 7 },
          ],
          primary: 'main',
        },
        password: 'x',
        tls: {},
      },
    ],
  ])('take the Redis at %s', ([PLATEN_REDIS_URL, wanted]) => {
    expect(read({ PLATEN_REDIS_URL }).redis).toMatchObject(wanted)
  })

  test('take certificates for what is spoken to over TLS, and for nothing else', () => {
    const folder = aFolder()
    const file = join(folder, 'ca.pem')
    const [certificate = ''] = rootCertificates
    writeFileSync(file, certificate)
    const tls = { PLATEN_REDIS_URL: 'rediss://h', PLATEN_KAFKA_TLS: 'true' }
    const files = { PLATEN_REDIS_CA_FILE: file, PLATEN_KAFKA_CA_FILE: file }
    const { redis, kafka } = read({ ...tls, ...files })
    expect(redis.tls?.ca).toBe(new X509Certificate(certificate).toString())
    expect(kafka.connection.tls?.ca).toBe(redis.tls?.ca)
    expect(() => read(files)).toThrow(/PLATEN_REDIS_CA_FILE needs .*\nPLATEN_KAFKA_CA_FILE needs /)
  })

  test('take client certificates with their keys, and no others', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const strangerKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const folder = aFolder()
    const fileOf = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const [cert, key, other] = [
      fileOf('crt', CLIENT_CERTIFICATE),
      fileOf('key', CLIENT_KEY),
      fileOf('other', strangerKey),
    ]
    const tls = { PLATEN_REDIS_URL: 'rediss://h', PLATEN_KAFKA_TLS: 'true' }
    const pairOf = (party: string, keyFile: string) => ({
      [`PLATEN_${party}_CERT_FILE`]: cert,
      [`PLATEN_${party}_KEY_FILE`]: keyFile,
    })
    const { redis, kafka, s3 } = read({
      ...tls,
      ...pairOf('REDIS', key),
      ...pairOf('KAFKA', key),
      ...pairOf('S3', key),
    })
    const wanted = { cert: CLIENT_CERTIFICATE, key: CLIENT_KEY }
    expect([redis.tls, kafka.connection.tls, s3.tls]).toEqual([wanted, wanted, wanted])
    for (const party of ['REDIS', 'KAFKA', 'S3']) {
      const { [`PLATEN_${party}_KEY_FILE`]: _key, ...alone } = pairOf(party, key)
      expect(() => read({ ...tls, ...alone })).toThrow(`PLATEN_${party}_KEY_FILE are set together`)
      expect(() => read({ ...tls, ...pairOf(party, other) })).toThrow(`PLATEN_${party}_KEY_FILE is not the key`)
      expect(() => read({ ...tls, ...pairOf(party, cert) })).toThrow(`PLATEN_${party}_KEY_FILE must be`)
    }
    expect(() => read({ PLATEN_S3_ENDPOINT: 'http://minio:9000', ...pairOf('S3', key) })).toThrow('begins with https')
  })

  test('take secrets from files, without the last line end', () => {
    const folder = aFolder()
    const [url, empty] = [join(folder, 'url'), join(folder, 'empty')]
    writeFileSync(url, 'redis://:hunter2@h\n')
    writeFileSync(empty, '')
    const inFile = { PLATEN_REDIS_URL: '', PLATEN_REDIS_URL_FILE: url }
    expect(read(inFile).redis).toMatchObject({ location: server('h', 6379), password: 'hunter2' })
    expect(() => read({ ...inFile, PLATEN_REDIS_URL: 'redis://h' })).toThrow('PLATEN_REDIS_URL_FILE are both set')
    for (const wrong of [join(folder, 'hunter2'), empty, folder])
      expect(() => read({ ...inFile, PLATEN_REDIS_URL_FILE: wrong })).toThrow(
        /PLATEN_REDIS_URL_FILE (must )?names? a file/,
      )
    expect(unknownSettings({ ...inFile, PLATEN_S3_BUCKET_FILE: url }, SETTINGS)).toEqual(['PLATEN_S3_BUCKET_FILE'])
  })

  test('take up to eight seal keys, the first of which seals', () => {
    const keys = Array.from({ length: 8 }, (_, at) => Buffer.alloc(32, at + 1))
    const text = (all: readonly Buffer[]) => all.map((key) => key.toString('base64')).join(', ')
    expect(read({ PLATEN_SEAL_KEY: text(keys) }).sealKeys).toEqual(keys)
    for (const wrong of [text([...keys, ...keys]), `${text(keys)},`, `${text(keys.slice(0, 1))},hunter2`])
      expect(() => read({ PLATEN_SEAL_KEY: wrong })).toThrow(/PLATEN_SEAL_KEY must be(?!.*hunter2)/)
  })

  test.for<[Variables, object]>([
    [
      {
        PLATEN_KAFKA_SASL: 'oauthbearer',
        PLATEN_KAFKA_USERNAME: 'me',
        PLATEN_KAFKA_PASSWORD: 'x',
        PLATEN_KAFKA_OAUTH_TOKEN_URL: 'https://id.example.com/token',
        PLATEN_KAFKA_OAUTH_SCOPE: 'kafka',
      },
      { kafka: { connection: { sasl: { oauth: { tokenUrl: 'https://id.example.com/token', scope: 'kafka' } } } } },
    ],
    [
      { PLATEN_S3_ACCESS_KEY_ID: 'me', PLATEN_S3_SECRET_ACCESS_KEY: 'x' },
      { s3: { credentials: { accessKeyId: 'me', secretAccessKey: 'x' } } },
    ],
    [
      { PLATEN_REDIS_URL: 'redis+sentinel://:y@a/m?sentinel_password=x%40z' },
      { redis: { location: { primary: 'm', sentinelPassword: 'x@z' }, password: 'y' } },
    ],
    [{ PLATEN_S3_ENDPOINT: 'http://minio:9000/' }, { s3: { endpoint: 'http://minio:9000' } }],
    [{ PLATEN_S3_PUBLIC_ENDPOINT: 'https://f.example.com' }, { s3: { publicEndpoint: 'https://f.example.com' } }],
    [{ PLATEN_S3_PATH_STYLE: 'true' }, { s3: { isPathStyle: true } }],
    [{ PLATEN_S3_PREFIX: 'team/pdf' }, { s3: { namespace: { prefix: 'team/pdf/' } } }],
    [{ PLATEN_S3_PREFIX: 'team/' }, { s3: { namespace: { prefix: 'team/' } } }],
    [{ PLATEN_INSTALLATION: 'blue' }, { s3: { namespace: { installation: 'blue' } } }],
    [{ PLATEN_KAFKA_BROKERS: 'k1:1, [::1]' }, { kafka: { connection: { brokers: ['k1:1', '[::1]:9092'] } } }],
    [
      { PLATEN_KAFKA_SASL: 'scram-sha-512', PLATEN_KAFKA_USERNAME: 'me', PLATEN_KAFKA_PASSWORD: 'x' },
      { kafka: { connection: { sasl: { mechanism: 'scram-sha-512', username: 'me', password: 'x' } } } },
    ],
    [{ PLATEN_KAFKA_TOPIC_PREFIX: 'pdf.' }, { kafka: { topics: { prefix: 'pdf.' } } }],
    [
      { PLATEN_KAFKA_PARTITIONS: '48' },
      { kafka: { topics: { partitions: { sync: 48, async: 48, bulk: 48, events: 48 } } } },
    ],
    [{ PLATEN_KAFKA_REPLICATION: '3' }, { kafka: { topics: { replicas: 3, inSyncMin: 2 } } }],
    [{ PLATEN_KAFKA_REPLICATION: '1' }, { kafka: { topics: { replicas: 1, inSyncMin: 1 } } }],
  ])('take %o', ([variables, wanted]) => {
    expect(read(variables)).toMatchObject(wanted)
  })

  test.for<[string, string]>([
    ['PLATEN_REDIS_URL', 'localhost:6379'],
    ['PLATEN_REDIS_URL', 'http://localhost'],
    ['PLATEN_REDIS_URL', 'redis://a,b'],
    ['PLATEN_REDIS_URL', 'redis://a/1'],
    ['PLATEN_REDIS_URL', 'redis://a:0'],
    ['PLATEN_REDIS_URL', 'redis://a:70000'],
    ['PLATEN_REDIS_URL', 'redis://:%zz@a'],
    ['PLATEN_REDIS_URL', 'redis://hunter2@a'],
    ['PLATEN_REDIS_URL', 'redis+sentinel://a'],
    ['PLATEN_REDIS_URL', 'redis+cluster://a,,b'],
    ['PLATEN_REDIS_CA_FILE', '/nowhere/hunter2'],
    ['PLATEN_REDIS_URL', 'redis://a?sentinel_password=hunter2'],
    ['PLATEN_REDIS_URL', 'redis://a/0?sentinel_password=hunter2'],
    ['PLATEN_REDIS_URL', 'redis+sentinel://a/m?hunter2=x'],
    ['PLATEN_REDIS_URL', 'redis+sentinel://a/m?sentinel_password=hunter2%zz'],
    ['PLATEN_S3_ENDPOINT', 'minio:9000'],
    ['PLATEN_S3_ENDPOINT', 'http://me:hunter2@minio:9000'],
    ['PLATEN_S3_PUBLIC_ENDPOINT', 'https://a/?x=hunter2'],
    ['PLATEN_S3_REGION', 'a b'],
    ['PLATEN_S3_BUCKET', 'ab'],
    ['PLATEN_S3_BUCKET', 'Hunter2'],
    ['PLATEN_S3_PREFIX', '/a'],
    ['PLATEN_S3_PREFIX', '.a/'],
    ['PLATEN_S3_PATH_STYLE', 'hunter2'],
    ['PLATEN_INSTALLATION', 'Hunter2'],
    ['PLATEN_KAFKA_BROKERS', 'a:b'],
    ['PLATEN_KAFKA_SASL', 'hunter2'],
    ['PLATEN_KAFKA_SASL', 'plain'],
    ['PLATEN_KAFKA_SASL', 'oauthbearer'],
    ['PLATEN_KAFKA_PASSWORD', 'hunter2'],
    ['PLATEN_KAFKA_OAUTH_TOKEN_URL', 'https://id/hunter2'],
    ['PLATEN_KAFKA_OAUTH_SCOPE', 'hunter2'],
    ['PLATEN_S3_ACCESS_KEY_ID', 'hunter2'],
    ['PLATEN_S3_CERT_FILE', '/nowhere/hunter2'],
    ['PLATEN_KAFKA_TLS', 'hunter2'],
    ['PLATEN_KAFKA_CA_FILE', '/nowhere/hunter2'],
    ['PLATEN_KAFKA_TOPIC_PREFIX', 'hunter2 '],
    ['PLATEN_KAFKA_PARTITIONS', '0'],
    ['PLATEN_KAFKA_REPLICATION', 'hunter2'],
    ['PLATEN_KAFKA_PARTITIONS', '201'],
    ['PLATEN_SEAL_KEY', 'hunter2'],
    ['PLATEN_SEAL_KEY', Buffer.alloc(31).toString('base64')],
    ['PLATEN_SEAL_KEY', Buffer.alloc(33).toString('base64')],
  ])('refuse %s=%s, naming it and not its value', ([name, value]) => {
    expect(() => read({ [name]: value })).toThrow(ConfigError)
    expect(() => read({ [name]: value })).toThrow(name)
    expect(() => read({ [name]: value })).not.toThrow(/hunter2/i)
  })

  test('that are required and missing are named together', () => {
    const missing = Object.keys(NEEDED).map((name) => expect.stringContaining(`${name} is missing`))
    const faults = (() => {
      try {
        return SETTINGS.read({ PLATEN_REDIS_URL: '' })
      } catch (error) {
        return error instanceof ConfigError ? error.message.split('\n') : error
      }
    })()
    expect(faults).toEqual(missing)
  })
})

describe('the settings of what callers may do', () => {
  const numbers = TRAFFIC_SETTINGS.entries.filter(({ default: text }) => /^\d+$/.test(text))
  const traffic = TRAFFIC_SETTINGS.read

  test('take their own defaults', () => {
    const written = Object.fromEntries(numbers.map(({ name, default: text }) => [name, text]))
    expect(traffic(written)).toEqual(DEFAULT_TRAFFIC_LIMITS)
    expect(traffic({})).toEqual(DEFAULT_TRAFFIC_LIMITS)
    expect(numbers).toHaveLength(1)
  })

  test('refusals, of a key and of an address, are a million at most, and one at least', () => {
    const name = 'PLATEN_REFUSALS_PER_MINUTE'
    expect(traffic({ [name]: '1000000' })).toMatchObject({ keyRefusals: 1_000_000, addressRefusals: 1_000_000 })
    for (const wrong of ['0', '1000001', '-1', '1.5', 'many']) expect(() => traffic({ [name]: wrong })).toThrow(name)
  })

  test('name proxies by their networks', () => {
    const named = traffic({ PLATEN_TRUSTED_PROXIES: '10.1.0.0/16, fd12::/16' })
    expect(named.trustedProxies).toEqual(['10.1.0.0/16', 'fd12::/16'])
    expect(() => traffic({ PLATEN_TRUSTED_PROXIES: 'loopback' })).toThrow('PLATEN_TRUSTED_PROXIES')
  })
})
