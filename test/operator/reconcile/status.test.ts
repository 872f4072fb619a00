/** What an operator makes of resources as people apply them; when a status is written, and when it is left alone. */
import { isDeepStrictEqual } from 'node:util'
import { API_VERSION } from '@platen/operator/reconcile/resource-view.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import { anApiKey, annotated, aPlan, aTemplate, aTenant, PLAN } from '../rig/resource.ts'
import { type Found, type Rig, startRig, TEAM } from '../rig/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig[Symbol.asyncDispose]())

const PLACES = [`plan/${PLAN}`, 'tenant/quiet', 'template/quiet', 'apikey/quiet']
const foundAt = (place: string) => {
  const [kind = '', name = ''] = place.split('/')
  return rig.get(kind, name)
}
const versions = async () => Promise.all(PLACES.map(async (place) => (await foundAt(place)).metadata.resourceVersion))

/** Of one resource, the oldest first. */
async function eventsOf(place: string): Promise<readonly string[]> {
  const { uid } = (await foundAt(place)).metadata
  const { body } = await rig.kube.request({ path: `/api/v1/events?fieldSelector=involvedObject.uid%3D${uid}` })
  // A list of events.
  const items = body['items'] as { type: string; reason: string; metadata: { resourceVersion: string } }[]
  const sorted = items.toSorted(
    (one, other) => Number(one.metadata.resourceVersion) - Number(other.metadata.resourceVersion),
  )
  return sorted.map(({ type, reason }) => `${type} ${reason}`)
}

test('a tenant with a template and a key is published, and says so', async () => {
  const items = [
    { apiVersion: API_VERSION, kind: 'Plan', metadata: { name: 'business' }, spec: { htmlEngineEnabled: true } },
    {
      apiVersion: API_VERSION,
      kind: 'Tenant',
      metadata: { name: 'acme' },
      spec: { planRef: { name: 'business' }, namespaces: [TEAM], overrides: { syncRateLimitPerMinute: 120 } },
    },
    {
      apiVersion: API_VERSION,
      kind: 'ApiKey',
      metadata: { name: 'ci', namespace: TEAM },
      spec: { tenantRef: { name: 'acme' }, environment: 'Test', secretName: 'ci-key' },
    },
    {
      apiVersion: API_VERSION,
      kind: 'Template',
      metadata: { name: 'invoice', namespace: TEAM },
      spec: {
        tenantRef: { name: 'acme' },
        engine: 'Html',
        html: { template: { inline: '<h1>Invoice {{ number }}</h1>' } },
      },
    },
  ]
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  expect(await rig.kube.kubectl(['apply', '--filename=-'], { stdin })).toMatchObject({ code: 0 })
  for (const place of ['plan/business', 'tenant/acme', 'apikey/ci', 'template/invoice'])
    await rig.kubectl('wait', '--for=condition=Propagated', place, `--namespace=${TEAM}`, '--timeout=60s')
  const { tenants, keys, templates } = rig.directory()
  expect([...tenants.values()]).toMatchObject([{ id: 'acme', limits: { syncRateLimitPerMinute: 120 } }])
  expect([...keys.values()]).toMatchObject([{ tenant: 'acme', environment: 'test' }])
  expect([...templates].map(([tenant, codes]) => [tenant, [...codes.keys()]])).toEqual([['acme', ['invoice']]])
  const { status } = await rig.get('apikey', 'ci')
  expect(status).toMatchObject({ sha256: [...keys.keys()][0], observedGeneration: 1 })
})

test('nothing is written where nothing has changed', async () => {
  const tenant = aTenant('quiet', { displayName: 'Quiet Ltd' })
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }), tenant)
  await rig.apply(aTemplate('quiet', 'quiet'), anApiKey('quiet', 'quiet'))
  for (const place of PLACES) await rig.says(place, { Ready: 'InForce', Propagated: 'Propagated' })
  await poll(() => foundAt('tenant/quiet')).until(
    ({ status }) => status?.['templates'] === 1 && status['apiKeys'] === 1,
  )
  await poll(() => foundAt(`plan/${PLAN}`)).until(({ status }) => status?.['tenants'] === 1)
  const before = await versions()
  const hasWrittenNothing = async () => {
    const { sum } = await rig.rested()
    expect(sum('rest_client_requests_total', 'method="PATCH"')).toBe(0)
    // What is in force is known when the reconciles begin, so none waits for it.
    expect(sum('controller_runtime_reconcile_total', 'result="requeue_after"')).toBe(0)
    expect(await versions()).toEqual(before)
  }
  await rig.rested()
  await rig.cluster.stop()
  await rig.cluster.start()
  await hasWrittenNothing()
  await rig.cluster.kill()
  await rig.cluster.start()
  await hasWrittenNothing()
})

test('what others write to a resource does not concern it, except for its status', async () => {
  const place = 'tenant/visited'
  await rig.apply(aTenant('visited'))
  await rig.says(place, { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.rested()
  const [before, { sum: counted }] = [await foundAt(place), await rig.rested()]
  const patches = counted('rest_client_requests_total', 'method="PATCH"')
  await rig.kubectl('annotate', 'tenant', 'visited', 'example.test/by=hand')
  await rig.kubectl('label', 'tenant', 'visited', 'example.test/by=hand')
  // One that comes later is seen later.
  await rig.apply(aTenant('visited-next'))
  await rig.says('tenant/visited-next', { Ready: 'InForce', Propagated: 'Propagated' })
  const { status } = await foundAt(place)
  expect(status).toEqual(before.status)
  expect(patches).toBeGreaterThan(0)

  const edit = (patch: object) =>
    rig.kubectl(
      'patch',
      'tenant',
      'visited',
      '--subresource=status',
      '--type=merge',
      `--patch=${JSON.stringify(patch)}`,
    )
  const isUndone = () => poll(() => foundAt(place)).until((found) => isDeepStrictEqual(found.status, before.status))
  await edit({ status: { templates: 7, effective: { renderLimitMonthly: 1 } } })
  await isUndone()
  const conditions = before.status?.conditions?.map((condition) => ({ ...condition, message: 'all is well' }))
  await edit({ status: { conditions } })
  await isUndone()
  // When it was written first is lost with it.
  const shown = (found: Found) =>
    found.status?.conditions?.map(({ lastTransitionTime: _lastTransitionTime, ...condition }) => condition)
  const untilShownAgain = () =>
    poll(() => foundAt(place)).until((found) => isDeepStrictEqual(shown(found), shown(before)))
  await edit({ status: { conditions: conditions?.filter(({ type }) => type === 'Ready') } })
  await untilShownAgain()
  await edit({ status: null })
  await untilShownAgain()
  expect((await foundAt(place)).status?.['effective']).toEqual(before.status?.['effective'])
})

test('a status that was edited while nobody followed is repaired', async () => {
  await rig.apply(aTenant('meanwhile'))
  await rig.says('tenant/meanwhile', { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.rested()
  const before = await foundAt('tenant/meanwhile')
  const patch = JSON.stringify({ status: { observedGeneration: 9, effective: { renderLimitMonthly: 1 } } })
  const edit = ['patch', 'tenant', 'meanwhile', '--subresource=status', '--type=merge', `--patch=${patch}`]
  await rig.cluster.stop()
  await rig.kubectl(...edit)
  await rig.cluster.start()
  await poll(() => foundAt('tenant/meanwhile')).until(({ status }) => isDeepStrictEqual(status, before.status))
})

test('an event is recorded when a resource becomes ready or ceases to be, and at no other time', async () => {
  await rig.apply(anApiKey('moody', 'moody'))
  await rig.says('apikey/moody', { Ready: 'TenantNotFound' })
  await rig.apply(aTenant('moody'))
  await rig.says('apikey/moody', { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.apply(anApiKey('moody', 'moody', { secretName: 'moody-key', description: 'said again' }))
  await rig.says('apikey/moody', { Ready: 'InForce', Propagated: 'Propagated' })
  await rig.cluster.kill()
  await rig.cluster.start()
  await rig.rested()
  await rig.apply(aTenant('moody', { namespaces: [] }))
  await rig.says('apikey/moody', { Ready: 'TenantNotFound' })
  const events = await poll(() => eventsOf('apikey/moody')).until((all) => all.length >= 3)
  expect(events).toEqual(['Warning TenantNotFound', 'Normal InForce', 'Warning TenantNotFound'])
})

test('every generation is reported, and only what is in force is called ready', async () => {
  await rig.apply(aTenant('busy'))
  await rig.says('tenant/busy', { Ready: 'InForce' })
  for (const retentionDays of [1, 2, 3]) {
    await rig.apply(aTenant('busy', { overrides: { retentionDays } }))
    await rig.says('tenant/busy', { Ready: 'InForce', Published: 'Published', Propagated: 'Propagated' })
    const { metadata, status } = await rig.get('tenant', 'busy')
    expect(status).toMatchObject({ observedGeneration: metadata.generation, effective: { retentionDays } })
    expect(status?.conditions?.every((each) => each.observedGeneration === metadata.generation)).toBe(true)
    expect(
      (await rig.publishes('busy', ({ tenant }) => tenant?.limits.retentionDays === retentionDays)).tenant,
    ).toBeDefined()
  }
})

test('a rotation that is asked for by no time is refused in an event', async () => {
  const place = 'apikey/muddled'
  await rig.apply(aTenant('muddled'), annotated(anApiKey('muddled', 'muddled'), { 'platen.dev/rotate': 'now' }))
  await rig.says(place, { Ready: 'InForce' })
  const events = await poll(() => eventsOf(place)).until((all) => all.some((event) => event.startsWith('Warning')))
  expect(events).toContain('Warning RotationIgnored')
})
