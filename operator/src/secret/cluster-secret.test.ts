import type { Uid } from '@platen/contract/domain/resource.ts'
import { describe, expect, test } from 'vitest'
import type { KubeObject, OwnerReference } from '../cluster/object.ts'
import { differencesBetween, newBody, type Owner, ownershipOf, patchBody, readClusterSecret } from './cluster-secret.ts'

const owner: Owner = { kind: 'ApiKey', name: 'ci', uid: 'uid-2' as Uid }
const wanted = {
  owner,
  data: { key: 'the key', previousSha256: undefined },
  annotations: { served: 'a', until: undefined },
  labels: { tenant: 'acme' },
}
const ours: OwnerReference = {
  apiVersion: 'platen.dev/v1alpha1',
  kind: 'ApiKey',
  name: 'ci',
  uid: 'uid-2',
  controller: true,
}
const base64 = (text: string) => Buffer.from(text).toString('base64')

function stored({
  owners = [ours],
  ...fields
}: {
  owners?: readonly OwnerReference[]
  [field: string]: unknown
} = {}): KubeObject {
  return {
    metadata: {
      name: 'ci-key',
      uid: 'a',
      resourceVersion: '7',
      annotations: { served: 'a' },
      labels: { tenant: 'acme' },
      ownerReferences: owners,
    },
    type: 'platen.dev/api-key',
    data: { key: base64('the key') },
    ...fields,
  }
}

describe('a Secret', () => {
  test.for([
    ['its controller', [ours], 'own'],
    ['among its owners', [{ ...ours, controller: false }], 'own'],
    ['its controller by another version', [{ ...ours, apiVersion: 'platen.dev/v1' }], 'own'],
    ['gone: one of its name created again', [{ ...ours, uid: 'uid-1' }], 'predecessor'],
    ['nobody', [], 'orphan'],
    ['another name', [{ ...ours, uid: 'uid-1', name: 'cd' }], 'taken'],
    ['another kind', [{ ...ours, uid: 'uid-1', kind: 'Template' }], 'taken'],
    ['another group', [{ ...ours, uid: 'uid-1', apiVersion: 'platen.dev.example/v1' }], 'taken'],
    [
      'among its owners, but not its controller',
      [
        { ...ours, controller: false },
        { ...ours, uid: 'x', kind: 'Pod' },
      ],
      'taken',
    ],
  ] as const)('whose owner is %s', ([, owners, standing]) => {
    expect(ownershipOf(readClusterSecret(stored({ owners })), owner)).toBe(standing)
  })

  test('of nobody and of another type is taken', () => {
    expect(ownershipOf(readClusterSecret(stored({ owners: [], type: 'Opaque' })), owner)).toBe('taken')
  })

  test('that is as it should be has no differences', () => {
    expect(differencesBetween(readClusterSecret(stored()), wanted)).toEqual([])
  })

  test('is compared by what is ours to say alone', () => {
    const data = { key: base64('the key'), theirs: base64('x') }
    const guest = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p' }
    expect(differencesBetween(readClusterSecret(stored({ data, owners: [guest, ours] })), wanted)).toEqual([])
  })

  test('is reported by the fields that differ', () => {
    const data = { key: base64('another'), previousSha256: base64('x') }
    const owners = [ours, { ...ours, uid: 'uid-1', controller: false }]
    const held = { ...readClusterSecret(stored({ data, owners })), labels: {}, annotations: { until: 'now' } }
    expect(differencesBetween(held, wanted)).toEqual([
      'data.key',
      'data.previousSha256',
      'annotations.served',
      'annotations.until',
      'labels.tenant',
      'ownerReferences',
    ])
  })

  test('may have a key with a name that every object has', () => {
    const odd = { ...wanted, data: { constructor: undefined }, annotations: { valueOf: undefined } }
    expect(differencesBetween(readClusterSecret(stored({ data: undefined })), odd)).toEqual([])
  })

  test('is made whole', () => {
    expect(JSON.parse(JSON.stringify(newBody({ namespace: 'team', name: 's' }, wanted)))).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        namespace: 'team',
        name: 's',
        annotations: { served: 'a' },
        labels: { tenant: 'acme' },
        ownerReferences: [ours],
      },
      type: 'platen.dev/api-key',
      data: { key: base64('the key') },
    })
  })

  test('is patched where it has not changed since, and keeps the owners it has beside us', () => {
    const guest = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p' }
    const held = readClusterSecret(stored({ owners: [{ ...ours, uid: 'uid-1' }, guest] }))
    expect(patchBody(held, wanted)).toEqual({
      metadata: {
        resourceVersion: '7',
        annotations: { served: 'a', until: null },
        labels: { tenant: 'acme' },
        ownerReferences: [guest, ours],
      },
      data: { key: base64('the key'), previousSha256: null },
    })
  })

  test('keeps bytes that are no text', () => {
    const bytes = Buffer.from([0, 128, 255]).toString('base64')
    const { key = '' } = readClusterSecret(stored({ data: { key: bytes } })).data
    expect(patchBody(readClusterSecret(stored()), { ...wanted, data: { key } })).toMatchObject({ data: { key: bytes } })
  })
})
