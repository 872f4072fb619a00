/** The account of a tenant, and its webhooks: their targets and their secrets. */
import { WEBHOOK_SECRET_OVERLAP_MS as OVERLAP, WEBHOOK_SECRETS_MAX } from '@platen/contract/domain/limit.ts'
import type { TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS, type TenantId, type WebhookSecret } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { aPlanResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { type Compiled, type CompileInput, compile } from '../compilation/compile.ts'
import type { InForceBefore } from '../compilation/state.ts'
import { accountErased } from './tenant/account.ts'
import type { FoundSecret, Reseal } from './tenant.ts'

const tenant = aTenantResource()
const { uid } = tenant.metadata

interface Given {
  readonly found?: FoundSecret
  readonly now?: number
  readonly previous?: InForceBefore
  readonly resource?: TenantResource
  readonly reseal?: Reseal
  readonly areSecretsReadable?: () => boolean
}

const NOTHING: CompileInput = {
  resources: [],
  configMaps: new Map(),
  foundKeys: new Map(),
  webhookSecrets: new Map(),
  checks: new Map(),
  defaults: DEFAULT_LIMITS,
  serviceBucket: 'platen',
  now: 0,
}

function compiled({ found, now = 0, previous, resource = tenant, ...others }: Given): Compiled {
  return compile({
    ...NOTHING,
    resources: [aPlanResource(), resource],
    webhookSecrets: new Map<Uid, FoundSecret>(found && [[resource.metadata.uid, found]]),
    now,
    ...(previous && { previous }),
    ...others,
  })
}

const settings = ({ snapshot }: Compiled) => snapshot.tenants.get('acme' as TenantId)
const secrets = (result: Compiled): readonly WebhookSecret[] | undefined => settings(result)?.webhookSecrets
const ready = ({ tenants }: Compiled) => tenants.get(uid)?.conditions[0]

describe('an account', () => {
  const aTenant = (name: string, createdAt: number, accountId?: string) =>
    aTenantResource({ metadata: { name, createdAt }, spec: { ...(accountId !== undefined && { accountId }) } })
  const compiledAll = (tenants: readonly TenantResource[], more: Partial<CompileInput> = {}) =>
    compile({ ...NOTHING, resources: [aPlanResource(), ...tenants], ...more })
  /** The account of each tenant that is served. */
  const accounts = ({ snapshot }: Compiled) =>
    Object.fromEntries([...snapshot.tenants.values()].map(({ id, account }) => [id, account]))
  const accepted = ({ tenants }: Compiled, { metadata }: TenantResource) =>
    tenants.get(metadata.uid)?.conditions.find(({ type }) => type === 'Accepted')

  test('is what the tenant declares, or its uid', () => {
    const result = compiledAll([aTenant('one', 0, 'first'), aTenant('two', 0)])
    expect(accounts(result)).toEqual({ one: 'first', two: 'uid of Tenant two' })
  })

  test.for([
    ['the older', [2, 1], 'two'],
    ['of the same age the first by name', [1, 1], 'one'],
  ] as const)('that two declare is that of %s, whatever was in force', ([, [one, two], winner]) => {
    const tenants = [aTenant('one', one, 'same'), aTenant('two', two, 'same')] as const
    const loser = tenants.find(({ metadata }) => metadata.name !== winner) ?? tenants[0]
    const before = compiledAll([loser])
    for (const order of [tenants, tenants.toReversed()]) {
      const result = compiledAll(order, { previous: before })
      expect(accounts(result)).toEqual({ [winner]: 'same' })
      const message = `Tenant ${winner} is older and has the account same; this one waits until that is gone`
      expect(accepted(result, loser)).toMatchObject({ status: 'False', reason: 'AccountTaken', message })
    }
    expect(accounts(compiledAll([loser], { previous: compiledAll(tenants) }))).toEqual({
      [loser.metadata.name]: 'same',
    })
  })

  test('that is the uid of another tenant is that of the other', () => {
    const second = aTenant('two', 1, 'uid-of-one')
    const first = aTenantResource({ metadata: { name: 'one', uid: 'uid-of-one' as Uid } })
    const result = compiledAll([second, first])
    expect(accounts(result)).toEqual({ one: 'uid-of-one' })
    expect(accepted(result, second)).toMatchObject({ reason: 'AccountTaken' })
  })

  test('that is being erased is refused, also to a tenant that had settings', () => {
    const declared = aTenant('one', 0, 'erased')
    const accountRefusals = new Map([[declared.metadata.uid, accountErased('erased', 86_400_000)]])
    const result = compiledAll([declared], { accountRefusals, previous: compiledAll([declared]) })
    expect(accounts(result)).toEqual({})
    const message = expect.stringContaining('until 1970-01-02T00:00:00.000Z')
    expect(accepted(result, declared)).toMatchObject({ reason: 'AccountErased', message })
  })

  test('stays what it was when a manifest declares another', () => {
    const changed = aTenantResource({ metadata: { account: 'first' }, spec: { accountId: 'second' } })
    const result = compiledAll([changed])
    expect(accounts(result)).toEqual({ acme: 'first' })
    const message = 'accountId cannot be changed: the account of this tenant is first'
    expect(accepted(result, changed)).toMatchObject({ reason: 'AccountIdChanged', message })
  })
})

test('a tenant’s own networks are published in the order of their spelling, or not at all', () => {
  const published = (allowCidrs: string[]) =>
    settings(compiled({ resource: aTenantResource({ spec: { webhooks: { allowCidrs } } }) }))?.webhookAllowCidrs
  expect(published(['fd00::/8', '10.0.0.0/8'])).toEqual(['10.0.0.0/8', 'fd00::/8'])
  expect(published([])).toBeUndefined()
  expect(settings(compiled({}))).not.toHaveProperty('webhookAllowCidrs')
})

describe('a secret', () => {
  const first = compiled({ found: { current: 'sealed A' } })

  test('is published sealed', () => {
    expect(secrets(first)).toEqual([{ sealed: 'sealed A' }])
    expect(ready(first)).toMatchObject({ status: 'True' })
  })

  test('that is the same changes nothing, not even the revision', () => {
    const again = compiled({ found: { current: 'sealed A' }, now: 5, previous: first })
    expect(again.snapshot).toEqual(first.snapshot)
  })

  test('that is the same under another seal key is no rotation, whether it was found before or after the change', () => {
    const second = compiled({
      found: { current: 'old B' },
      now: 1000,
      previous: compiled({ found: { current: 'old A' } }),
    })
    const reseal: Reseal = (sealed, whose) => (whose === uid ? sealed.replace('old', 'new') : 'of another tenant')
    const wanted = [{ sealed: 'new A', until: 1000 + OVERLAP }, { sealed: 'new B' }]
    for (const found of [{ current: 'old B' }, { current: 'new B', replaced: 'old A' }, { fault: 'it is gone' }])
      expect(secrets(compiled({ found, now: 2000, previous: second, reseal }))).toEqual(wanted)
    expect(secrets(compiled({ now: 2000, previous: second, reseal }))).toEqual(wanted)
  })

  test('that is another replaces it, with an overlap from now on that later looks do not prolong', () => {
    const second = compiled({ found: { current: 'sealed B' }, now: 1000, previous: first })
    const both = [{ sealed: 'sealed A', until: 1000 + OVERLAP }, { sealed: 'sealed B' }]
    expect(secrets(second)).toEqual(both)
    expect(second.snapshot).not.toEqual(first.snapshot)
    const third = compiled({ found: { current: 'sealed B' }, now: 2000, previous: second })
    expect(third.snapshot).toEqual(second.snapshot)
    const last = compiled({ found: { current: 'sealed B' }, now: 1000 + OVERLAP, previous: third })
    expect(secrets(last)).toEqual([{ sealed: 'sealed B' }])
  })

  test('that was just replaced has its overlap where nothing is known of before, and no more than its own elsewhere', () => {
    const found = { current: 'sealed B', replaced: 'sealed A' }
    const both = [{ sealed: 'sealed A', until: OVERLAP + 7 }, { sealed: 'sealed B' }]
    expect(secrets(compiled({ found, now: 7 }))).toEqual(both)
    const rotated = compiled({ found, now: 7, previous: first })
    expect(secrets(rotated)).toEqual(both)
    expect(secrets(compiled({ found, now: 9, previous: rotated }))).toEqual(both)
    const unknown = compiled({ found: { current: 'sealed C', replaced: 'never in force' }, now: 7, previous: first })
    expect(secrets(unknown)).toEqual([both[0], { sealed: 'sealed C' }])
  })

  test('that is missing leaves the tenant served, and says what to do and what happens meanwhile', () => {
    const result = compiled({ found: { fault: 'there is none: make one' } })
    expect(settings(result)).toMatchObject({ suspended: false, limits: DEFAULT_LIMITS })
    expect(settings(result)).not.toHaveProperty('webhookSecrets')
    const message = 'there is none: make one; webhooks wait until then'
    expect(ready(result)).toMatchObject({ status: 'False', reason: 'SecretMissing', message })
  })

  test('whose place somebody else has taken is told so', () => {
    const result = compiled({ found: { fault: 'it is another’s', reason: 'SecretTaken' } })
    expect(ready(result)).toMatchObject({ reason: 'SecretTaken', message: 'it is another’s; webhooks wait until then' })
  })

  test('that is missing while the published one does not open says that webhooks wait', () => {
    const result = compiled({ found: { fault: 'it is gone', isUnreadable: true }, previous: first })
    expect(ready(result)).toMatchObject({
      status: 'False',
      reason: 'SecretUnreadable',
      message:
        'it is gone; the one published earlier was sealed with no key of PLATEN_SEAL_KEY; webhooks wait until then',
    })
    expect(result.snapshot).toEqual(first.snapshot)
  })

  test('that an events process cannot open is published, and says that webhooks wait', () => {
    const areSecretsReadable = () => false
    const result = compiled({ found: { current: 'sealed A' }, areSecretsReadable })
    expect(ready(result)).toMatchObject({
      status: 'False',
      reason: 'SecretUnreadable',
      message: expect.stringContaining('an events process has no key of PLATEN_SEAL_KEY that opens the webhook secret'),
    })
    expect(result.snapshot).toEqual(first.snapshot)
    expect(ready(compiled({ areSecretsReadable }))).toMatchObject({ status: 'True' })
    expect(ready(compiled({ areSecretsReadable: () => true, previous: result }))).toMatchObject({ status: 'True' })
  })

  test('that is missing now stays in force, overlaps and all, and is whole again when it is back', () => {
    const rotated = compiled({ found: { current: 'sealed B' }, now: 0, previous: first })
    const missing = compiled({ found: { fault: 'it is gone' }, now: 5, previous: rotated })
    expect(missing.snapshot).toEqual(rotated.snapshot)
    expect(ready(missing)?.message).toBe('it is gone; the one published earlier stays in force until then')
    expect(secrets(compiled({ found: { fault: 'it is gone' }, now: OVERLAP, previous: missing }))).toEqual([
      { sealed: 'sealed B' },
    ])
    const back = compiled({ found: { current: 'sealed B' }, now: 5, previous: missing })
    expect(back.snapshot).toEqual(rotated.snapshot)
    expect(ready(back)).toMatchObject({ status: 'True' })
  })

  test('that nobody looked for stays in force', () => {
    expect(compiled({ previous: first }).snapshot).toEqual(first.snapshot)
  })

  test('is not taken over by a tenant created again under the old name', () => {
    const recreated = aTenantResource({ metadata: { uid: 'another uid' as Uid } })
    expect(secrets(compiled({ resource: recreated, found: { fault: 'it is gone' }, previous: first }))).toBeUndefined()
    expect(secrets(compiled({ resource: recreated, found: { current: 'sealed B' }, previous: first }))).toEqual([
      { sealed: 'sealed B' },
    ])
  })

  test('beyond those that may sign at once waits, and says until when', () => {
    let full: Compiled | undefined
    for (let at = 0; at < WEBHOOK_SECRETS_MAX; at++)
      full = compiled({ found: { current: `sealed ${at}` }, now: at, ...(full && { previous: full }) })
    if (full === undefined) throw new Error('nothing was rotated')
    const found = { current: 'sealed last' }
    const result = compiled({ found, now: 50, previous: full })
    expect(result.snapshot).toEqual(full.snapshot)
    const end = new Date(OVERLAP + 1).toISOString()
    expect(ready(result)).toMatchObject({ reason: 'RotationPutOff', message: expect.stringContaining(`after ${end}`) })
    const later = compiled({ found, now: OVERLAP + 1, previous: result })
    expect(secrets(later)?.at(-1)).toEqual({ sealed: 'sealed last' })
    expect(ready(later)).toMatchObject({ status: 'True' })
  })

  test('that is missing is no reason where another stands in the way', () => {
    const plan = aTenantResource({ spec: { planRef: { name: 'none' } } })
    const result = compiled({ resource: plan, found: { fault: 'it is gone' }, previous: first })
    expect(ready(result)).toMatchObject({ reason: 'PlanNotFound' })
    expect(secrets(result)).toEqual([{ sealed: 'sealed A' }])
  })
})
