/** What deployment tools make of resources in every state that they come to be in, on a real Kubernetes API. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { healthOf } from '../../health/health.ts'
import { poll } from '../../time/poll.ts'
import { type Applied, anApiKey, anErasure, aPlan, aTemplate, aTenant, PLAN } from '../rig/resource.ts'
import { type Reasons, type Rig, startRig } from '../rig/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }), aTenant('acme'))
  await rig.says('tenant/acme', EVERYWHERE)
})
afterAll(() => rig[Symbol.asyncDispose]())

const EVERYWHERE: Reasons = { Ready: 'InForce', Propagated: 'Propagated' }
const HASH = `sha256:${'a'.repeat(64)}`
const CONTRARY = { htmlEngineEnabled: true, renderLimitMonthly: 3, htmlEngineRenderMultiplier: 5 }
const MISSING = { html: { template: { configMapKeyRef: { name: 'absent', key: 'a.html' } } } }
const BROKEN = { html: { template: { inline: '{% if %}' } } }

const placeOf = ({ kind, metadata }: Applied) => `${kind.toLowerCase()}/${metadata.name}`
const foundAt = (resource: Applied) => rig.get(resource.kind.toLowerCase(), resource.metadata.name)

/** What each tool says of these resources, as they are now. */
async function verdictsOn(...resources: readonly Applied[]): Promise<readonly string[]> {
  const verdicts = await healthOf(await Promise.all(resources.map(foundAt)))
  return verdicts.map(({ kstatus, argoCd }, at) => {
    const place = resources[at] && placeOf(resources[at])
    return `${place}: ${kstatus.status}${argoCd ? `, ${argoCd.status}` : ''}`
  })
}

/** The messages for people, which are the same in both tools. */
async function messages(...resources: readonly Applied[]): Promise<readonly string[]> {
  const verdicts = await healthOf(await Promise.all(resources.map(foundAt)))
  return verdicts.map(({ kstatus, argoCd }) => {
    expect(argoCd?.message).toBe(kstatus.message)
    return kstatus.message
  })
}

test('what is in force is current, also if it is suspended', async () => {
  const resources = [
    aPlan('unused'),
    aTenant('suspended', { suspend: true }),
    aTemplate('good', 'acme'),
    anApiKey('made', 'acme'),
    anApiKey('off', 'acme', { suspend: true }),
  ]
  await rig.apply(...resources)
  for (const resource of resources) await rig.says(placeOf(resource), EVERYWHERE)
  expect(await verdictsOn(...resources)).toEqual(resources.map((resource) => `${placeOf(resource)}: Current, Healthy`))
})

test('what waits for something else is in progress, and says for what', async () => {
  const waiting = [
    { resource: aTenant('early', { planRef: { name: 'late' } }), reason: 'PlanNotFound' },
    { resource: aTemplate('sourceless', 'acme', MISSING), reason: 'ConfigMapNotFound' },
    { resource: anApiKey('stray', 'nobody'), reason: 'TenantNotFound' },
  ] as const
  const resources = waiting.map(({ resource }) => resource)
  await rig.apply(...resources)
  for (const { resource, reason } of waiting) await rig.says(placeOf(resource), { Ready: reason, Reconciling: reason })
  expect(await verdictsOn(...resources)).toEqual(
    resources.map((resource) => `${placeOf(resource)}: InProgress, Progressing`),
  )
  expect((await messages(...resources))[0]).toBe('there is no Plan late')
})

test('what must be changed itself has failed, and says why', async () => {
  const taken = anApiKey('first', 'acme', { sha256: HASH })
  await rig.apply(taken, aTenant('owner', { storage: { prefix: 'pdf/' } }))
  for (const place of ['apikey/first', 'tenant/owner']) await rig.says(place, EVERYWHERE)
  const refused = [
    { resource: aPlan('contrary', CONTRARY), reason: 'InvalidLimits' },
    { resource: aTenant('squatter', { storage: { prefix: 'pdf/mine/' } }), reason: 'PrefixTaken' },
    { resource: aTemplate('broken', 'acme', BROKEN), reason: 'CompileError' },
    { resource: anApiKey('second', 'acme', { sha256: HASH }), reason: 'KeyTaken' },
  ] as const
  const resources = refused.map(({ resource }) => resource)
  await rig.apply(...resources)
  for (const { resource, reason } of refused) await rig.says(placeOf(resource), { Ready: reason, Stalled: reason })
  expect(await verdictsOn(...resources)).toEqual(resources.map((resource) => `${placeOf(resource)}: Failed, Degraded`))
  expect((await messages(...resources))[1]).toBe('storage.prefix overlaps that of Tenant owner')
})

test('what is in force without a part of it has failed, and is current as soon as nothing is missing', async () => {
  const [before, after] = [aPlan('narrow', { htmlEngineEnabled: false }), aPlan('narrow', { htmlEngineEnabled: true })]
  const template = aTemplate('rich', 'poor')
  await rig.apply(before, aTenant('poor', { planRef: { name: 'narrow' } }), template)
  await rig.says('template/rich', { Ready: 'EngineNotInPlan', Stalled: 'EngineNotInPlan', Propagated: 'Propagated' })
  expect(await verdictsOn(template)).toEqual(['template/rich: Failed, Degraded'])
  await rig.apply(after)
  await rig.says('template/rich', EVERYWHERE)
  expect(await verdictsOn(template)).toEqual(['template/rich: Current, Healthy'])
})

test('an Erasure is in progress until it is worked off, and is never taken for failed', async () => {
  const finalizers = ['example.test/hold']
  const stray = anErasure('stray', 'nobody', { allRenders: true })
  const resources = [anErasure('ordered', 'acme', { allRenders: true }), stray]
  await rig.apply(...resources.map((each) => ({ ...each, metadata: { ...each.metadata, finalizers } })))
  await isSeen(...resources)
  expect(await verdictsOn(...resources)).toEqual(
    resources.map((resource) => `${placeOf(resource)}: InProgress, Progressing`),
  )
  expect(await messages(...resources)).toEqual([
    'no events process has completed a round yet',
    'there is no Tenant nobody that lists team-acme in spec.namespaces',
  ])
  await onTeam(stray, 'delete', '--wait=false')
  expect(await verdictsOn(stray)).toEqual(['erasure/stray: Terminating'])
  for (const resource of resources)
    await onTeam(resource, 'patch', '--type=merge', '--patch={"metadata":{"finalizers":null}}')
})

test('what is being deleted is terminating, whatever it was', async () => {
  const finalizers = ['example.test/hold']
  const resources = [aPlan('going'), aTenant('going'), aTemplate('going', 'acme'), anApiKey('going', 'acme')]
  await rig.apply(...resources.map((each) => ({ ...each, metadata: { ...each.metadata, finalizers } })))
  for (const resource of resources) await rig.says(placeOf(resource), EVERYWHERE)
  for (const resource of resources) await onTeam(resource, 'delete', '--wait=false')
  expect(await verdictsOn(...resources)).toEqual(resources.map((resource) => `${placeOf(resource)}: Terminating`))
  const patch = '--patch={"metadata":{"finalizers":null}}'
  for (const resource of resources) await onTeam(resource, 'patch', '--type=merge', patch)
})

test('what the operator has not seen is in progress: new resources, and new generations', async () => {
  const known = [aPlan('known'), aTenant('known'), aTemplate('known', 'acme'), anApiKey('known', 'acme')]
  await rig.apply(...known)
  for (const resource of known) await rig.says(placeOf(resource), EVERYWHERE)
  await rig.cluster.stop()
  const unseen = [aPlan('unseen'), aTenant('unseen'), aTemplate('unseen', 'acme'), anApiKey('unseen', 'acme')]
  const changed = [
    aPlan('known', { retentionDays: 2 }),
    aTenant('known', { suspend: true }),
    aTemplate('known', 'acme', { version: 2 }),
    anApiKey('known', 'acme', { description: 'changed' }),
  ]
  const all = [...unseen, ...changed]
  const erasure = anErasure('unseen', 'acme', { allRenders: true })
  await rig.apply(...all, erasure)
  expect(await verdictsOn(...all, erasure)).toEqual(
    [...all, erasure].map((resource) => `${placeOf(resource)}: InProgress, Progressing`),
  )
  await rig.cluster.start()
  await isSeen(erasure)
  for (const resource of all) await rig.says(placeOf(resource), EVERYWHERE)
  expect(await verdictsOn(...all)).toEqual(all.map((resource) => `${placeOf(resource)}: Current, Healthy`))
})

/** Waits until the operator has seen these Erasures. No events process carries them out here. */
async function isSeen(...erasures: readonly Applied[]): Promise<void> {
  for (const erasure of erasures)
    await poll(() => foundAt(erasure)).until(({ status }) => status?.conditions !== undefined)
}

function onTeam(resource: Applied, verb: string, ...flags: readonly string[]): Promise<string> {
  const { namespace } = resource.metadata
  return rig.kubectl(
    verb,
    placeOf(resource),
    ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ...flags,
  )
}
