/** What an operator makes of resources, on a real Kubernetes API, Redis and S3. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Rig, startRig, TEAM } from '../rig/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
})
afterAll(() => rig[Symbol.asyncDispose]())

const API_VERSION = 'platen.dev/v1alpha1'

test('a tenant with a template and a key is published, and says so', async () => {
  await rig.apply(
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
      spec: { tenantRef: { name: 'acme' }, environment: 'test', secretName: 'ci-key' },
    },
    {
      apiVersion: API_VERSION,
      kind: 'Template',
      metadata: { name: 'invoice', namespace: TEAM },
      spec: { tenantRef: { name: 'acme' }, html: { template: { inline: '<h1>Invoice {{ number }}</h1>' } } },
    },
  )
  for (const place of ['plan/business', 'tenant/acme', 'apikey/ci', 'template/invoice'])
    await rig.kubectl('wait', '--for=condition=Propagated', place, `--namespace=${TEAM}`, '--timeout=60s')
  const { tenants, keys, templates } = rig.directory()
  expect([...tenants.values()]).toMatchObject([{ id: 'acme', limits: { syncRateLimitPerMinute: 120 } }])
  expect([...keys.values()]).toMatchObject([{ tenant: 'acme', environment: 'test' }])
  expect([...templates].map(([tenant, codes]) => [tenant, [...codes.keys()]])).toEqual([['acme', ['invoice']]])
  const { status } = await rig.get('apikey', 'ci')
  expect(status).toMatchObject({ sha256: [...keys.keys()][0], observedGeneration: 1 })
})
