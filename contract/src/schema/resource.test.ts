import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../brand.ts'
import { resourceReader } from './resource.ts'

const read = resourceReader()

const tenantRef = { name: 'acme' }
const sha256 = `sha256:${'0a'.repeat(32)}`
const reactPdf = { source: { inline: 'x' } }

/** The faults of a manifest of this kind and spec, as `path message`. */
function faultsOf(kind: string, spec: JsonObject, metadata: JsonObject = { name: 'one' }): readonly string[] {
  const result = read({ apiVersion: 'platen.dev/v1alpha1', kind, metadata, spec })
  return 'faults' in result ? result.faults.map(({ path, message }) => `${path} ${message}`) : []
}

describe('a good manifest', () => {
  test.for<[string, JsonObject]>([
    ['Plan', {}],
    ['Plan', { htmlEngineEnabled: true, htmlRateLimitPerMinute: 60, renderLimitMonthly: 0, asyncFairShare: 10_000 }],
    ['Plan', { htmlRateLimitPerMinute: 0 }],
    ['Tenant', { planRef: { name: 'starter' } }],
    ['Tenant', { planRef: { name: 'starter' }, storage: { bucket: 'acme-pdf', prefix: 'a/B_1.x/' }, suspended: true }],
    ['Template', { tenantRef, reactPdf }],
    [
      'Template',
      { tenantRef, html: { template: { configMapKeyRef: { name: 'a.b', key: 'x.html' } }, javascript: true } },
    ],
    ['Template', { tenantRef, reactPdf, options: { page_size: 'A5', margin: '12mm' }, sampleData: { any: [null] } }],
    ['ApiKey', { tenantRef, secretName: 'ci-key' }],
    ['ApiKey', { tenantRef, sha256, environment: 'test', expiresAt: '2027-01-31T23:59:59.5+01:00' }],
  ])('of a %s is taken: %j', ([kind, spec]) => {
    expect(faultsOf(kind, spec)).toEqual([])
  })

  test('of a ConfigMap or Secret is taken beside them', () => {
    const metadata = { name: 'sources', namespace: 'team-acme', labels: { a: 'b' } }
    expect(read({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'a.tsx': 'x' } })).toHaveProperty('written')
    expect(read({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: 'x' } })).toHaveProperty('written')
  })
})

describe('a fault is told by its place', () => {
  test.for<[string, JsonObject, string]>([
    ['Plan', { htmlEngineEnable: true }, '/spec/htmlEngineEnable is not a known field'],
    ['Plan', { retentionDays: '30' }, '/spec/retentionDays must be integer'],
    ['Plan', { syncRateLimitPerMinute: 1_000_001 }, '/spec/syncRateLimitPerMinute must be <= 1000000'],
    ['Plan', { renderTimeoutSeconds: 121 }, '/spec/renderTimeoutSeconds must be <= 120'],
    ['Plan', { htmlRateLimitPerMinute: 1 }, '/spec/htmlRateLimitPerMinute needs htmlEngineEnabled: true'],
    ['Tenant', {}, '/spec/planRef is required'],
    ['Tenant', { planRef: { name: 'p' }, overrides: {} }, '/spec/overrides must NOT have fewer than 1 properties'],
    [
      'Tenant',
      { planRef: { name: 'p' }, storage: { prefix: 'a/../' } },
      '/spec/storage/prefix must match pattern "^([A-Za-z0-9_-][A-Za-z0-9._-]*/)+$"',
    ],
    ['Template', { tenantRef }, '/spec needs reactPdf, html or both'],
    [
      'Template',
      { tenantRef, reactPdf, engine: 'html' },
      '/spec/engine names an engine the template has no source for',
    ],
    [
      'Template',
      { tenantRef, reactPdf: { source: {} } },
      '/spec/reactPdf/source must NOT have fewer than 1 properties',
    ],
    [
      'Template',
      { tenantRef, reactPdf: { source: { inline: 'x', configMapKeyRef: { name: 'a', key: 'b' } } } },
      '/spec/reactPdf/source must NOT have more than 1 properties',
    ],
    [
      'Template',
      { tenantRef, reactPdf, options: { filename: 'a.pdf' } },
      '/spec/options/filename is not a known field',
    ],
    ['ApiKey', { tenantRef }, '/spec needs secretName (a key is generated) or sha256 (you bring one), and not both'],
    [
      'ApiKey',
      { tenantRef, sha256, secretName: 'a' },
      '/spec needs secretName (a key is generated) or sha256 (you bring one), and not both',
    ],
    ['ApiKey', { tenantRef, sha256, environment: 'prod' }, '/spec/environment must be one of "live", "test"'],
    ['Deployment', {}, '/kind must be one of Plan, Tenant, Template, ApiKey, ConfigMap, Secret'],
    ['constructor', {}, '/kind must be one of Plan, Tenant, Template, ApiKey, ConfigMap, Secret'],
  ])('%s %j: %s', ([kind, spec, fault]) => {
    expect(faultsOf(kind, spec)).toEqual([fault])
  })

  test.for(['2026-02-30T00:00:00Z', '2026-12-31T23:59:60Z', '2026-01-01 00:00:00Z', '2026-01-01', 'soon'])(
    'an expiry of %s is refused',
    (expiresAt) => {
      expect(faultsOf('ApiKey', { tenantRef, sha256, expiresAt })).not.toEqual([])
    },
  )

  test('a template whose name is no code needs one', () => {
    expect(faultsOf('Template', { tenantRef, reactPdf }, { name: 'a.b' })).toEqual([
      '/spec/code is required, as the metadata.name is no template code',
    ])
    expect(faultsOf('Template', { tenantRef, reactPdf, code: 'a-b' }, { name: 'a.b' })).toEqual([])
  })

  test('a tenant stands in no namespace', () => {
    const metadata = { name: 'acme', namespace: 'default' }
    expect(faultsOf('Tenant', { planRef: { name: 'p' } }, metadata)).toEqual([
      '/metadata/namespace is not a known field',
    ])
  })

  test('no message holds the value', () => {
    const secret = 'service_live_0123456789'
    expect(faultsOf('ApiKey', { tenantRef, sha256: secret, environment: secret }).join()).not.toContain(secret)
  })
})
