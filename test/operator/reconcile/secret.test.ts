/** Keys and webhook secrets: made, rotated and kept to their Secrets. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSealKeyReporter } from '@platen/adapters/redis/directory/seal-key-report.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import { ROTATE_KEY_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import { openWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import type { SealKey } from '@platen/lib/seal.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClocks } from '../../chaos/cluster/rig/clock.ts'
import { SILENT } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import { OPERATOR_NAMESPACE } from '../../topology/cluster/kube.ts'
import { anApiKey, annotated, aPlan, aTemplate, aTenant, inNamespace, PLAN } from '../rig/resource.ts'
import { type Rig, startRig, TEAM } from '../rig/rig.ts'
import { readSecret } from '../rig/secret.ts'

let rig: Rig
let folder: string
let clocks: Awaited<ReturnType<typeof openClocks>>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platen-clocks-'))
  clocks = await openClocks(folder)
  await writeSealKeys(FIRST_KEY)
  const settings = { PLATEN_LOG_LEVEL: 'debug', PLATEN_SEAL_KEY: '', PLATEN_SEAL_KEY_FILE: join(folder, 'seal-key') }
  rig = await startRig({ cluster: { settings, settingsOf: () => clocks.settingsOf('operator') } })
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }), aTenant('acme'), aTemplate('invoice', 'acme'))
  await rig.says('tenant/acme', { Ready: 'InForce' })
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const FIRST_KEY = randomBytes(32)

/** Replaces the seal keys of the operator, as the kubelet does. */
async function writeSealKeys(...keys: readonly SealKey[]): Promise<void> {
  await writeFile(join(folder, 'next'), keys.map((key) => Buffer.from(key).toString('base64')).join(','))
  await rename(join(folder, 'next'), join(folder, 'seal-key'))
}

/** The secrets of a tenant that this key sealed, and how many others there are. */
function openedWith(key: SealKey, name: string) {
  const { account = '', webhookSecrets = [] } = rig.published(name).tenant ?? {}
  const opened = webhookSecrets.flatMap(({ sealed }) => openWebhookSecret(sealed, { account, keys: [key] }) ?? [])
  return { opened, others: webhookSecrets.length - opened.length }
}

/** Every raw value that was ever seen in a Secret. */
const raw = new Set<string>()

async function secretIn(namespace: string, name: string): Promise<Readonly<Record<string, string>>> {
  const data = await readSecret(rig.kube, { namespace, name })
  for (const name of ['key', 'secret', 'previousSecret']) if (data[name] !== undefined) raw.add(data[name])
  return data
}

const hashesOf = (tenant: string) => rig.published(tenant).keys.map(({ hash }) => hash)

test('Secrets are read where that is granted, which a condition says how to do, and no key is lost where it is no more', async () => {
  const team = 'team-late'
  const place = `--namespace=${team}`
  await rig.kubectl('create', 'namespace', team)
  await rig.kubectl('create', 'secret', 'generic', 'hook', place, `--from-literal=secret=${'s'.repeat(32)}`)
  const webhookSecretRef = { namespace: team, name: 'hook', key: 'secret' }
  const key = inNamespace(anApiKey('late', 'late'), team)
  await rig.apply(aTenant('late', { namespaces: [team], webhookSecretRef }), key)
  const refused = [
    await rig.says('tenant/late', { Ready: 'SecretsNotGranted' }),
    await rig.says('apikey/late', { Ready: 'SecretsNotGranted' }, team),
  ]
  expect(hashesOf('late')).toEqual([])
  const commands = refused.map(({ Ready }) => /: kubectl ([^;]+)/.exec(Ready ?? '')?.[1])
  expect(commands[0]).toBe(commands[1])
  await rig.kubectl(...(commands[0] ?? '').split(' '))
  await rig.says('tenant/late', { Ready: 'InForce' })
  await rig.says('apikey/late', { Ready: 'InForce' }, team)
  const { key: made = '' } = await secretIn(team, 'late-key')
  expect(hashesOf('late')).toEqual([hashOfKey(made)])

  await rig.kubectl('delete', 'rolebinding', 'platen-operator-secrets', place)
  await rig.apply(annotated(key, { [ROTATE_KEY_ANNOTATION]: '2026-11-21T12:00:00Z' }))
  await rig.says('apikey/late', { Ready: 'SecretsNotGranted' }, team)
  expect(hashesOf('late')).toEqual([hashOfKey(made)])
})
const rotate = (name: string, at: string) =>
  rig.kubectl('annotate', 'apikey', name, `--namespace=${TEAM}`, '--overwrite', `platen.dev/rotate=${at}`)
const isServed = (name: string, at: string) =>
  poll(() => rig.get('apikey', name)).until(({ status }) => status?.['rotation'] === at)

test('a key is made into its Secret, and known by its hash everywhere else', async () => {
  await rig.apply(anApiKey('made', 'acme', { environment: 'Test' }))
  await rig.says('apikey/made', { Ready: 'InForce' })
  const { key = '', keyId, sha256, tenant } = await secretIn(TEAM, 'made-key')
  expect(key).toMatch(/^service_test_[0-9A-Za-z]{33,128}$/)
  expect({ sha256, keyId, tenant }).toEqual({
    sha256: hashOfKey(key),
    keyId: hashOfKey(key).slice(0, 12),
    tenant: 'acme',
  })
  await rig.publishes('acme', () => hashesOf('acme').includes(hashOfKey(key)))
  const { status } = await rig.get('apikey', 'made')
  expect(status).toMatchObject({ keyId, sha256 })
  expect(key.startsWith(String(status?.['prefix']))).toBe(true)
})

test('a rotation without an overlap ends the key before it at once', async () => {
  await rig.apply(anApiKey('brisk', 'acme', { overlapHours: 0 }))
  await rig.says('apikey/brisk', { Ready: 'InForce' })
  const { key: first = '' } = await secretIn(TEAM, 'brisk-key')
  await rotate('brisk', '2026-01-01T00:00:00Z')
  const { status } = await isServed('brisk', '2026-01-01T00:00:00Z')
  expect(status).not.toHaveProperty('previous')
  const { key: second = '', previousSha256 } = await secretIn(TEAM, 'brisk-key')
  expect([second === first, previousSha256]).toEqual([false, undefined])
  await rig.publishes('acme', () => hashesOf('acme').includes(hashOfKey(second)))
  expect(hashesOf('acme')).not.toContain(hashOfKey(first))
  // What was served is not served again.
  await rig.cluster.stop()
  await rig.cluster.start()
  await rig.rested()
  expect((await secretIn(TEAM, 'brisk-key'))['key']).toBe(second)
})

test('a key that was rotated lives on for its overlap, and no longer', async ({ skip }) => {
  const { shift } = clocks
  if (shift === undefined) return skip('libfaketime is not installed')
  await rig.apply(anApiKey('gentle', 'acme', { overlapHours: 1 }))
  await rig.says('apikey/gentle', { Ready: 'InForce' })
  const { key: first = '' } = await secretIn(TEAM, 'gentle-key')
  await rotate('gentle', '2026-01-01T00:00:00Z')
  const { status } = await isServed('gentle', '2026-01-01T00:00:00Z')
  expect(status).toMatchObject({ previous: { sha256: hashOfKey(first) } })
  const { key: second = '', previousSha256 } = await secretIn(TEAM, 'gentle-key')
  expect(previousSha256).toBe(hashOfKey(first))
  const both = await rig.publishes('acme', () => hashesOf('acme').includes(hashOfKey(second)))
  // The API ends it to the second, whatever becomes of the operator.
  const last = both.keys.find(({ hash }) => hash === hashOfKey(first))
  expect(new Date(last?.expiresAt ?? 0).toISOString()).toBe(Object(status?.['previous']).until)
  await shift('operator', 3700)
  // What waits for a time asks the clock when something happens.
  await rig.apply(anApiKey('gentle', 'acme', { overlapHours: 1, description: 'an hour later' }))
  await rig.publishes('acme', () => !hashesOf('acme').includes(hashOfKey(first)))
  expect(hashesOf('acme')).toContain(hashOfKey(second))
  await poll(() => secretIn(TEAM, 'gentle-key')).until((data) => data['previousSha256'] === undefined)
  // It is written last.
  await poll(() => rig.get('apikey', 'gentle')).until(({ status }) => status?.['previous'] === undefined)
})

test('a webhook secret is made, sealed, and rotated', async () => {
  const { webhookSecrets: before = [] } = rig.published('acme').tenant ?? {}
  const { secret: first } = await secretIn(OPERATOR_NAMESPACE, 'acme-webhook')
  expect([before.length, typeof first]).toEqual([1, 'string'])
  const at = '2026-02-02T00:00:00Z'
  await rig.kubectl('annotate', 'tenant', 'acme', `platen.dev/rotate-webhook-secret=${at}`)
  await poll(() => rig.get('tenant', 'acme')).until(({ status }) => status?.['rotation'] === at)
  const { secret: second, previousSecret } = await secretIn(OPERATOR_NAMESPACE, 'acme-webhook')
  expect([second === first, previousSecret === first]).toEqual([false, true])
  const { tenant } = await rig.publishes('acme', (published) => published.tenant?.webhookSecrets?.length === 2)
  expect(tenant?.webhookSecrets?.map(({ until }) => typeof until)).toEqual(
    expect.arrayContaining(['number', 'undefined']),
  )
})

test('a change of the seal key seals every published secret again, and rotates none', async () => {
  await rig.apply(aTenant('sealed'))
  await rig.says('tenant/sealed', { Ready: 'InForce' })
  const { secret } = await secretIn(OPERATOR_NAMESPACE, 'sealed-webhook')
  expect(openedWith(FIRST_KEY, 'sealed')).toEqual({ opened: [secret], others: 0 })
  const next = randomBytes(32)
  // Each tenant is published by itself. What is not sealed again when the old key is taken away, nobody can open any more.
  const areSealedBy = async (key: SealKey) => {
    for (const name of ['sealed', 'acme'])
      await poll(() => openedWith(key, name)).until(({ opened, others }) => opened.length > 0 && others === 0)
  }
  await writeSealKeys(next, FIRST_KEY)
  await areSealedBy(next)
  expect(openedWith(next, 'sealed').opened).toEqual([secret])
  await writeSealKeys(FIRST_KEY, next)
  await areSealedBy(FIRST_KEY)
  await writeSealKeys(FIRST_KEY)
})

test('a tenant says so while an events process cannot open its webhook secret', async () => {
  const clock = systemClock()
  const begin = (...sealKeys: readonly [SealKey, ...SealKey[]]) =>
    openSealKeyReporter({ redis: rig.redis, clock, log: SILENT, reader: 'events-0', sealKeys: () => sealKeys })
  {
    await using _ = begin(randomBytes(32))
    const { Ready, Published } = await rig.says('tenant/acme', { Ready: 'SecretUnreadable', Propagated: 'Propagated' })
    expect(Ready).toContain('an events process has no key of PLATEN_SEAL_KEY that opens the webhook secret')
    expect(Published).toBe('')
    // It is said again, and nothing else, by the operator that leads next.
    await rig.cluster.stop()
    await rig.cluster.start()
    await rig.rested()
    await rig.says('tenant/acme', { Ready: 'SecretUnreadable' })
  }
  await using _ = begin(randomBytes(32), FIRST_KEY)
  await rig.says('tenant/acme', { Ready: 'InForce' })
})

test('a tenant whose secret is gone says whether the published one still signs', async () => {
  const webhookSecretRef = { namespace: TEAM, name: 'brought', key: 'secret' }
  await rig.kubectl(
    'create',
    'secret',
    'generic',
    'brought',
    `--namespace=${TEAM}`,
    `--from-literal=secret=${'b'.repeat(32)}`,
  )
  await rig.apply(aTenant('bereft', { webhookSecretRef }))
  await rig.says('tenant/bereft', { Ready: 'InForce' })
  await rig.kubectl('delete', 'secret', 'brought', `--namespace=${TEAM}`)
  const missing = await rig.says('tenant/bereft', { Ready: 'SecretMissing' })
  expect(missing['Ready']).toMatch(/there is no such Secret.*; the one published earlier stays in force until then$/)
  const other = randomBytes(32)
  await writeSealKeys(other)
  const unreadable = await rig.says('tenant/bereft', { Ready: 'SecretUnreadable', Published: 'Published' })
  expect(unreadable['Ready']).toMatch(
    /the one published earlier was sealed with no key of PLATEN_SEAL_KEY; webhooks wait/,
  )
  await writeSealKeys(FIRST_KEY)
  await rig.says('tenant/bereft', { Ready: 'SecretMissing' })
})

test('a Secret that somebody has edited is noticed and repaired', async () => {
  await rig.apply(anApiKey('edited', 'acme'))
  await rig.says('apikey/edited', { Ready: 'InForce' })
  const before = await secretIn(TEAM, 'edited-key')
  const edit = (data: object) =>
    rig.kubectl('patch', 'secret', 'edited-key', `--namespace=${TEAM}`, `--patch=${JSON.stringify(data)}`)
  await edit({ stringData: { tenant: 'globex', keyId: 'x' } })
  await poll(() => secretIn(TEAM, 'edited-key')).until(
    (data) => data['tenant'] === 'acme' && data['keyId'] === before['keyId'],
  )
  expect((await rig.rested()).sum('platen_operator_repairs_total', 'kind="secrets"')).toBeGreaterThan(0)
  const chosen = `service_live_${'c'.repeat(43)}`
  await edit({ stringData: { key: chosen } })
  const { Ready } = await rig.says('apikey/edited', { Ready: 'SecretMissing' })
  expect(Ready).toContain('Secret team-acme/edited-key has a key other than the generated one')
  expect(hashesOf('acme')).not.toContain(hashOfKey(chosen))
  expect(hashesOf('acme')).toContain(before['sha256'])
})

test('raw values are in their Secrets and nowhere else', async () => {
  for (const name of ['made-key', 'brisk-key', 'edited-key']) await secretIn(TEAM, name)
  await secretIn(OPERATOR_NAMESPACE, 'acme-webhook')
  expect(raw.size).toBeGreaterThanOrEqual(5)
  const kinds = 'plans,tenants,templates,apikeys,events,leases,configmaps'
  const places = {
    log: rig.cluster.log(),
    cluster: await rig.kubectl('get', kinds, '--all-namespaces', '--output=json', '--show-managed-fields'),
    redis: await dumpOfRedis(),
    s3: await dumpOfS3(),
  }
  // Each of them is checked, and reports what it should.
  expect(places.log).toContain('secret generated')
  expect(places.cluster).toContain('"sha256"')
  expect(places.redis).toContain('"webhookSecrets"')
  expect(places.s3).toContain('{{ number }}')
  for (const [place, text] of Object.entries(places)) {
    const found = [...raw].filter(
      (value) => text.includes(value) || text.includes(Buffer.from(value).toString('base64')),
    )
    expect({ place, found: found.length }).toEqual({ place, found: 0 })
  }
})

/** All that is kept, whatever its type. */
async function dumpOfRedis(): Promise<string> {
  return rig.redis.call(async (client) => {
    const keys = await client.keys('*')
    const values = await Promise.all(
      keys.map(async (key) => {
        switch (await client.type(key)) {
          case 'hash':
            return client.hgetall(key)
          case 'stream':
            return client.xrange(key, '-', '+')
          case 'zset':
            return client.zrange(key, '0', '-1')
          default:
            return client.get(key)
        }
      }),
    )
    return JSON.stringify([keys, values]).replaceAll('\\"', '"')
  }, AbortSignal.timeout(5000))
}

/** Its objects are files. */
async function dumpOfS3(): Promise<string> {
  const entries = await readdir(rig.cluster.s3.folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')))
  return texts.join('\n')
}
