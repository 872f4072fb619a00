import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import type { Kind, ResourceManifest } from '../../domain/resource-spec.ts'
import { resourceReader } from './reader.ts'
import { brokenChanges } from './rule.ts'

const read = resourceReader()

const tenantRef = { name: 'acme' }
const sha256 = `sha256:${'0a'.repeat(32)}`
const reactPdf = { source: { inline: 'x' } }
const html = { template: { inline: 'x' } }
const NEEDS_HTML = '/spec/engine must be Html, because the template has only an html source; the default is ReactPdf'
const asset = { name: 'logo.png', inline: 'QUJD' }
const font = { family: 'Inter', asset: 'logo.png' }
const LEAST = { Template: { tenantRef, reactPdf }, ApiKey: { tenantRef, secretName: 'ci-key' } } as const

function manifest(kind: Kind, spec: JsonObject): JsonObject {
  return { apiVersion: 'platen.dev/v1alpha1', kind, metadata: { name: 'one' }, spec }
}

/** The faults of a manifest, as `path message`. */
function faultsOf(value: JsonObject): readonly string[] {
  const result = read(value)
  return 'faults' in result ? result.faults.map(({ path, message }) => `${path} ${message}`) : []
}

describe('a fault is reported by its place', () => {
  test.for<[Kind, JsonObject, string]>([
    [
      'Plan',
      { htmlEngineEnable: true },
      '/spec/htmlEngineEnable is not a known field (did you mean htmlEngineEnabled?)',
    ],
    ['Plan', { retentionDays: '30' }, '/spec/retentionDays must be integer'],
    ['Plan', { syncRateLimitPerMinute: 1_000_001 }, '/spec/syncRateLimitPerMinute must be <= 1000000'],
    ['Plan', { htmlRateLimitPerMinute: 1 }, '/spec/htmlRateLimitPerMinute needs htmlEngineEnabled: true'],
    [
      'Plan',
      { htmlEngineEnabled: false, htmlRateLimitPerMinute: 1 },
      '/spec/htmlRateLimitPerMinute needs htmlEngineEnabled: true',
    ],
    ['Tenant', {}, '/spec/planRef is required'],
    ['Tenant', { planRef: { name: 'p' }, overrides: {} }, '/spec/overrides must not be empty'],
    [
      'Tenant',
      { planRef: { name: 'p' }, webhooks: { allowCidrs: ['10.0.0.0/8', 'all'] } },
      '/spec/webhooks/allowCidrs/1 must be the first address of a block and its prefix length, such as 10.0.0.0/8 or fd00::/8',
    ],
    ['Template', { tenantRef }, '/spec needs reactPdf, html or both'],
    ['Template', { tenantRef, engine: 'Html' }, '/spec needs reactPdf, html or both'],
    [
      'Template',
      { tenantRef, reactPdf, engine: 'Html' },
      '/spec/engine must be ReactPdf, because the template has only a reactPdf source',
    ],
    ['Template', { tenantRef, html, engine: 'ReactPdf' }, NEEDS_HTML],
    ['Template', { tenantRef, html }, NEEDS_HTML],
    ['Template', { tenantRef, reactPdf: { source: {} } }, '/spec/reactPdf/source must not be empty'],
    [
      'Template',
      { tenantRef, reactPdf, pageSize: 'A4' },
      '/spec/pageSize is not a known field (did you mean options.pageSize?)',
    ],
    [
      'Template',
      { tenantRef, reactPdf, options: { filename: 'a.pdf' } },
      '/spec/options/filename is not a known field',
    ],
    [
      'Template',
      { tenantRef, reactPdf, assets: [{ name: 'a' }] },
      '/spec/assets/0 needs either inline or configMapKeyRef, not both',
    ],
    [
      'Template',
      { tenantRef, reactPdf, assets: [asset, asset] },
      '/spec/assets/1/name is the name of an asset before it',
    ],
    [
      'Template',
      { tenantRef, reactPdf, assets: [{ name: 'a', inline: 'A'.repeat(131_072) }, asset] },
      '/spec/assets must have at most 131072 bytes inline in total: keep larger assets in a ConfigMap',
    ],
    ['Template', { tenantRef, reactPdf, fonts: [font] }, '/spec/fonts/0/asset names none of the assets'],
    [
      'Template',
      { tenantRef, reactPdf, assets: [asset], fonts: [font, font] },
      '/spec/fonts/1 has the same family, weight and style as a font before it',
    ],
    [
      'ApiKey',
      { tenantRef },
      '/spec needs either secretName (to generate a key) or sha256 (to use a key of yours), not both',
    ],
    [
      'ApiKey',
      { tenantRef, sha256, secretName: 'a' },
      '/spec needs either secretName (to generate a key) or sha256 (to use a key of yours), not both',
    ],
    ['ApiKey', { tenantRef, sha256, environment: 'prod' }, '/spec/environment must be one of "Live", "Test"'],
  ])('%s %j: %s', ([kind, spec, fault]) => {
    expect(faultsOf(manifest(kind, spec))).toEqual([fault])
  })

  test('no message holds the value', () => {
    const secret = 'service_live_0123456789'
    expect(faultsOf(manifest('ApiKey', { tenantRef, sha256: secret, environment: secret })).join()).not.toContain(
      secret,
    )
  })
})

describe('a change', () => {
  const template = (fields: JsonObject) => ({ ...LEAST.Template, ...fields })
  const apiKey = (fields: JsonObject) => ({ ...LEAST.ApiKey, ...fields })
  const CONSTANT = 'cannot be changed: declare another resource and remove this one'

  test.for<[Kind, before: JsonObject, after: JsonObject, faults: readonly string[]]>([
    ['Template', template({ version: 3 }), template({ version: 2 }), ['/spec/version cannot be decreased: it was 3']],
    ['Template', template({ version: 2 }), template({}), ['/spec/version cannot be decreased: it was 2']],
    ['Template', template({ version: 3 }), template({ version: 3, code: 'other' }), []],
    ['Template', template({}), template({ version: 2 }), []],
    ['Template', template({}), template({ tenantRef: { name: 'globex' } }), [`/spec/tenantRef/name ${CONSTANT}`]],
    ['ApiKey', apiKey({}), apiKey({ tenantRef: { name: 'globex' } }), [`/spec/tenantRef/name ${CONSTANT}`]],
    ['ApiKey', apiKey({}), apiKey({ environment: 'Live' }), []],
    ['ApiKey', apiKey({}), apiKey({ environment: 'Test' }), [`/spec/environment ${CONSTANT}`]],
    ['ApiKey', apiKey({}), apiKey({ secretName: 'another' }), [`/spec/secretName ${CONSTANT}`]],
    ['ApiKey', { tenantRef, sha256 }, { tenantRef, sha256: `sha256:${'1b'.repeat(32)}` }, [`/spec/sha256 ${CONSTANT}`]],
    ['ApiKey', { tenantRef, sha256 }, apiKey({}), [`/spec/secretName ${CONSTANT}`, `/spec/sha256 ${CONSTANT}`]],
    ['ApiKey', apiKey({}), apiKey({ suspend: true, description: 'x', overlapHours: 0 }), []],
    [
      'Tenant',
      { planRef: { name: 'a' }, accountId: 'x' },
      { planRef: { name: 'a' }, accountId: 'y' },
      ['/spec/accountId cannot be changed: declare another resource and remove this one'],
    ],
    [
      'Tenant',
      { planRef: { name: 'a' }, accountId: 'x' },
      { planRef: { name: 'a' } },
      ['/spec/accountId cannot be changed: declare another resource and remove this one'],
    ],
    ['Tenant', { planRef: { name: 'a' } }, { planRef: { name: 'a' }, accountId: 'x' }, []],
    ['Tenant', { planRef: { name: 'a' } }, { planRef: { name: 'b' }, storage: { prefix: 'b/' } }, []],
    ['Plan', { retentionDays: 2 }, { retentionDays: 1 }, []],
  ])('of a %s from %j to %j', ([kind, before, after, faults]) => {
    const broken = brokenChanges(written(kind, before), written(kind, after))
    expect(broken.map(({ path, message }) => `${path} ${message}`)).toEqual(faults)
  })

  function written(kind: Kind, spec: JsonObject): ResourceManifest {
    const result = read(manifest(kind, spec))
    if ('faults' in result) throw new Error(JSON.stringify(result.faults))
    return result.written
  }
})
