/** Tenants that are taken, and Tenants that are refused. */
import { many, type Row, refused, refusedFor, taken } from './row.ts'

const planRef = { name: 'starter' }
const CIDR = 'must be the first address of a block and its prefix length, such as 10.0.0.0/8 or fd00::/8'
const ACCOUNT = 'accountId cannot be changed or removed, and can be added only with the value of status.accountId'

export const TENANT_ROWS: readonly Row[] = [
  taken('that names its plan', { planRef }),
  taken('with everything', {
    planRef,
    accountId: 'acme',
    displayName: 'Acme',
    suspend: true,
    suspendReason: 'unpaid',
    overrides: { syncRateLimitPerMinute: 120 },
    namespaces: ['team-acme', 'team-b'],
    storage: { bucket: 'pdf-acme', prefix: 'acme/live/' },
    webhooks: { allowCidrs: ['10.0.0.0/8', 'fd00::/8', '0.0.0.0/0', '192.168.1.1/32'] },
    webhookSecretRef: { namespace: 'team-acme', name: 'hook', key: 'secret' },
    deletionPolicy: 'Retain',
  }),
  taken(
    'whose account stays',
    { planRef, accountId: 'acme', suspend: true },
    { before: { planRef, accountId: 'acme' } },
  ),
  refused(
    'whose account becomes another',
    { planRef, accountId: 'globex' },
    { field: 'spec.accountId', says: ACCOUNT, before: { planRef, accountId: 'acme' } },
  ),
  refused(
    'whose account goes',
    { planRef },
    { field: 'spec.accountId', says: ACCOUNT, before: { planRef, accountId: 'acme' } },
  ),
  ...refusedFor({ planRef }, [
    ['with an account that is none', 'accountId', 'Acme/1', 'should match'],
    ['with an account of 64 characters', 'accountId', 'a'.repeat(64), 'Too long'],
  ]),
  taken('that overrides an html rate, as its plan may have html', {
    planRef,
    overrides: { htmlRateLimitPerMinute: 5 },
  }),
  refused('without a plan', {}, { field: 'spec.planRef', says: 'Required value' }),
  refused('without a plan that is named', { planRef: {} }, { field: 'spec.planRef.name', says: 'Required value' }),
  refused(
    'with a plan by a name that is none',
    { planRef: { name: 'Starter' } },
    { field: 'spec.planRef.name', says: 'should match' },
  ),
  refused(
    'with a plan in a namespace',
    { planRef: { name: 'starter', namespace: 'a' } },
    { field: 'spec.planRef.namespace', says: 'unknown field' },
  ),
  taken('with 64 namespaces', { planRef, namespaces: many(64, (at) => `n${at}`) }),
  taken('with a name of 63 characters', { planRef }, { metadata: { name: 'a'.repeat(63) } }),
  refused(
    'with a name of 64 characters',
    { planRef },
    { field: 'metadata.name', says: '63', metadata: { name: 'a'.repeat(64) } },
  ),
  refused(
    'with a dot in its name',
    { planRef },
    { field: 'metadata.name', says: 'should match', metadata: { name: 'acme.example' } },
  ),
  taken(
    'with the time of a rotation',
    { planRef },
    { metadata: { annotations: { 'platen.dev/rotate-webhook-secret': '2027-01-31T23:59:59Z' } } },
  ),
  refused(
    'with a rotation at no time',
    { planRef },
    {
      field: 'metadata.annotations.platen.dev/rotate-webhook-secret',
      says: 'must be an RFC 3339 time',
      metadata: { annotations: { 'platen.dev/rotate-webhook-secret': 'now' } },
      unsaid: 'a rule sees of the metadata only the name',
    },
  ),
  taken('that goes to another plan', { planRef: { name: 'other' } }, { before: { planRef } }),
  ...refusedFor({ planRef }, [
    ['that overrides nothing', 'overrides', {}, 'at least 1 properties'],
    ['that overrides what is no limit', 'overrides.displayName', { displayName: 'a' }, 'unknown field'],
    [
      'that overrides a limit by too much',
      'overrides.renderTimeoutSeconds',
      { renderTimeoutSeconds: 121 },
      'less than or equal to 120',
    ],
    ['with 65 namespaces', 'namespaces', many(65, (at) => `n${at}`), 'at most 64 items'],
    ['with a namespace twice', 'namespaces[2]', ['a', 'b', 'a'], 'Duplicate value', 'namespaces'],
    ['with a namespace that is none', 'namespaces[1]', ['a', 'a.b'], 'should match'],
    ['with too long a namespace', 'namespaces[0]', ['a'.repeat(64)], '63'],
    ['with a bucket too short', 'storage.bucket', { bucket: 'ab' }, 'should match'],
    ['with a prefix that ends in no slash', 'storage.prefix', { prefix: 'acme' }, 'should match'],
    ['with a prefix that climbs', 'storage.prefix', { prefix: 'a/../' }, 'should match'],
    ['with a prefix at the root', 'storage.prefix', { prefix: '/' }, 'should match'],
    ['with too long a prefix', 'storage.prefix', { prefix: `${'a'.repeat(256)}/` }, '256'],
    ['with a receiver that is no block', 'webhooks.allowCidrs[1]', { allowCidrs: ['10.0.0.0/8', 'all'] }, CIDR],
    ['with a block that begins in its middle', 'webhooks.allowCidrs[0]', { allowCidrs: ['10.0.0.1/8'] }, CIDR],
    ['with a block of IPv6 that begins in its middle', 'webhooks.allowCidrs[0]', { allowCidrs: ['fd00::1/64'] }, CIDR],
    ['with an address without a length', 'webhooks.allowCidrs[0]', { allowCidrs: ['10.0.0.0'] }, CIDR],
    ['with a length of too many bits', 'webhooks.allowCidrs[0]', { allowCidrs: ['10.0.0.0/33'] }, CIDR],
    ['with IPv4 spelt as IPv6', 'webhooks.allowCidrs[0]', { allowCidrs: ['::ffff:10.0.0.1/128'] }, CIDR],
    ['with 33 blocks', 'webhooks.allowCidrs', { allowCidrs: many(33, (at) => `10.0.${at}.0/24`) }, 'at most 32 items'],
    ['with half a reference to its secret', 'webhookSecretRef.key', { namespace: 'a', name: 'hook' }, 'Required value'],
  ]),
]
