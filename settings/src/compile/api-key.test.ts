import { createHash } from 'node:crypto'
import type { ApiKeyResource, Resource } from '@platen/contract/domain/resource.ts'
import { API_KEYS_MAX, DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { anApiKeyResource, aPlanResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { type Compiled, compile } from '../compilation/compile.ts'

const platform = (apiKeysMax?: number) => [
  aPlanResource({ spec: { ...(apiKeysMax !== undefined && { apiKeysMax }) } }),
  aTenantResource(),
  aTenantResource({ metadata: { name: 'globex' } }),
]

/** A key with a hash of its own. */
function aKey(name: string, createdAt: number, { namespace = 'team-acme', tenant = 'acme' } = {}): ApiKeyResource {
  const sha256 = `sha256:${createHash('sha256').update(name).digest('hex')}`
  return anApiKeyResource({ metadata: { name, createdAt, namespace }, spec: { tenantRef: { name: tenant }, sha256 } })
}

function compiled(resources: readonly Resource[], previous?: Compiled): Compiled {
  const facts = { configMaps: new Map(), foundKeys: new Map(), webhookSecrets: new Map(), checks: new Map() }
  const options = { defaults: DEFAULT_LIMITS, serviceBucket: 'platen', now: 0, ...(previous && { previous }) }
  return compile({ ...facts, ...options, resources })
}

function inForce({ apiKeys }: Compiled): readonly string[] {
  return [...apiKeys.values()]
    .flatMap(({ settings, resource }) => (settings ? [resource.metadata.name] : []))
    .toSorted()
}

function readyOf({ apiKeys }: Compiled, { metadata }: ApiKeyResource) {
  return apiKeys.get(metadata.uid)?.conditions.find(({ type }) => type === 'Ready')
}

describe('of the keys of a tenant', () => {
  const [oldest, older, younger, youngest] = [aKey('d', 1), aKey('c', 2), aKey('b', 3), aKey('a', 3)] as const

  test('the oldest are in force, as many as apiKeysMax says, and of the same age those that come first by name', () => {
    const keys = [younger, youngest, oldest, older]
    expect(inForce(compiled([...platform(2), ...keys]))).toEqual(['c', 'd'])
    expect(inForce(compiled([...platform(3), ...keys]))).toEqual(['a', 'c', 'd'])
    expect(inForce(compiled([...platform(4), ...keys]))).toEqual(['a', 'b', 'c', 'd'])
  })

  test('the others say why, and what to do', () => {
    const message = 'Tenant acme has 2 older ApiKeys, as many as apiKeysMax allows: remove one of them'
    const result = compiled([...platform(2), oldest, older, younger])
    expect(readyOf(result, younger)).toMatchObject({ status: 'False', reason: 'TooManyApiKeys', message })
    expect(readyOf(result, older)).toMatchObject({ status: 'True' })
  })

  test('one takes the place of another that goes, and none that of one that works', () => {
    const first = compiled([...platform(2), oldest, younger])
    const more = compiled([...platform(2), oldest, younger, aKey('0', 4)], first)
    expect(inForce(more)).toEqual(['b', 'd'])
    expect(more.snapshot).toEqual(first.snapshot)
    expect(inForce(compiled([...platform(2), younger, aKey('0', 4)], more))).toEqual(['0', 'b'])
  })

  test('fifty are in force where nothing is said, and an override counts for its tenant alone', () => {
    const many = (tenant: string, prefix: string) =>
      Array.from({ length: API_KEYS_MAX + 1 }, (_, i) =>
        aKey(`${prefix}${i}`, i, { tenant, namespace: `team-${tenant}` }),
      )
    const keys = [...many('acme', 'a'), ...many('globex', 'g')]
    const [plan, acme, globex] = platform() as [Resource, Resource, Resource]
    expect(API_KEYS_MAX).toBe(50)
    expect(inForce(compiled([plan, acme, globex, ...keys]))).toHaveLength(100)
    const wide = aTenantResource({ spec: { overrides: { apiKeysMax: 51 } } })
    const names = inForce(compiled([plan, wide, globex, ...keys]))
    expect([names.includes('a50'), names.includes('g50')]).toEqual([true, false])
  })

  test('one that the tenant does not know takes no place', () => {
    const strangers = Array.from({ length: 3 }, (_, i) => aKey(`stranger-${i}`, 0, { namespace: 'team-globex' }))
    expect(inForce(compiled([...platform(1), ...strangers, youngest]))).toEqual(['a'])
  })

  test('one without a place keeps no other from the same key', () => {
    const { sha256 = '' } = younger.spec
    const rival = anApiKeyResource({
      metadata: { name: 'rival', createdAt: 9, namespace: 'team-globex' },
      spec: { tenantRef: { name: 'globex' }, sha256 },
    })
    expect(inForce(compiled([...platform(1), oldest, younger, rival]))).toEqual(['d', 'rival'])
  })
})
