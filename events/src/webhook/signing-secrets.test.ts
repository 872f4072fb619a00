import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import type { Tenant, TenantId } from '@platen/contract/domain/tenant.ts'
import { sealWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import { expect, test } from 'vitest'
import { aTenant, NEVER, SILENT } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { openSigningSecrets, sealCounter, sealKeyCheck } from './signing-secrets.ts'

const KEY = Buffer.alloc(32, 7)
const KEYS = [KEY] as const
const OTHER_KEY = Buffer.alloc(32, 8)

function sealedBy(key: Uint8Array, name: string): Tenant {
  const tenant = aTenant({ id: name as TenantId })
  return { ...tenant, webhookSecrets: [{ sealed: sealWebhookSecret('a secret', { ...tenant, keys: [key] }) }] }
}

function without(name: string): Tenant {
  return aTenant({ id: name as TenantId })
}

test.for<[string, readonly Tenant[], boolean]>([
  ['there is no tenant', [], true],
  ['no tenant has a secret', [without('a'), without('b')], true],
  ['it opens the secret of each tenant', [sealedBy(KEY, 'a'), sealedBy(KEY, 'b')], true],
  ['it opens the secret of one tenant', [sealedBy(OTHER_KEY, 'a'), without('b'), sealedBy(KEY, 'c')], true],
  ['it opens the secret of no tenant', [without('a'), sealedBy(OTHER_KEY, 'b')], false],
])('a seal key is right or wrong when %s', async ([, tenants, isRight]) => {
  const directory = memoryDirectory()
  const canSign = sealKeyCheck(() => KEYS, { directory, clock: manualClock() })
  expect(canSign()).toBe(true)
  const snapshot = { ...directory.current(), revision: 1, tenants: new Map(tenants.map((each) => [each.id, each])) }
  await directory.publish(snapshot, NEVER)
  expect([canSign(), canSign()]).toEqual([isRight, isRight])
})

test('a webhook is signed before, during and after a change of the seal key', () => {
  let keys: readonly [Uint8Array, ...Uint8Array[]] = [KEY]
  const signingSecretsOf = openSigningSecrets(() => keys, SILENT)
  const [before, after] = [sealedBy(KEY, 'a'), sealedBy(OTHER_KEY, 'a')]
  expect(signingSecretsOf(after, 0)).toBeUndefined()
  for (keys of [
    [KEY, OTHER_KEY],
    [OTHER_KEY, KEY],
  ] as const)
    for (const tenant of [before, after]) expect(signingSecretsOf(tenant, 0)?.all).toEqual(['a secret'])
  keys = [OTHER_KEY]
  expect(signingSecretsOf(after, 0)?.all).toEqual(['a secret'])
  expect(signingSecretsOf(before, 0)).toBeUndefined()
})

test('secrets are counted by the key that sealed them, as it is now', async () => {
  const directory = memoryDirectory()
  let keys: readonly [Uint8Array, ...Uint8Array[]] = [KEY]
  const sealedWith = sealCounter(() => keys, directory)
  expect(sealedWith()).toEqual({ first: 0, older: 0, unknown: 0 })
  const tenants = [sealedBy(KEY, 'a'), sealedBy(OTHER_KEY, 'b'), sealedBy(OTHER_KEY, 'c'), without('d')]
  const snapshot = { ...directory.current(), revision: 1, tenants: new Map(tenants.map((each) => [each.id, each])) }
  await directory.publish(snapshot, NEVER)
  expect(sealedWith()).toEqual({ first: 1, older: 0, unknown: 2 })
  keys = [OTHER_KEY, KEY]
  for (const counts of [sealedWith(), sealedWith()]) expect(counts).toEqual({ first: 2, older: 1, unknown: 0 })
})

test.for<[string, Tenant, object | undefined]>([
  ['that can be opened', sealedBy(KEY, 'a'), undefined],
  ['of another seal key', sealedBy(OTHER_KEY, 'a'), { tenant: 'a', reason: 'secret_unreadable' }],
  ['that do not exist', without('a'), { tenant: 'a', reason: 'secret_missing' }],
])('secrets %s are logged once at most', ([, tenant, line]) => {
  const lines: object[] = []
  const signingSecretsOf = openSigningSecrets(() => KEYS, { ...SILENT, error: (fields) => void lines.push(fields) })
  const secrets = [1, 2].map(() => signingSecretsOf(tenant, 0))
  expect(secrets.map((each) => each?.oldest)).toEqual(Array(2).fill(line === undefined ? 'a secret' : undefined))
  expect(lines).toEqual(line === undefined ? [] : [line])
})
