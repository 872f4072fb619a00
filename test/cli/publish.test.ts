/** `platen publish` as people and pipelines run it: in a process of its own, on a real Redis and a real S3. */
import { randomBytes } from 'node:crypto'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { templateKey } from '@platen/contract/domain/render.ts'
import { openWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { aReader } from '../conformance/directory-harness.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { KEY, templateHead } from '../fixture/manifests.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type RedisServer, redisSettings, startRedis } from '../topology/server/redis.ts'
import { openStore, type S3Server, s3Settings, startS3 } from '../topology/server/s3.ts'
import { type Folder, makeFolder, PLATFORM, reactPdf, SAMPLE, SCHEMA } from './command.ts'

const PATIENCE_MS = 60_000
const SEAL_KEY = randomBytes(32)
const HANGING = 'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'
const LETTER = `${templateHead('letter')}${SCHEMA}${reactPdf()}${SAMPLE}`

describe.skipIf(!hasServer('redis') || !hasServer('s3'))('publishing', () => {
  let servers: AsyncDisposableStack
  let redisServer: RedisServer
  let s3: S3Server
  let redis: RedisConnection
  let folder: Folder

  beforeAll(async () => {
    servers = new AsyncDisposableStack()
    redisServer = servers.use(await startRedis({ password: 'a secret' }))
    s3 = servers.use(await startS3())
    redis = servers.use(await connectRedis(redisSettings(redisServer), AbortSignal.timeout(PATIENCE_MS)))
  })
  afterAll(() => servers.disposeAsync())

  beforeEach(async ({ signal }) => {
    await redis.call((client) => client.flushall(), signal)
    await s3.empty()
    folder = ofTest(
      await makeFolder({
        PLATEN_REDIS_URL: redisServer.url,
        PLATEN_SEAL_KEY: SEAL_KEY.toString('base64'),
        ...s3Settings(s3),
      }),
    )
    await folder.write('platform.yaml', [PLATFORM, KEY].join('---\n'))
    await folder.write('letter.yaml', LETTER)
  })

  test('puts sources into S3 and settings into Redis, and waits for those who enforce them', async ({ signal }) => {
    await using one = await aReader(redis, { reader: 'one' })
    await using two = await aReader(redis, { reader: 'two' })
    const { code, out, err } = await folder.spawned(['publish', '.'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^Tenant acme: webhook secret generated: .*data\/webhook-secrets\/acme$/),
      expect.stringMatching(/^ApiKey team-acme\/ci: api key generated: .*data\/keys\/team-acme\.ci-key$/),
      'Tenant acme: added',
      'ApiKey team-acme/ci: added',
      'Template acme/letter: added',
      expect.stringMatching(
        /^published revision \d{13}: 1 plan, 1 tenant, 1 template, 1 key; enforced by 2 of 2 API processes$/,
      ),
      '',
    ])
    const { revision } = one.current()
    const { tenants, keys, templates } = one.current()
    expect(two.current()).toStrictEqual(one.current())
    const [tenant] = [...tenants.values()]
    const [secret] = tenant?.webhookSecrets ?? []
    const account = tenant?.account ?? ''
    expect(openWebhookSecret(secret?.sealed ?? '', { account, keys: [SEAL_KEY] })).toMatch(/^service_webhook_/)
    expect(keys.size).toBe(1)
    const [template] = [...templates.values()].flatMap((codes) => [...codes.values()])
    using store = await openStore(s3)
    const key = template && templateKey(template.digest)
    expect(await store.has({ bucket: 'platen', key: key ?? '' }, signal)).toBe(true)

    const again = await folder.spawned(['publish', '.'])
    expect(again).toEqual({
      code: 0,
      out: `nothing has changed since revision ${revision}: 1 plan, 1 tenant, 1 template, 1 key; enforced by 2 of 2 API processes\n`,
      err: '',
    })
    await folder.write('letter.yaml', LETTER.replaceAll('Dear', 'Hello'))
    const changed = await folder.spawned(['publish', '.'])
    expect(changed.out).toMatch(
      /^Template acme\/letter: changed\npublished revision \d{13}: .*; enforced by 2 of 2 API processes\n$/,
    )
    expect(changed.out).toContain(`published revision ${revision + 1}: `)
  })

  test('publishes what is good, says what is wrong and where, and leaves the last good of that in force', async () => {
    await folder.spawned(['publish', '.'])
    await using before = await aReader(redis)
    const { revision, templates: letter } = before.current()
    await folder.write('letter.yaml', LETTER.replace('<Text>', '<Text'))
    await folder.write('more.yaml', KEY.replace('name: ci,', 'name: other,').replace('ci-key', 'other-key'))
    const { code, out, err } = await folder.spawned(['publish', '.'])
    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(out).toMatch(/^letter\.yaml:\d+:\d+: Template team-acme\/letter: CompileError: /m)
    expect(out).toMatch(/^1 fault: refused resources keep their last good state, if they have one$/m)
    expect(out).toMatch(/^published revision \d{13}: .* 1 template, 2 keys; /m)
    await using reader = await aReader(redis)
    expect(reader.current()).toMatchObject({ revision: revision + 1, templates: letter })
    expect(reader.current().keys.size).toBe(2)
  })

  test('names every setting that is wrong, none with its value, and connects to nothing', async () => {
    const env = { PLATEN_REDIS_URL: 'hunter2', PLATEN_S3_BUCKET: '', PLATEN_SEAL_KEY: 'hunter2' }
    const { code, out, err } = await folder.spawned(['publish', '.'], { env })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(
      /PLATEN_REDIS_URL must be .*PLATEN_S3_BUCKET is missing.*PLATEN_SEAL_KEY must be base64 of 32 bytes/,
    )
    expect(err).not.toContain('hunter2')
  })

  test.for([
    ['Redis', { PLATEN_REDIS_URL: 'redis://127.0.0.1:1' }, /cannot connect to Redis/],
    ['Redis with the wrong password', { password: 'wrong' }, /cannot connect to Redis: WRONGPASS/],
    ['S3', { PLATEN_S3_ENDPOINT: 'http://127.0.0.1:1' }, /the request to S3 failed: ECONNREFUSED/],
    ['the bucket', { PLATEN_S3_BUCKET: 'elsewhere' }, /there is no bucket elsewhere/],
  ] as const)(
    'fails with a reason where it cannot reach %s',
    async ([, { password, ...env }, reason]: readonly [string, Readonly<Record<string, string>>, RegExp]) => {
      const url =
        password === undefined ? {} : { PLATEN_REDIS_URL: `redis://:${password}@127.0.0.1:${redisServer.port}` }
      const { code, out, err } = await folder.spawned(['publish', '.'], { env: { ...env, ...url } })
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(reason)
      expect(err.trim().split('\n')).toHaveLength(1)
    },
  )

  test.for([
    ['publish', 'nowhere'],
    ['publish', 'nowhere', '--watch'],
  ])('%j names a folder that it cannot read', async (args) => {
    const { code, out, err } = await folder.spawned(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('the folder of manifests nowhere cannot be read (ENOENT)')
  })

  test('names a file of the data folder that is damaged', async () => {
    expect(await folder.spawned(['publish', '.'])).toMatchObject({ code: 0 })
    await folder.write('data/identities.json', 'nothing')
    const { code, err } = await folder.spawned(['publish', '.'])
    expect(code).toBe(2)
    expect(err).toMatch(/identities\.json is damaged: restore it from a backup\n$/)
  })

  test('calls no defect of its own a wrong call', async ({ onTestFinished }) => {
    onTestFinished(() => void vi.unstubAllEnvs())
    // The S3 client looks for its credentials in the environment of the process.
    for (const [name, value] of Object.entries(s3Settings(s3))) vi.stubEnv(name, value)
    const print = (text: string) => {
      if (text.startsWith('published')) throw new TypeError('nobody has thought of this')
    }
    await expect(folder.platen(['publish', '.'], { print })).rejects.toThrow('nobody has thought of this')
  })

  test('follows the folder, mends what Redis has lost, and ends when another takes over', async ({ signal }) => {
    await using reader = await aReader(redis, { reader: 'one' })
    const command = folder.follow('publish', '.', '--watch')
    expect(await command.printed(/^watching/)).toContain('published revision ')
    await reader.refresh(signal)
    const before = reader.current()
    expect(before.tenants.size).toBe(1)

    await folder.write('letter.yaml', LETTER.replace('<Text>', '<Text'))
    expect(await command.printed(/^1 fault: /)).toContain('CompileError')
    await folder.write('letter.yaml', LETTER.replaceAll('Dear', 'Hello'))
    expect(await command.printed(/^published revision/)).toContain('Template acme/letter: changed')

    await redis.call((client) => client.flushall(), signal)
    await command.printed(/^published revision \d{13} again: Redis had lost it$/)
    await using newcomer = await aReader(redis)
    await reader.refresh(signal)
    expect(newcomer.current()).toStrictEqual(reader.current())
    expect(newcomer.current().revision).toBe(before.revision + 1)

    const other = await folder.spawned(['publish', '.'])
    expect(other.code).toBe(0)
    await folder.write('letter.yaml', LETTER)
    await command.exited
    expect(await command.end('SIGINT')).toBe(1)
  })

  test('publishes the rest while a template that it follows hangs in its check', async () => {
    const command = folder.follow('publish', '.', '--watch')
    await command.printed(/^watching/)
    await folder.write('hanging.yaml', `${templateHead('hanging')}${reactPdf(HANGING)}  sampleData: {}\n`)
    await command.printed(/^1 template still to be checked$/)
    await folder.write('platform.yaml', PLATFORM)
    expect(await command.printed(/^published revision/)).toMatch(/^ApiKey .*: removed$/m)
    await folder.write('hanging.yaml', LETTER.replace('letter', 'mended'))
    expect(await command.printed(/^published revision/)).toContain('Template acme/mended: added')
    expect(await command.end('SIGINT')).toBe(0)
  })
})
