import { createHash } from 'node:crypto'
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { newWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import {
  type ApiKeyFile,
  apiKeyPath,
  loadOrCreateApiKey,
  loadOrCreateKeyFile,
  loadOrCreateWebhookSecret,
  readWebhookSecret,
  removeTemporaryFiles,
  replaceWebhookSecret,
  webhookSecretPath,
} from '@platen/settings/secrets.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFolder } from '../fixture/lifetime.ts'

const ids = systemIds()
let dataDir = ''

beforeEach(() => {
  dataDir = join(aFolder(), 'data')
})

const key = (fields: Partial<ApiKeyFile> = {}): ApiKeyFile => ({
  dataDir,
  namespace: 'team-acme',
  secretName: 'ci-key',
  brand: 'service',
  environment: 'live',
  ...fields,
})
const mode = async (path: string) => (await stat(path)).mode & 0o777

describe('a generated API key', () => {
  test('has the form of its brand and environment, and is reported by its hash', async () => {
    const { hash, path, isNew } = await loadOrCreateApiKey(key({ environment: 'test', brand: 'acme' }), ids)
    const text = await readFile(path, 'utf8')
    expect(text).toMatch(/^acme_test_[0-9A-Za-z]{43}\n$/)
    expect({ hash, isNew }).toEqual({ hash: createHash('sha256').update(text.trim()).digest('hex'), isNew: true })
  })

  test('is its owner’s alone to read', async () => {
    const { path } = await loadOrCreateApiKey(key(), ids)
    expect([await mode(path), await mode(join(dataDir, 'keys'))]).toEqual([0o600, 0o700])
  })

  test('is the same ever after', async () => {
    const first = await loadOrCreateApiKey(key(), ids)
    expect(await loadOrCreateApiKey(key(), ids)).toEqual({ ...first, isNew: false })
  })

  test('leaves no other file', async () => {
    await loadOrCreateApiKey(key(), ids)
    expect(await readdir(join(dataDir, 'keys'))).toEqual(['team-acme.ci-key'])
  })

  test.for([
    ['of the other environment', `service_test_${'a'.repeat(43)}\n`],
    ['of another brand', `acme_live_${'a'.repeat(43)}\n`],
    ['too short to be safe', 'service_live_abc\n'],
    ['that is empty', ''],
  ] as const)('%s is refused, and neither replaced nor quoted', async ([, text]) => {
    const { path } = await loadOrCreateApiKey(key(), ids)
    await writeFile(path, text)
    const refusal = await loadOrCreateApiKey(key(), ids).catch((error: Error) => error.message)
    expect(refusal).toBe(`${path} holds no key that begins with service_live_: remove it to have a new one generated`)
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('may be put there by its owner', async () => {
    const own = `service_live_${'Own'.repeat(20)}`
    await loadOrCreateApiKey(key({ secretName: 'another' }), ids)
    await writeFile(apiKeyPath(key()), own)
    expect((await loadOrCreateApiKey(key(), ids)).hash).toBe(createHash('sha256').update(own).digest('hex'))
  })
})

describe('a webhook secret', () => {
  const file = () => ({ dataDir, tenant: 'acme' })
  const make = () => newWebhookSecret('acme', ids)

  test('is made in the form of its brand, for its owner alone, and is the same ever after', async () => {
    const first = await loadOrCreateWebhookSecret(file(), make)
    expect(first).toEqual({ secret: expect.stringMatching(/^acme_webhook_[0-9A-Za-z]{43}$/), isNew: true })
    expect(await loadOrCreateWebhookSecret(file(), make)).toEqual({ ...first, isNew: false })
    expect(await readFile(webhookSecretPath(file()), 'utf8')).toBe(`${first.secret}\n`)
    expect([await mode(webhookSecretPath(file())), await mode(join(dataDir, 'webhook-secrets'))]).toEqual([
      0o600, 0o700,
    ])
  })

  test('is replaced whole, and for its owner alone', async () => {
    await loadOrCreateWebhookSecret(file(), make)
    await replaceWebhookSecret(file(), 'the-next-one-0123456789-0123456789')
    expect(await readWebhookSecret(file())).toBe('the-next-one-0123456789-0123456789')
    expect(await mode(webhookSecretPath(file()))).toBe(0o600)
    expect(await readdir(join(dataDir, 'webhook-secrets'))).toEqual(['acme'])
  })

  test('that is none is not read as one', async () => {
    expect(await readWebhookSecret(file())).toBeUndefined()
    await replaceWebhookSecret(file(), 'too-short')
    expect(await readWebhookSecret(file())).toBeUndefined()
  })
})

test('what a kill has left of files that were being written is removed, and nothing else', async () => {
  const { path } = await loadOrCreateApiKey(key(), ids)
  await loadOrCreateWebhookSecret({ dataDir, tenant: 'acme' }, () => newWebhookSecret('acme', ids))
  for (const name of ['.last-good.123', 'keys/.team-acme.ci-key.4711', 'webhook-secrets/.acme.1', '.hidden', 'x.1'])
    await writeFile(join(dataDir, name), 'half a secret')
  await removeTemporaryFiles(dataDir)
  const left = await readdir(dataDir, { recursive: true })
  expect(left.sort()).toEqual(
    ['.hidden', 'keys', path.slice(dataDir.length + 1), 'webhook-secrets', 'webhook-secrets/acme', 'x.1'].sort(),
  )
  await removeTemporaryFiles(join(dataDir, 'none'))
})

describe('a key file', () => {
  test('gives the same bytes ever after, and only to its owner', async () => {
    const path = join(dataDir, 'id-keys')
    const first = await loadOrCreateKeyFile(path, 32, ids)
    expect(first).toHaveLength(32)
    expect(await loadOrCreateKeyFile(path, 32, ids)).toEqual(first)
    expect(await mode(path)).toBe(0o600)
  })

  test('that is damaged stops the service instead of being created again', async () => {
    const path = join(dataDir, 'id-keys')
    await loadOrCreateKeyFile(path, 32, ids)
    await writeFile(path, 'abc')
    await expect(loadOrCreateKeyFile(path, 32, ids)).rejects.toThrow(`${path} holds no key of 32 bytes`)
    expect(await readFile(path, 'utf8')).toBe('abc')
  })

  test('that cannot be written is reported by its name', async () => {
    await writeFile(dataDir, 'a file where the folder should be')
    await chmod(dataDir, 0o600)
    const path = join(dataDir, 'id-keys')
    await expect(loadOrCreateKeyFile(path, 32, ids)).rejects.toThrow(path)
  })
})
