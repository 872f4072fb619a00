import type { Uid } from '@platen/contract/domain/resource.ts'
import type { TenantSpec } from '@platen/contract/domain/resource-spec.ts'
import { openWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import { auditSecrets } from '@platen/operator/secret/audit.ts'
import type { KeyStatus } from '@platen/operator/secret/decide-key.ts'
import {
  type ReconciledKeySecret,
  reconcileKeySecret,
  type SecretPorts,
} from '@platen/operator/secret/reconcile-key-secret.ts'
import {
  type ReconciledWebhookSecret,
  reconcileWebhookSecret,
} from '@platen/operator/secret/reconcile-webhook-secret.ts'
import { observeSecret } from '@platen/operator/secret/update-secret.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anApiKeyResource, aTenantResource } from '../../fixture/resource.ts'
import { OPERATOR_NAMESPACE } from '../../topology/cluster/kube.ts'
import { ask, NAMESPACE, openVault, type Vault } from './vault.ts'

const HOUR = 3_600_000
const { signal } = new AbortController()

let vault: Vault
beforeAll(async () => {
  vault = await openVault()
})
afterAll(() => vault[Symbol.asyncDispose]())

/** An ApiKey of this name whose key is in a Secret of the name. */
function keyOf(name: string, uid = `uid of ${name}`) {
  return anApiKeyResource({ metadata: { name, uid: uid as Uid }, spec: { secretName: name, overlapHours: 2 } })
}

interface Asking {
  readonly name: string
  readonly status?: KeyStatus
  readonly rotate?: string
  readonly uid?: string
}

function settle(asking: Asking, ports: SecretPorts = vault.ports): Promise<ReconciledKeySecret> {
  const { name, status = {}, rotate, uid } = asking
  return reconcileKeySecret({ resource: keyOf(name, uid), rotation: rotate, status }, ports, signal)
}

/** So many operators settle a key, and none writes before each has looked. */
function settleAtOnce(count: number, asking: Asking): Promise<readonly ReconciledKeySecret[]> {
  const { promise: allHaveLooked, resolve } = Promise.withResolvers<void>()
  let looks = 0
  const readSecret: SecretPorts['client']['readSecret'] = async (...place) => {
    const object = await vault.ports.client.readSecret(...place)
    if (++looks === count) resolve()
    await allHaveLooked
    return object
  }
  const ports = { ...vault.ports, client: { ...vault.ports.client, readSecret } }
  return Promise.all(Array.from({ length: count }, () => settle(asking, ports)))
}

describe('a key', () => {
  test('is made in a Secret that belongs to its ApiKey, and told by its hash alone', async () => {
    const settled = await settle({ name: 'made' })
    const secret = await vault.read('made')
    expect(secret?.data['key']).toMatch(/^service_live_[0-9A-Za-z]{43}$/)
    expect(settled).toMatchObject({ found: { hash: secret?.hash }, status: { sha256: secret?.hash }, isNew: true })
    expect(secret?.object).toMatchObject({
      type: 'platen.dev/api-key',
      metadata: { ownerReferences: [{ kind: 'ApiKey', name: 'made', uid: 'uid of made', controller: true }] },
    })
    expect(JSON.stringify(settled)).not.toContain(secret?.data['key'])
    expect(settled.observed.resourceVersion).toBe(secret?.object.metadata.resourceVersion)
  })

  test('is left alone as long as it is as it was', async () => {
    const { status, observed } = await settle({ name: 'same' })
    expect(await settle({ name: 'same', status })).toMatchObject({ isNew: false, repaired: [], observed })
  })

  test('is one, however many make it at once', async () => {
    const settled = await settleAtOnce(8, { name: 'race' })
    const hash = (await vault.read('race'))?.hash
    expect(settled.map(({ found }) => found)).toEqual(settled.map(() => ({ hash })))
    expect(settled.filter(({ isNew }) => isNew)).toHaveLength(1)
  })

  test('is rotated once, however many do it at once, and the last one goes when its overlap is over', async () => {
    const { status } = await settle({ name: 'rotated' })
    const rotate = '2027-01-01T00:00:00Z'
    const until = vault.ports.clock.now() + 2 * HOUR
    const settled = await settleAtOnce(8, { name: 'rotated', status, rotate })
    const secret = await vault.read('rotated')
    const found = { hash: secret?.hash, replaced: { hash: status.sha256, until } }
    for (const each of settled) expect(each).toMatchObject({ found, retryAt: until, status: { rotation: rotate } })
    expect(settled.filter(({ isNew }) => isNew)).toHaveLength(1)
    expect(secret?.data).toMatchObject({ sha256: secret?.hash, previousSha256: status.sha256 })
    await vault.ports.clock.advance(2 * HOUR)
    const over = await settle({ name: 'rotated', status: settled[0]?.status ?? {}, rotate })
    expect(over).toMatchObject({ found: { hash: secret?.hash }, isNew: false, repaired: [] })
    const { key, keyId, sha256, tenant } = secret?.data ?? {}
    const left = await vault.read('rotated')
    expect(left?.data).toEqual({ key, keyId, sha256, tenant })
    expect(left?.object.metadata.annotations).toEqual({ 'platen.dev/rotated': '2027-01-01T00:00:00.000Z' })
  })

  test('stays in force where its Secret is gone, until a rotation makes another', async () => {
    const { status } = await settle({ name: 'gone' })
    await vault.remove('gone')
    expect((await settle({ name: 'gone', status })).found).toMatchObject({ kept: { hash: status.sha256 } })
    expect(await vault.read('gone')).toBeUndefined()
    const made = await settle({ name: 'gone', status, rotate: '2027-01-01T00:00:00Z' })
    const secret = await vault.read('gone')
    expect(made.found).toMatchObject({ hash: secret?.hash, replaced: { hash: status.sha256 } })
    // The field it was made with goes as well as one that was patched in.
    await vault.ports.clock.advance(2 * HOUR)
    await settle({ name: 'gone', status: made.status })
    expect((await vault.read('gone'))?.data).not.toHaveProperty('previousSha256')
  })

  test('that is edited is not valid, and what else was edited is repaired', async () => {
    const { status } = await settle({ name: 'edited' })
    await vault.edit('edited', { key: 'mine', keyId: 'x', tenant: null, theirs: 'y' })
    const settled = await settle({ name: 'edited', status })
    expect(settled).toMatchObject({
      found: {
        fault: expect.stringContaining('has a key other than the generated one'),
        kept: { hash: status.sha256 },
      },
      repaired: ['data.keyId', 'data.tenant'],
    })
    const { keyId, sha256 } = status
    expect((await vault.read('edited'))?.data).toEqual({ key: 'mine', keyId, sha256, tenant: 'acme', theirs: 'y' })
  })

  test('is never written over what somebody else keeps', async () => {
    const command = `create secret generic theirs --namespace=${NAMESPACE} --from-literal=key=theirs`
    const { code } = await vault.kube.kubectl(command.split(' '))
    expect(code).toBe(0)
    const before = await vault.read('theirs')
    const settled = await settle({ name: 'theirs', rotate: '2027-01-01T00:00:00Z' })
    expect(settled.found).toMatchObject({ reason: 'SecretTaken', fault: expect.not.stringContaining('kept') })
    expect(await vault.read('theirs')).toEqual(before)
  })

  test('is a new one for an ApiKey created again under the name', async () => {
    const { status } = await settle({ name: 'heir' })
    const settled = await settle({ name: 'heir', uid: 'another' })
    const secret = await vault.read('heir')
    expect(settled.found).toEqual({ hash: secret?.hash })
    expect(secret?.hash).not.toBe(status.sha256)
    expect(secret?.object.metadata.ownerReferences).toMatchObject([{ uid: 'another' }])
  })

  test('is asked for in vain by what is no time', async () => {
    const { status } = await settle({ name: 'vain' })
    const settled = await settle({ name: 'vain', status, rotate: 'now' })
    expect(settled).toMatchObject({ isNew: false, ignored: expect.stringContaining('must be an RFC 3339 time') })
    expect(settled).not.toHaveProperty('status.rotation')
  })
})

describe('the webhook secret of a tenant', () => {
  function secretFor(
    name: string,
    { spec = {}, rotate, ...asking }: { spec?: Partial<TenantSpec>; rotate?: string; status?: object } = {},
  ): Promise<ReconciledWebhookSecret> {
    const resource = aTenantResource({ metadata: { name }, spec })
    return reconcileWebhookSecret({ resource, rotation: rotate, status: {}, ...asking }, vault.ports, signal)
  }

  function opened(name: string, sealed: string | undefined): string | undefined {
    const account = aTenantResource({ metadata: { name } }).metadata.uid
    return openWebhookSecret(sealed ?? '', { account, keys: vault.ports.sealKeys() })
  }

  function open(name: string, { found }: ReconciledWebhookSecret) {
    if ('fault' in found) return found.fault
    return [opened(name, found.current), opened(name, found.replaced)]
  }

  test('is made in the namespace of the operator, and sealed for that tenant', async () => {
    const settled = await secretFor('acme')
    const secret = await vault.read('acme-webhook', vault.ports.namespace)
    expect(secret?.data['secret']).toMatch(/^service_webhook_[0-9A-Za-z]{43}$/)
    expect(open('acme', settled)).toEqual([secret?.data['secret'], undefined])
    expect(settled.status).toEqual({ webhookSecret: { namespace: OPERATOR_NAMESPACE, name: 'acme-webhook' } })
    expect(JSON.stringify(settled)).not.toContain(secret?.data['secret'])
    expect(secret?.object.metadata.ownerReferences).toMatchObject([{ kind: 'Tenant', name: 'acme' }])
  })

  test('is rotated once, and its last one is known for the overlap', async () => {
    const { status } = await secretFor('beta')
    const last = (await vault.read('beta-webhook', vault.ports.namespace))?.data['secret']
    const rotate = '2027-01-01T00:00:00Z'
    const rotated = await secretFor('beta', { status, rotate })
    const next = (await vault.read('beta-webhook', vault.ports.namespace))?.data['secret']
    expect(next).not.toBe(last)
    expect(open('beta', rotated)).toEqual([next, last])
    expect(await secretFor('beta', { status, rotate })).toEqual({ ...rotated, isNew: false })
    await vault.ports.clock.advance(24 * HOUR)
    expect(open('beta', await secretFor('beta', { status: rotated.status, rotate }))).toEqual([next, undefined])
  })

  test('is what a reference leads to, and nothing is made', async () => {
    const webhookSecretRef = { namespace: NAMESPACE, name: 'hook', key: 'signing' }
    const asking = { spec: { webhookSecretRef } }
    expect(open('gamma', await secretFor('gamma', asking))).toMatch(/hook\/signing, but there is no such Secret/)
    await ask(vault.kube, {
      method: 'POST',
      path: `/api/v1/namespaces/${NAMESPACE}/secrets`,
      body: { metadata: { name: 'hook' }, stringData: { other: 'x' } },
    })
    expect(open('gamma', await secretFor('gamma', asking))).toMatch(/the Secret has no such key: add it/)
    await vault.edit('hook', { signing: 'short' })
    expect(open('gamma', await secretFor('gamma', asking))).toMatch(/its value is not 24 to 512/)
    await vault.edit('hook', { signing: 's'.repeat(24) })
    const settled = await secretFor('gamma', { ...asking, rotate: '2027-01-01T00:00:00Z' })
    expect(open('gamma', settled)).toEqual(['s'.repeat(24), undefined])
    expect(settled.status).toEqual({
      webhookSecret: { namespace: NAMESPACE, name: 'hook' },
      rotation: '2027-01-01T00:00:00Z',
    })
    expect(await vault.read('gamma-webhook', vault.ports.namespace)).toBeUndefined()
  })
})

test('the audit finds what was changed and removed, and nothing else', async () => {
  const names = ['audit-same', 'audit-edited', 'audit-gone']
  const observed = new Map(
    await Promise.all(names.map(async (name) => [name, (await settle({ name })).observed] as const)),
  )
  await vault.edit('audit-edited', { key: 'mine' })
  await vault.remove('audit-gone')
  const controller = new AbortController()
  const changed = new Set<string>()
  const { promise: isRound, resolve } = Promise.withResolvers<void>()
  let rounds = 0
  const audit = auditSecrets(
    {
      observed,
      onChange: (name) => changed.add(name),
      onError: (_, error) => {
        throw error
      },
      observe: (place) => {
        if (place.name === 'audit-same' && rounds++ > 0) resolve()
        return observeSecret(vault.ports.client, place, controller.signal)
      },
      clock: { sleep: () => Promise.resolve() },
    },
    controller.signal,
  )
  await Promise.race([isRound, audit])
  controller.abort(new Error('stopped'))
  await expect(audit).rejects.toThrow('stopped')
  expect([...changed]).toEqual(['audit-edited', 'audit-gone'])
})
