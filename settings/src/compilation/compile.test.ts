import type { ApiKeyResource, ConditionType, Resource } from '@platen/contract/domain/resource.ts'
import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS, type KeyHash, type TenantId } from '@platen/contract/domain/tenant.ts'
import { assert, property, shuffledSubarray } from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  aKeyHash,
  anApiKeyResource,
  aPlanResource,
  aTemplateResource,
  aTenantResource,
} from '../../../test/fixture/resource.ts'
import { checkRequestsOf, digestSource } from '../compile/template.ts'
import { type Compiled, type CompileInput, compile, resultsOf } from './compile.ts'

const ACME = 'acme' as TenantId

interface Given extends Partial<Omit<CompileInput, 'resources' | 'checks'>> {
  /** Faults that the check finds in every template. */
  readonly faults?: readonly CheckFault[]
}

function compiled(resources: readonly Resource[], { faults = [], ...given }: Given = {}): Compiled {
  const configMaps = given.configMaps ?? new Map()
  const templates = resources.filter((resource) => resource.kind === 'Template')
  const checks = new Map([...checkRequestsOf(templates, configMaps).keys()].map((key) => [key, faults]))
  const found = { foundKeys: new Map(), webhookSecrets: new Map() }
  const rest = { ...found, defaults: DEFAULT_LIMITS, serviceBucket: 'platen', now: 0 }
  return compile({ resources, configMaps, checks, ...rest, ...given })
}

function condition(result: Compiled, resource: Resource, type: ConditionType) {
  const outcome = resultsOf(result).find((candidate) => candidate.resource.metadata.uid === resource.metadata.uid)
  return outcome?.conditions.find((candidate) => candidate.type === type)
}

const platform = [aPlanResource(), aTenantResource()]

describe('a folder of good resources', () => {
  const invoice = aTemplateResource({ spec: { version: 3, html: { template: { inline: '<p>' } } } })
  const result = compiled([
    aPlanResource({ spec: { htmlEngineEnabled: true, renderLimitMonthly: 1000 } }),
    aTenantResource({ spec: { overrides: { syncRateLimitPerMinute: 5 } } }),
    invoice,
    anApiKeyResource({ spec: { environment: 'Test', expiresAt: '2027-01-01T00:00:00Z' } }),
  ])

  test('gives the tenant the limits of its plan, overlaid with its own', () => {
    expect(result.snapshot.tenants.get(ACME)).toEqual({
      id: 'acme',
      account: 'uid of Tenant acme',
      limits: { ...DEFAULT_LIMITS, htmlEngineEnabled: true, renderLimitMonthly: 1000, syncRateLimitPerMinute: 5 },
      suspended: false,
      storage: { bucket: 'platen', prefix: 'acme/' },
    })
  })

  test('publishes the template under its code, with a source of its digest', () => {
    const [template] = [...(result.snapshot.templates.get(ACME)?.values() ?? [])]
    expect(template).toMatchObject({ code: 'invoice', name: 'invoice', version: 3, engines: ['react_pdf', 'html'] })
    const { digested, request } = digestSource(invoice, new Map())
    expect(digested).toMatchObject({ digest: template?.digest })
    expect(request?.source).toMatchObject({
      version: 3,
      reactPdf: 'export default () => null',
      html: { template: '<p>', javascript: false },
    })
  })

  test('publishes the key by its hash alone', () => {
    expect([...result.snapshot.keys.values()]).toEqual([
      { hash: 'a'.repeat(64), tenant: 'acme', environment: 'test', suspended: false, expiresAt: Date.UTC(2027, 0) },
    ])
  })

  test('leaves nothing that is not ready', () => {
    const ready = resultsOf(result).map(({ conditions }) => conditions[0])
    expect(ready).toHaveLength(4)
    for (const condition of ready)
      expect(condition).toMatchObject({ type: 'Ready', status: 'True', observedGeneration: 1 })
  })
})

test('the order of reading changes nothing', () => {
  const resources = [
    ...platform,
    aTemplateResource(),
    aTemplateResource({ metadata: { name: 'rival' }, spec: { code: 'invoice' } }),
    anApiKeyResource(),
    anApiKeyResource({ metadata: { name: 'copy' } }),
  ]
  const expected = compiled(resources)
  const unchanged = property(shuffledSubarray(resources, { minLength: resources.length }), (shuffled) => {
    expect(compiled(shuffled)).toEqual(expected)
  })
  assert(unchanged, { numRuns: 20 })
})

describe('a tenant', () => {
  test('without its plan is not served at all, having had no limits', () => {
    const tenant = aTenantResource()
    const result = compiled([tenant])
    expect(result.snapshot.tenants.size).toBe(0)
    expect(condition(result, tenant, 'PlanResolved')).toMatchObject({ status: 'False', reason: 'PlanNotFound' })
  })

  test('whose plan was deleted keeps the limits it had', () => {
    const previous = compiled([aPlanResource({ spec: { renderLimitMonthly: 7 } }), aTenantResource()])
    const result = compiled([aTenantResource()], { previous })
    expect(result.snapshot.tenants.get(ACME)?.limits.renderLimitMonthly).toBe(7)
    expect(condition(result, aTenantResource(), 'Ready')).toMatchObject({ status: 'False', reason: 'PlanNotFound' })
  })

  test('whose limits are refused is suspended all the same', () => {
    const previous = compiled(platform)
    const broken = aTenantResource({ spec: { suspend: true, overrides: { javascriptEnabled: true } } })
    const result = compiled([aPlanResource(), broken], { previous })
    expect(result.snapshot.tenants.get(ACME)).toMatchObject({ suspended: true, limits: { javascriptEnabled: false } })
    expect(condition(result, broken, 'Ready')).toMatchObject({ reason: 'InvalidEffectiveLimits' })
  })

  test('created again under an old name has another account', () => {
    const previous = compiled(platform)
    const recreated = aTenantResource({ metadata: { uid: 'another uid' as never } })
    expect(compiled([aPlanResource(), recreated], { previous }).snapshot.tenants.get(ACME)?.account).toBe('another uid')
  })

  const globex = { name: 'globex', createdAt: 5 }
  test.for([
    ['the same prefix', 'acme/'],
    ['a prefix inside it', 'acme/globex/'],
    ['a prefix around it', 'a/'],
    ['the prefix of the manifests', 'manifest/'],
    ['the prefix of the assets', 'asset/'],
    ['the prefix of the expiry index', 'expiry/'],
    ['the prefix of the idempotency keys', 'idempotency/acme/'],
    ['the prefix of batches', 'batch/acme/'],
  ])('is refused %s', ([, prefix]) => {
    const acme = aTenantResource({ spec: { storage: { prefix: prefix === 'a/' ? 'a/b/' : 'acme/' } } })
    const rival = aTenantResource({ metadata: globex, spec: { storage: { prefix: prefix ?? '' } } })
    const result = compiled([rival, acme, aPlanResource()])
    expect([...result.snapshot.tenants.keys()]).toEqual(['acme'])
    expect(condition(result, rival, 'Accepted')).toMatchObject({ status: 'False', reason: 'PrefixTaken' })
  })

  test('is told the oldest of several in its way, also when that has come there last', () => {
    const other = aTenantResource({ metadata: globex, spec: { storage: { prefix: 'a/c/' } } })
    const wider = aTenantResource({ metadata: { name: 'wider', createdAt: 9 }, spec: { storage: { prefix: 'a/' } } })
    const previous = compiled([...platform, other, wider])
    expect(condition(previous, wider, 'Accepted')?.message).toContain('Tenant globex')
    const resources = [aPlanResource(), aTenantResource({ spec: { storage: { prefix: 'a/b/' } } }), other, wider]
    const moved = compiled(resources, { previous })
    for (const result of [moved, compiled(resources, { previous: moved })])
      expect(condition(result, wider, 'Accepted')?.message).toContain('Tenant acme')
  })

  test('may use the same prefix in another bucket', () => {
    const rival = aTenantResource({ metadata: globex, spec: { storage: { prefix: 'acme/', bucket: 'globex' } } })
    expect(compiled([...platform, rival]).snapshot.tenants.size).toBe(2)
  })

  test('keeps the prefix its PDFs are under when an older one moves there', () => {
    const rival = aTenantResource({ metadata: globex })
    const previous = compiled([...platform, rival])
    const mover = aTenantResource({ spec: { storage: { prefix: 'globex/' } } })
    const { tenants } = compiled([aPlanResource(), mover, rival], { previous }).snapshot
    const prefixes = [...tenants.values()].map(({ id, storage }) => [id, storage.prefix])
    expect(Object.fromEntries(prefixes)).toEqual({ acme: 'acme/', globex: 'globex/' })
  })

  test('keeps the prefix its PDFs are under when its own move is refused and a new one asks for it', () => {
    const rival = aTenantResource({ metadata: globex })
    const previous = compiled([...platform, rival])
    const mover = aTenantResource({ spec: { storage: { prefix: 'globex/' } } })
    const late = aTenantResource({
      metadata: { name: 'late', createdAt: -1 },
      spec: { storage: { prefix: 'acme/late/' } },
    })
    const result = compiled([aPlanResource(), mover, rival, late], { previous })
    expect([...result.snapshot.tenants.keys()].toSorted()).toEqual(['acme', 'globex'])
    expect(condition(result, late, 'Ready')).toMatchObject({ reason: 'PrefixTaken' })
  })
})

describe('a plan', () => {
  test('that contradicts itself gives what it gave before', () => {
    const previous = compiled([aPlanResource({ spec: { retentionDays: 7 } }), aTenantResource()])
    const plan = aPlanResource({ spec: { retentionDays: 9, javascriptEnabled: true } })
    const result = compiled([plan, aTenantResource()], { previous })
    expect(result.snapshot.tenants.get(ACME)?.limits.retentionDays).toBe(7)
    expect(condition(result, plan, 'Ready')).toMatchObject({ status: 'False', reason: 'InvalidLimits' })
  })

  test('says whether anybody uses it', () => {
    const idle = aPlanResource({ metadata: { name: 'idle' } })
    const result = compiled([...platform, idle])
    expect(condition(result, aPlanResource(), 'InUse')?.status).toBe('True')
    expect(condition(result, idle, 'InUse')?.status).toBe('False')
  })
})

describe('a key', () => {
  const key = anApiKeyResource()

  test('of a tenant that is not there opens nothing, nor does one whose namespace is not listed; nothing tells them apart', () => {
    const stranger = anApiKeyResource({ metadata: { namespace: 'team-globex' } })
    const results = [compiled([...platform, stranger]), compiled([stranger])]
    expect(results.map(({ snapshot }) => snapshot.keys.size)).toEqual([0, 0])
    const [unlisted, missing] = results.map((result) => [
      condition(result, stranger, 'Accepted'),
      condition(result, stranger, 'Ready'),
    ])
    expect(unlisted).toEqual(missing)
    expect(missing?.[0]).toMatchObject({ status: 'False', reason: 'TenantNotFound' })
  })

  test('is revoked when its tenant stops listing the namespace', () => {
    const previous = compiled([...platform, key])
    const closed = aTenantResource({ spec: { namespaces: [] } })
    expect(compiled([aPlanResource(), closed, key], { previous }).snapshot.keys.size).toBe(0)
  })

  test('is the older one of two of the same hash', () => {
    const copy = anApiKeyResource({ metadata: { name: 'a-copy', createdAt: 5 }, spec: { environment: 'Test' } })
    const result = compiled([...platform, copy, key])
    expect([...result.snapshot.keys.values()]).toMatchObject([{ environment: 'live' }])
    expect(condition(result, copy, 'Ready')).toMatchObject({ reason: 'KeyTaken' })
  })

  test('whose secret cannot be read stays good, and says so', () => {
    const generated = anApiKeyResource({ spec: { secretName: 'ci-key' } })
    const foundKeys = new Map([[generated.metadata.uid, { hash: 'b'.repeat(64) as KeyHash }]])
    const previous = compiled([...platform, generated], { foundKeys })
    const result = compiled([...platform, generated], { previous })
    expect([...result.snapshot.keys.keys()]).toEqual(['b'.repeat(64)])
    expect(condition(result, generated, 'Ready')).toMatchObject({ status: 'False', reason: 'SecretMissing' })
  })

  test('whose secret cannot be read and whose key an older one has taken says the same each time', () => {
    const generated = anApiKeyResource({
      metadata: { name: 'generated', createdAt: 5 },
      spec: { secretName: 'ci-key' },
    })
    const foundKeys = new Map([[generated.metadata.uid, { hash: 'b'.repeat(64) as KeyHash }]])
    const published = compiled([...platform, generated], { foundKeys })
    const taker = anApiKeyResource({ spec: { sha256: `sha256:${'b'.repeat(64)}` } })
    const first = compiled([...platform, taker, generated], { previous: published })
    const second = compiled([...platform, taker, generated], { previous: first })
    expect([...first.snapshot.keys.values()]).toEqual([...second.snapshot.keys.values()])
    const reasons = [first, second].map((result) => condition(result, generated, 'Ready')?.reason)
    expect(reasons).toEqual(['SecretMissing', 'SecretMissing'])
  })

  describe('that has replaced another', () => {
    const [current, last] = ['b', 'c'].map((digit) => digit.repeat(64) as KeyHash) as [KeyHash, KeyHash]
    const keyOf = (fields: object = {}) => anApiKeyResource({ spec: { secretName: 'ci-key', ...fields } })
    const found = (resource: ApiKeyResource) =>
      new Map([[resource.metadata.uid, { hash: current, replaced: { hash: last, until: 1000 } }]])
    const keysOf = (resource: ApiKeyResource, input: Partial<CompileInput>) =>
      Object.fromEntries(
        [...compiled([...platform, resource], input).snapshot.keys].map(([hash, { expiresAt }]) => [hash, expiresAt]),
      )

    test('leaves it in force until its overlap ends', () => {
      const rotatedKey = keyOf()
      const foundKeys = found(rotatedKey)
      expect(keysOf(rotatedKey, { foundKeys, now: 999 })).toEqual({ [current]: undefined, [last]: 1000 })
      expect(keysOf(rotatedKey, { foundKeys, now: 1000 })).toEqual({ [current]: undefined })
    })

    test('leaves it no longer in force than itself', () => {
      const brief = keyOf({ expiresAt: '1970-01-01T00:00:00.500Z' })
      expect(keysOf(brief, { foundKeys: found(brief), now: 499 })).toEqual({ [current]: 500, [last]: 500 })
      expect(keysOf(brief, { foundKeys: found(brief), now: 500 })).toEqual({ [current]: 500 })
    })

    test('keeps both while its secret cannot be read', () => {
      const rotatedKey = keyOf()
      const previous = compiled([...platform, rotatedKey], { foundKeys: found(rotatedKey), now: 0 })
      const foundKeys = new Map([[rotatedKey.metadata.uid, { fault: 'it is gone' }]])
      expect(keysOf(rotatedKey, { foundKeys, previous, now: 999 })).toEqual({ [current]: undefined, [last]: 1000 })
      expect(keysOf(rotatedKey, { foundKeys, previous, now: 1000 })).toEqual({ [current]: undefined })
      const result = compiled([...platform, rotatedKey], { foundKeys, previous })
      expect(condition(result, rotatedKey, 'Ready')).toMatchObject({ reason: 'SecretMissing', message: 'it is gone' })
    })

    test('keeps those that whoever looked knows of, whatever was published', () => {
      const rotatedKey = keyOf()
      const kept = { hash: last, replaced: { hash: current, until: 1000 } }
      const previous = compiled([...platform, rotatedKey], { foundKeys: found(rotatedKey), now: 0 })
      const foundKeys = new Map([
        [rotatedKey.metadata.uid, { fault: 'it is another’s', reason: 'SecretTaken' as const, kept }],
      ])
      expect(keysOf(rotatedKey, { foundKeys, previous, now: 999 })).toEqual({ [last]: undefined, [current]: 1000 })
      expect(keysOf(rotatedKey, { foundKeys, now: 1000 })).toEqual({ [last]: undefined })
      const result = compiled([...platform, rotatedKey], { foundKeys })
      expect(condition(result, rotatedKey, 'Ready')).toMatchObject({
        reason: 'SecretTaken',
        message: 'it is another’s',
      })
    })

    test('loses it to an older ApiKey that has the same', () => {
      const older = anApiKeyResource({
        metadata: { name: 'older', createdAt: -1 },
        spec: { sha256: `sha256:${last}`, environment: 'Test' },
      })
      const rotatedKey = keyOf()
      const result = compiled([...platform, rotatedKey, older], { foundKeys: found(rotatedKey) })
      expect(result.snapshot.keys.get(last)).toMatchObject({ environment: 'test' })
      expect(condition(result, rotatedKey, 'Ready')).toMatchObject({ status: 'True' })
    })
  })

  test('is named in no condition by its hash', () => {
    const copy = anApiKeyResource({ metadata: { name: 'copy' } })
    const shown = resultsOf(compiled([...platform, key, copy])).map(({ conditions }) => conditions)
    expect(JSON.stringify(shown)).not.toContain(aKeyHash('a').slice(7, 20))
  })
})
