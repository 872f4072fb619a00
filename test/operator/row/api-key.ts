/** ApiKeys that are taken, and ApiKeys that are refused. */
import { CONSTANT, type Row, refused, refusedFor, taken } from './row.ts'

const tenantRef = { name: 'acme' }
const key = { tenantRef, secretName: 'ci-key' }
const sha256 = `sha256:${'0a'.repeat(32)}`

export const API_KEY_ROWS: readonly Row[] = [
  taken('that is generated', key),
  taken('that is given by its hash', { tenantRef, sha256 }),
  taken('with everything', {
    ...key,
    environment: 'Test',
    description: 'CI',
    expiresAt: '2027-01-31T23:59:59.5+01:00',
    suspend: true,
    overlapHours: 0,
  }),
  refused(
    'that comes from nowhere',
    { tenantRef },
    { field: 'spec', says: 'needs either secretName (to generate a key) or sha256 (to use a key of yours), not both' },
  ),
  refused(
    'that comes from two places',
    { ...key, sha256 },
    { field: 'spec', says: 'needs either secretName (to generate a key) or sha256 (to use a key of yours), not both' },
  ),
  refused('without a tenant', { secretName: 'ci-key' }, { field: 'spec.tenantRef', says: 'Required value' }),
  refused(
    'that goes to another tenant',
    { ...key, tenantRef: { name: 'globex' } },
    { field: 'spec.tenantRef.name', says: CONSTANT, before: key },
  ),
  taken('that goes to the environment it is in', { ...key, environment: 'Live' }, { before: key }),
  refused(
    'that goes to another environment',
    { ...key, environment: 'Test' },
    { field: 'spec.environment', says: CONSTANT, before: key },
  ),
  refused('whose environment goes', key, {
    field: 'spec.environment',
    says: CONSTANT,
    before: { ...key, environment: 'Test' },
  }),
  refused(
    'that goes to another Secret',
    { ...key, secretName: 'another' },
    { field: 'spec.secretName', says: CONSTANT, before: key },
  ),
  refused(
    'that becomes another one',
    { tenantRef, sha256: `sha256:${'1b'.repeat(32)}` },
    { field: 'spec.sha256', says: CONSTANT, before: { tenantRef, sha256 } },
  ),
  refused(
    'that is no longer generated',
    { tenantRef, sha256 },
    { field: 'spec.secretName', also: 'spec.sha256', says: CONSTANT, before: key },
  ),
  refused('that is generated from now on', key, {
    field: 'spec.secretName',
    also: 'spec.sha256',
    says: CONSTANT,
    before: { tenantRef, sha256 },
  }),
  taken('that is suspended', { ...key, suspend: true, description: 'x', overlapHours: 1 }, { before: key }),
  ...refusedFor(key, [
    ['of another environment', 'environment', 'live', 'Unsupported value'],
    ['that expires some day', 'expiresAt', 'soon', 'date-time'],
    ['that expires on a day', 'expiresAt', '2027-01-31', 'should match'],
    ['that expires on no day', 'expiresAt', '2027-02-30T00:00:00Z', 'date-time'],
    ['that expires in a leap second', 'expiresAt', '2026-12-31T23:59:60Z', 'should match'],
    ['that lives on for a month and an hour', 'overlapHours', 721, 'less than or equal to 720'],
  ]),
  ...refusedFor({ tenantRef }, [
    ['with a hash in capitals', 'sha256', sha256.toUpperCase(), 'should match'],
    ['with a hash that is too long', 'sha256', `${sha256}0`, 'should match'],
    ['with a key for a hash', 'sha256', `service_live_${'a'.repeat(33)}`, 'should match'],
    ['with a Secret by no name', 'secretName', 'CI key', 'should match'],
  ]),
]
