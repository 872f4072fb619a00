/** How resources come to their end: what of them is in force goes first, and nothing of it comes back under the same name. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import { aConfigMap, anApiKey, aPlan, aTemplate, aTenant, PLAN } from '../rig/resource.ts'
import { type Published, type Rig, startRig, TEAM } from '../rig/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }))
})
afterAll(() => rig[Symbol.asyncDispose]())

const NOTHING = { tenant: undefined, keys: [], templates: [] }

/** A tenant with a template and a key, all of the same name and in force. */
async function inForce(name: string) {
  await rig.apply(aTenant(name), aTemplate(name, name), anApiKey(name, name))
  for (const kind of ['tenant', 'template', 'apikey']) await rig.says(`${kind}/${name}`, { Ready: 'InForce' })
  return rig.publishes(
    name,
    ({ tenant, keys, templates }) => tenant !== undefined && keys.length + templates.length === 2,
  )
}

/** Resolves when it is gone. */
const remove = (kind: string, name: string) => rig.kubectl('delete', kind, name, `--namespace=${TEAM}`, '--timeout=60s')
const isGone = (kind: string, name: string) =>
  rig.get(kind, name).then(
    () => false,
    () => true,
  )

test('tenants and keys are held until nothing of them is in force; plans and templates are not', async () => {
  await inForce('held')
  const finalizers = async (kind: string, name: string) => (await rig.get(kind, name)).metadata.finalizers
  expect(await finalizers('tenant', 'held')).toEqual(['platen.dev/revoke'])
  expect(await finalizers('apikey', 'held')).toEqual(['platen.dev/revoke'])
  expect(await finalizers('template', 'held')).toBeUndefined()
  expect(await finalizers('plan', PLAN)).toBeUndefined()
  await rig.cluster.stop()
  await rig.kubectl('delete', 'apikey', 'held', `--namespace=${TEAM}`, '--wait=false')
  expect(await isGone('apikey', 'held')).toBe(false)
  expect((await rig.stored('held')).keys).toHaveLength(1)
  await rig.cluster.start()
  await poll(() => isGone('apikey', 'held')).until((gone) => gone)
  expect((await rig.stored('held')).keys).toEqual([])
})

test.for([
  ['tenant', 'template', 'apikey'],
  ['apikey', 'template', 'tenant'],
  ['template', 'tenant', 'apikey'],
])('a tenant and what it has may be removed in the order %s, %s, %s', async ([first = '', second = '', third = '']) => {
  const name = `order-${first}`
  await inForce(name)
  for (const kind of [first, second, third]) {
    await remove(kind, name)
    const { tenant, keys, templates } = await rig.stored(name)
    if (kind === 'tenant') expect({ tenant, keys, templates }).toEqual(NOTHING)
    if (kind === 'apikey') expect(keys).toEqual([])
  }
  await rig.publishes(name, ({ tenant, keys, templates }) => !tenant && keys.length + templates.length === 0)
})

test('what is left of a tenant that is gone says so', async () => {
  await inForce('leaver')
  await remove('tenant', 'leaver')
  await rig.says('template/leaver', { Ready: 'TenantNotFound' })
  const { Ready } = await rig.says('apikey/leaver', { Ready: 'TenantNotFound' })
  expect(Ready).toBe('there is no Tenant leaver that lists team-acme in spec.namespaces')
})

test('what is removed while no operator runs is out of force when one does', async () => {
  await inForce('absent')
  await rig.cluster.kill()
  await rig.kubectl('delete', 'template', 'absent', `--namespace=${TEAM}`)
  await rig.kubectl('delete', 'tenant', 'absent', '--wait=false')
  await rig.kubectl('delete', 'apikey', 'absent', `--namespace=${TEAM}`, '--wait=false')
  await rig.cluster.start()
  for (const kind of ['tenant', 'apikey']) await poll(() => isGone(kind, 'absent')).until((gone) => gone)
  expect(await rig.stored('absent')).toEqual(NOTHING)
})

test('a resource that has the name of one before it has nothing of it', async () => {
  const before = await inForce('phoenix')
  const sealed = before.tenant?.webhookSecrets?.[0]?.sealed
  const { uid } = (await rig.get('tenant', 'phoenix')).metadata
  // Their Secrets stay, as nobody removes here what has lost its owner.
  for (const kind of ['apikey', 'template', 'tenant']) await remove(kind, 'phoenix')
  await rig.publishes('phoenix', ({ tenant }) => tenant === undefined)
  const after = await inForce('phoenix')
  expect(after.tenant?.account).not.toBe(uid)
  expect(after.keys[0]?.hash).not.toBe(before.keys[0]?.hash)
  const { tenant } = await rig.publishes('phoenix', (published) => published.tenant?.webhookSecrets?.length === 1)
  expect(tenant?.webhookSecrets?.[0]?.sealed).not.toBe(sealed)
})

test('a resource that was replaced while no operator runs has nothing of the one before it', async () => {
  const before = await inForce('twin')
  await rig.cluster.stop()
  await rig.kubectl('delete', 'apikey', 'twin', `--namespace=${TEAM}`, '--wait=false')
  // As whoever forces it does.
  await rig.kubectl(
    'patch',
    'apikey',
    'twin',
    `--namespace=${TEAM}`,
    '--type=merge',
    '--patch={"metadata":{"finalizers":[]}}',
  )
  await rig.apply(anApiKey('twin', 'twin'))
  await rig.cluster.start()
  await rig.says('apikey/twin', { Ready: 'InForce' })
  const { keys } = await rig.publishes('twin', (published) => published.keys[0]?.hash !== before.keys[0]?.hash)
  expect(keys).toHaveLength(1)
})

test('a template that is applied again while no operator runs stays in force until it is checked', async () => {
  const name = 'again'
  const source = (from: string) => ({ html: { template: { configMapKeyRef: { name: from, key: 'page.html' } } } })
  await rig.apply(aTenant(name), aConfigMap('again', { 'page.html': '<p>before</p>' }))
  await rig.apply(aTemplate(name, name, source('again')))
  await rig.says(`template/${name}`, { Ready: 'InForce' })
  const { templates: before } = await rig.publishes(name, ({ templates }) => templates.length > 0)
  await rig.cluster.kill()
  await remove('template', name)
  await rig.apply(aTemplate(name, name, source('later')))
  await rig.cluster.start()
  await rig.says(`template/${name}`, { Ready: 'ConfigMapNotFound' })
  expect((await rig.stored(name)).templates).toEqual(before)
  await rig.apply(aConfigMap('later', { 'page.html': '<p>after</p>' }))
  await rig.says(`template/${name}`, { Ready: 'InForce' })
  const isNew = ({ templates }: Published) => templates[0] !== undefined && templates[0].digest !== before[0]?.digest
  expect((await rig.publishes(name, isNew)).templates).toHaveLength(1)
})
