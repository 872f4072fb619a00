/** What the statuses of ApiKeys say of whatever stands in their way, and which keys open the door meanwhile. */
import { isDeepStrictEqual } from 'node:util'
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { anApiKey, aPlan, aTenant, inNamespace, PLAN } from '../rig/resource.ts'
import { countsOf, OTHERS, type Published, type Rig, startRig, TEAM } from '../rig/rig.ts'

let rig: Rig
let neighbour: Published
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(aPlan(PLAN), aTenant('neighbour'), anApiKey('neighbour', 'neighbour'))
  neighbour = await rig.publishes(
    'neighbour',
    ({ tenant, keys }) => tenant?.webhookSecrets?.length === 1 && keys.length > 0,
  )
})
afterEach(() => expect(rig.published('neighbour')).toEqual(neighbour))
afterAll(() => rig[Symbol.asyncDispose]())

const DAY_MS = 24 * 3_600_000

const hashesOf = (tenant: string) => rig.published(tenant).keys.map(({ hash }) => hash)
const brought = (letter: string) => ({ sha256: `sha256:${hashOfKey(`service_live_${letter.repeat(43)}`)}` })

test('tenant and key have to agree, and a key that its tenant does not list opens nothing', async () => {
  await rig.apply(aTenant('gate'), inNamespace(anApiKey('gate', 'gate'), OTHERS), anApiKey('nobody', 'nobody'))
  const stranger = await rig.says('apikey/gate', { Ready: 'TenantNotFound' }, OTHERS)
  expect(stranger['Accepted']).toBe('there is no Tenant gate that lists team-globex in spec.namespaces')
  await rig.says('apikey/nobody', { Ready: 'TenantNotFound', Accepted: 'TenantNotFound' })
  expect(hashesOf('gate')).toEqual([])
  await rig.apply(aTenant('gate', { namespaces: [OTHERS] }))
  await rig.says('apikey/gate', { Ready: 'InForce', Accepted: 'Accepted' }, OTHERS)
  await rig.publishes('gate', () => hashesOf('gate').length === 1)
  await rig.apply(aTenant('gate', { namespaces: [] }))
  await rig.publishes('gate', () => hashesOf('gate').length === 0)
})

test('of two keys of one hash the older is valid, and the other learns nothing of it', async () => {
  await rig.apply(aTenant('honest'), aTenant('thief', { namespaces: [OTHERS] }))
  await rig.apply(anApiKey('treasure', 'honest', brought('H')))
  await rig.says('apikey/treasure', { Ready: 'InForce', Accepted: 'Accepted' })
  await rig.apply(inNamespace(anApiKey('loot', 'thief', brought('H')), OTHERS))
  const { Accepted, Ready } = await rig.says('apikey/loot', { Ready: 'KeyTaken', Accepted: 'KeyTaken' }, OTHERS)
  expect(Accepted).toBe('an older ApiKey has the key of ApiKey team-globex/loot: bring or generate another')
  expect(Ready).toBe(Accepted)
  expect(JSON.stringify(await rig.get('apikey', 'loot', OTHERS))).not.toMatch(/treasure|honest|team-acme/)
  expect([hashesOf('honest').length, hashesOf('thief').length]).toEqual([1, 0])
  await rig.kubectl('delete', 'apikey', 'treasure', `--namespace=${TEAM}`)
  await rig.says('apikey/loot', { Ready: 'InForce', Accepted: 'Accepted' }, OTHERS)
  await rig.publishes('thief', () => hashesOf('thief').length === 1)
})

test('of more keys than a tenant may have the oldest open the door, and the next one when one of them goes', async () => {
  // Of the same second by their names, as they are made in this order.
  const names = ['full-1', 'full-2', 'full-3', 'full-4']
  const hashOf = async (name: string) => (await rig.get('apikey', name)).status?.['sha256']
  await rig.apply(aTenant('full', { overrides: { apiKeysMax: 2 } }), ...names.map((name) => anApiKey(name, 'full')))
  const reasons = { Ready: 'TooManyApiKeys', Accepted: 'TooManyApiKeys' } as const
  const { Ready } = await rig.says('apikey/full-3', reasons)
  expect(Ready).toBe('Tenant full has 2 older ApiKeys, as many as apiKeysMax allows: remove one of them')
  await rig.says('apikey/full-4', reasons)
  for (const name of ['full-1', 'full-2']) await rig.says(`apikey/${name}`, { Ready: 'InForce' })
  const publishes = async (...of: readonly string[]) => {
    const expected = new Set<unknown>(await Promise.all(of.map(hashOf)))
    await rig.publishes('full', () => isDeepStrictEqual(new Set<unknown>(hashesOf('full')), expected))
  }
  await publishes('full-1', 'full-2')
  await rig.kubectl('delete', 'apikey', 'full-1', `--namespace=${TEAM}`)
  await rig.says('apikey/full-3', { Ready: 'InForce', Accepted: 'Accepted' })
  await publishes('full-2', 'full-3')
  await rig.apply(aTenant('full', { overrides: { apiKeysMax: 3 } }))
  await rig.says('apikey/full-4', { Ready: 'InForce', Accepted: 'Accepted' })
  await publishes('full-2', 'full-3', 'full-4')
})

test('a key that is given by its hash is valid, and ends as it says', async () => {
  const expiresAt = '2027-01-31T23:59:59Z'
  await rig.apply(aTenant('bringer'), anApiKey('own', 'bringer', { ...brought('B'), expiresAt }))
  await rig.says('apikey/own', { Ready: 'InForce', Accepted: 'Accepted', Published: 'Published' })
  const hash = hashOfKey(`service_live_${'B'.repeat(43)}`)
  const { status } = await rig.get('apikey', 'own')
  expect(status).toMatchObject({ keyId: hash.slice(0, 12), expiresAt })
  const [key] = (await rig.publishes('bringer', ({ keys }) => keys.length === 1)).keys
  expect(key).toMatchObject({ hash, environment: 'live', suspended: false, expiresAt: Date.parse(expiresAt) })
  await rig.apply(anApiKey('own', 'bringer', { ...brought('B'), suspend: true }))
  await rig.publishes('bringer', ({ keys }) => keys.some((each) => each.suspended && each.expiresAt === undefined))
  await rig.says('apikey/own', { Ready: 'InForce' })
  expect((await rig.get('apikey', 'own')).status).not.toHaveProperty('expiresAt')
})

test('the number of keys that expire soon follows their resources', async () => {
  const leader = await rig.leader()
  const expiring = async () => (await countsOf(leader))?.sum('platen_api_keys_expiring')
  expect(await expiring()).toBe(0)
  const expiresAt = new Date(Date.now() + DAY_MS).toISOString()
  await rig.apply(aTenant('ending'), anApiKey('ending', 'ending', { ...brought('E'), expiresAt }))
  await rig.publishes('ending', ({ keys }) => keys.length === 1)
  expect(await expiring()).toBe(1)
  await rig.apply(anApiKey('ending', 'ending', brought('E')))
  await rig.publishes('ending', ({ keys }) => keys.some((each) => each.expiresAt === undefined))
  expect(await expiring()).toBe(0)
})

test("somebody else's Secret is not touched", async () => {
  const own = ['create', 'secret', 'generic', 'password', `--namespace=${TEAM}`, '--from-literal=password=sesame']
  await rig.kubectl(...own)
  await rig.apply(aTenant('polite'), anApiKey('polite', 'polite', { secretName: 'password' }))
  const { Ready } = await rig.says('apikey/polite', { Ready: 'SecretTaken' })
  expect(Ready).toContain('Secret team-acme/password does not belong to ApiKey team-acme/polite: remove it')
  expect(hashesOf('polite')).toEqual([])
  await rig.kubectl('delete', 'secret', 'password', `--namespace=${TEAM}`)
  // The audit finds it out.
  await rig.says('apikey/polite', { Ready: 'InForce' })
  await rig.publishes('polite', () => hashesOf('polite').length === 1)
})

test('a Secret that is gone revokes nothing, and is created again when somebody asks for it', async () => {
  await rig.apply(aTenant('careless'), anApiKey('careless', 'careless', { overlapHours: 0 }))
  await rig.says('apikey/careless', { Ready: 'InForce' })
  const before = (await rig.publishes('careless', () => hashesOf('careless').length === 1)).keys
  await rig.kubectl('delete', 'secret', 'careless-key', `--namespace=${TEAM}`)
  const { Ready } = await rig.says('apikey/careless', { Ready: 'SecretMissing', Published: 'Published' })
  expect(Ready).toContain('Secret team-acme/careless-key is gone: restore it, or request a new key with the annotation')
  expect(rig.published('careless').keys).toEqual(before)
  await rig.cluster.stop()
  await rig.cluster.start()
  await rig.says('apikey/careless', { Ready: 'SecretMissing' })
  expect((await rig.stored('careless')).keys).toEqual(before)
  await rig.kubectl('annotate', 'apikey', 'careless', `--namespace=${TEAM}`, 'platen.dev/rotate=2026-01-01T00:00:00Z')
  await rig.says('apikey/careless', { Ready: 'InForce' })
  await rig.publishes('careless', ({ keys }) => keys.length === 1 && keys[0]?.hash !== before[0]?.hash)
})

test("a tenant's webhook secret that is referred to has to be there", async () => {
  const webhookSecretRef = { namespace: TEAM, name: 'hook', key: 'secret' }
  await rig.apply(aTenant('caller', { webhookSecretRef }))
  const { Ready } = await rig.says('tenant/caller', { Ready: 'SecretMissing', Published: 'Published' })
  expect(Ready).toMatch(/team-acme\/hook.*; webhooks wait until then$/)
  expect(rig.published('caller').tenant).not.toHaveProperty('webhookSecrets')
  const create = ['create', 'secret', 'generic', 'hook', `--namespace=${TEAM}`]
  await rig.kubectl(...create, '--from-literal=secret=a-webhook-secret-that-was-brought')
  await rig.says('tenant/caller', { Ready: 'InForce' })
  await rig.publishes('caller', ({ tenant }) => tenant?.webhookSecrets?.length === 1)
})
