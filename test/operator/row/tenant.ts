/** Tenants that are taken, and Tenants that are refused. */
import { many, type Row, refused, taken } from './row.ts'

const planRef = { name: 'starter' }
const CIDR = 'must be the first address of a block and its prefix length, as 10.0.0.0/8 or fd00::/8'

export const TENANT_ROWS: readonly Row[] = [
  taken('that names its plan', { planRef }),
  taken('with everything', {
    planRef,
    displayName: 'Acme',
    suspended: true,
    suspendedReason: 'unpaid',
    overrides: { syncRateLimitPerMinute: 120 },
    namespaces: ['team-acme', 'team-b'],
    storage: { bucket: 'pdf-acme', prefix: 'acme/live/' },
    webhooks: { allowCidrs: ['10.0.0.0/8', 'fd00::/8', '0.0.0.0/0', '192.168.1.1/32'] },
    webhookSecretRef: { namespace: 'team-acme', name: 'hook', key: 'secret' },
    deletionPolicy: 'Delete',
  }),
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
  refused(
    'that overrides nothing',
    { planRef, overrides: {} },
    { field: 'spec.overrides', says: 'at least 1 properties' },
  ),
  refused(
    'that overrides what is no limit',
    { planRef, overrides: { displayName: 'a' } },
    { field: 'spec.overrides.displayName', says: 'unknown field' },
  ),
  refused(
    'that overrides a limit by too much',
    { planRef, overrides: { renderTimeoutSeconds: 121 } },
    { field: 'spec.overrides.renderTimeoutSeconds', says: 'less than or equal to 120' },
  ),
  taken('with 64 namespaces', { planRef, namespaces: many(64, (at) => `n${at}`) }),
  refused(
    'with 65 namespaces',
    { planRef, namespaces: many(65, (at) => `n${at}`) },
    { field: 'spec.namespaces', says: 'at most 64 items' },
  ),
  refused(
    'with a namespace twice',
    { planRef, namespaces: ['a', 'b', 'a'] },
    { field: 'spec.namespaces[2]', says: 'Duplicate value', ours: 'spec.namespaces' },
  ),
  refused(
    'with a namespace that is none',
    { planRef, namespaces: ['a', 'a.b'] },
    { field: 'spec.namespaces[1]', says: 'should match' },
  ),
  refused(
    'with too long a namespace',
    { planRef, namespaces: ['a'.repeat(64)] },
    { field: 'spec.namespaces[0]', says: '63' },
  ),
  refused(
    'with a bucket too short',
    { planRef, storage: { bucket: 'ab' } },
    { field: 'spec.storage.bucket', says: 'should match' },
  ),
  refused(
    'with a prefix that ends in no slash',
    { planRef, storage: { prefix: 'acme' } },
    { field: 'spec.storage.prefix', says: 'should match' },
  ),
  refused(
    'with a prefix that climbs',
    { planRef, storage: { prefix: 'a/../' } },
    { field: 'spec.storage.prefix', says: 'should match' },
  ),
  refused(
    'with a prefix at the root',
    { planRef, storage: { prefix: '/' } },
    { field: 'spec.storage.prefix', says: 'should match' },
  ),
  refused(
    'with too long a prefix',
    { planRef, storage: { prefix: `${'a'.repeat(256)}/` } },
    { field: 'spec.storage.prefix', says: '256' },
  ),
  refused(
    'with a receiver that is no block',
    { planRef, webhooks: { allowCidrs: ['10.0.0.0/8', 'all'] } },
    { field: 'spec.webhooks.allowCidrs[1]', says: CIDR },
  ),
  refused(
    'with a block that begins in its middle',
    { planRef, webhooks: { allowCidrs: ['10.0.0.1/8'] } },
    { field: 'spec.webhooks.allowCidrs[0]', says: CIDR },
  ),
  refused(
    'with a block of IPv6 that begins in its middle',
    { planRef, webhooks: { allowCidrs: ['fd00::1/64'] } },
    { field: 'spec.webhooks.allowCidrs[0]', says: CIDR },
  ),
  refused(
    'with an address without a length',
    { planRef, webhooks: { allowCidrs: ['10.0.0.0'] } },
    { field: 'spec.webhooks.allowCidrs[0]', says: CIDR },
  ),
  refused(
    'with a length of too many bits',
    { planRef, webhooks: { allowCidrs: ['10.0.0.0/33'] } },
    { field: 'spec.webhooks.allowCidrs[0]', says: CIDR },
  ),
  refused(
    'with IPv4 spelt as IPv6',
    { planRef, webhooks: { allowCidrs: ['::ffff:10.0.0.1/128'] } },
    { field: 'spec.webhooks.allowCidrs[0]', says: CIDR },
  ),
  refused(
    'with 33 blocks',
    { planRef, webhooks: { allowCidrs: many(33, (at) => `10.0.${at}.0/24`) } },
    { field: 'spec.webhooks.allowCidrs', says: 'at most 32 items' },
  ),
  refused(
    'with half a reference to its secret',
    { planRef, webhookSecretRef: { namespace: 'a', name: 'hook' } },
    { field: 'spec.webhookSecretRef.key', says: 'Required value' },
  ),
  refused(
    'with another policy',
    { planRef, deletionPolicy: 'Keep' },
    { field: 'spec.deletionPolicy', says: 'Unsupported value' },
  ),
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
      says: 'must be a time',
      metadata: { annotations: { 'platen.dev/rotate-webhook-secret': 'now' } },
      unsaid: 'a rule sees of the metadata only the name',
    },
  ),
  taken('that goes to another plan', { planRef: { name: 'other' } }, { before: { planRef } }),
]
