import { hashOfKey, keyIdOf, newApiKey } from '@platen/contract/domain/api-key.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { anApiKeyResource, aWrittenSecret } from '../../../test/fixture/resource.ts'
import type { ClusterSecret } from './cluster-secret.ts'
import { decideKey, type KeyDecision, type KeyInput, type KeyStatus } from './decide-key.ts'
import type { RotationRequest } from './rotation.ts'

const HOUR = 3_600_000
const BRAND = 'acme'
const ids = seededIds('keys')
const resource = anApiKeyResource({ spec: { secretName: 'ci-key', overlapHours: 2 } })
const makeKey = () => newApiKey(BRAND, 'live', ids)

function look(fields: Partial<KeyInput>): KeyInput {
  const place = { namespace: resource.metadata.namespace, name: 'ci-key' }
  const nothing = { secret: undefined, status: {}, asked: undefined, now: 0 }
  return { resource, place, ...nothing, brand: BRAND, makeKey, ...fields }
}

function without(values: Readonly<Record<string, string>>, names: object): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !Object.hasOwn(names, name)))
}

interface Step {
  readonly verdict: KeyDecision
  readonly secret: ClusterSecret
  readonly status: KeyStatus
}

/** Decides, and applies the decision. */
function settled(fields: Partial<KeyInput>): Step {
  const verdict = decideKey(look(fields))
  const secret = verdict.write === undefined ? fields.secret : aWrittenSecret(fields.secret, verdict.write)
  if (secret === undefined) throw new Error('no Secret was there, and none was written')
  return { verdict, secret, status: verdict.status }
}

function hashOf({ secret }: Step): KeyHash {
  return hashOfKey(secret.data['key'] ?? '')
}

function asked(at: Instant): RotationRequest {
  return { at, text: new Date(at).toISOString() }
}

const first = settled({})
const known = { secret: first.secret, status: first.status }
const hash = hashOf(first)

function withData(secret: ClusterSecret, data: object): ClusterSecret {
  return { ...secret, data: { ...secret.data, ...data } }
}

describe('a key nobody has made yet', () => {
  test('is made, and its Secret says all there is to say', () => {
    expect(first.secret.data).toEqual({
      key: expect.stringMatching(/^acme_live_/),
      keyId: keyIdOf(hash),
      sha256: hash,
      tenant: 'acme',
    })
    expect(first.verdict).toMatchObject({ found: { hash }, isNew: true, repaired: [] })
    expect(first.verdict).not.toHaveProperty('retryAt')
    expect(first.status).toEqual({
      keyId: keyIdOf(hash),
      sha256: hash,
      prefix: first.secret.data['key']?.slice(0, 'acme_live_'.length + 4),
    })
  })

  test('needs no rotation that was asked for before', () => {
    const made = settled({ asked: asked(5) })
    expect(made.status.rotation).toBe(asked(5).text)
    expect(settled({ ...made, asked: asked(5) }).verdict).toMatchObject({ found: { hash: hashOf(made) }, isNew: false })
  })

  test('is found again where its maker died before it said so', () => {
    const again = settled({ secret: first.secret })
    expect(again.verdict).toEqual({ ...first.verdict, write: undefined, isNew: false })
  })
})

test('a key that is as it was generated is left alone', () => {
  expect(settled(known).verdict).toEqual({ found: { hash }, status: first.status, isNew: false, repaired: [] })
})

describe('a rotation', () => {
  const rotated = settled({ ...known, asked: asked(9), now: 1000 })
  const until = 1000 + 2 * HOUR
  const replaced = { hash, until }

  test('makes a new key, and the old one lives on for the overlap', () => {
    expect(rotated.verdict).toMatchObject({ found: { hash: hashOf(rotated), replaced }, isNew: true, retryAt: until })
    expect(rotated.secret.data).toMatchObject({ previousSha256: hash, sha256: hashOf(rotated) })
    expect(rotated.status).toMatchObject({
      sha256: hashOf(rotated),
      previous: { sha256: hash, until: new Date(until).toISOString() },
      rotation: asked(9).text,
    })
  })

  test.for([
    ['status was not written', first.status],
    ['status was written', rotated.status],
  ] as const)('is served once, though its %s', ([, status]) => {
    const again = settled({ secret: rotated.secret, status, asked: asked(9), now: 2000 })
    expect(again.verdict).toEqual({ ...rotated.verdict, write: undefined, isNew: false })
  })

  test('is over when its overlap is', () => {
    const over = settled({ ...rotated, asked: asked(9), now: until })
    expect(over.verdict).toMatchObject({ found: { hash: hashOf(rotated) }, isNew: false, repaired: [] })
    expect(over.verdict.found).not.toHaveProperty('replaced')
    expect(over.secret.data).not.toHaveProperty('previousSha256')
    expect(over.status).not.toHaveProperty('previous')
    expect(settled({ ...over, asked: asked(9), now: until }).verdict).not.toHaveProperty('write')
  })

  test('within an overlap ends the key before the last at once', () => {
    const twice = settled({ ...rotated, asked: asked(10), now: 1500 })
    expect(twice.verdict.found).toEqual({
      hash: hashOf(twice),
      replaced: { hash: hashOf(rotated), until: 1500 + 2 * HOUR },
    })
  })

  test('without overlap ends the last key at once', () => {
    const brief = anApiKeyResource({ spec: { secretName: 'ci-key', overlapHours: 0 } })
    const next = settled({ ...known, resource: brief, asked: asked(9) })
    expect(next.verdict.found).toEqual({ hash: hashOf(next) })
    expect(next.secret.data).not.toHaveProperty('previousSha256')
  })

  test('has an overlap of a day where the ApiKey says nothing', () => {
    const silent = anApiKeyResource({ spec: { secretName: 'ci-key' } })
    expect(settled({ ...known, resource: silent, asked: asked(9) }).verdict.retryAt).toBe(24 * HOUR)
  })

  test('is not served again when its time is gone back to', () => {
    const twice = settled({ ...rotated, asked: asked(10), now: 1500 })
    const back = settled({ ...twice, asked: asked(9), now: 1600 })
    expect(back.verdict).toMatchObject({ found: { hash: hashOf(twice) }, isNew: false })
    expect(back.status.rotation).toBe(asked(10).text)
  })

  test('makes a key where the Secret is gone, and the last one lives on for the overlap', () => {
    const made = settled({ status: first.status, asked: asked(9), now: 1000 })
    expect(made.verdict.found).toEqual({ hash: hashOf(made), replaced })
  })

  test('of an immutable Secret waits until somebody removes it', () => {
    const secret = { ...first.secret, isImmutable: true }
    const verdict = decideKey(look({ ...known, secret, asked: asked(9) }))
    expect(verdict).toMatchObject({ found: { fault: expect.stringContaining('is immutable'), kept: { hash } } })
    expect(verdict).not.toHaveProperty('write')
  })
})

describe('the key in force stays', () => {
  const hints = 'request a new key with the annotation platen.dev/rotate on ApiKey team-acme/ci'
  const predecessor = { ...first.secret, owners: first.secret.owners.map((owner) => ({ ...owner, uid: 'older' })) }

  test.for([
    ['Secret is gone', undefined, 'is gone'],
    ['key was edited', withData(first.secret, { key: 'mine' }), 'has a key'],
    ['key and hash were edited', withData(first.secret, { key: 'mine', sha256: hashOfKey('mine') }), 'has a key'],
    ['key was removed', { ...first.secret, data: without(first.secret.data, { key: 1 }) }, 'no longer has a key'],
    ['Secret is one from before', predecessor, 'belongs to an earlier ApiKey of the same name'],
  ] as const)('where its %s', ([, secret, what]) => {
    const { found, status, isNew } = decideKey(look({ secret, status: first.status }))
    expect({ status, isNew }).toEqual({ status: first.status, isNew: false })
    expect(found).toEqual({
      fault: `Secret team-acme/ci-key ${what}${what === 'has a key' ? ' other than the generated one' : ''}: restore it, or ${hints}; the last key stays in force until then`,
      kept: { hash },
    })
  })

  test('where its Secret is restored to what it was before a rotation', () => {
    const second = settled({ ...known, asked: asked(8) })
    const third = settled({ ...second, asked: asked(9) })
    for (const { secret } of [first, second])
      expect(decideKey(look({ secret, status: third.status, asked: asked(9) })).found).toMatchObject({
        fault: expect.stringContaining('has a key other than the generated one'),
        kept: { hash: hashOf(third), replaced: { hash: hashOf(second) } },
      })
  })

  test('where it was edited before its maker could tell of it', () => {
    const secret = withData(first.secret, { key: 'mine' })
    expect(decideKey(look({ secret })).found).toMatchObject({ fault: expect.any(String), kept: { hash } })
  })

  test('with the one before it, for its overlap', () => {
    const rotated = settled({ ...known, asked: asked(9) })
    const missing = { status: rotated.status, asked: asked(9) }
    const kept = { hash: hashOf(rotated), replaced: { hash, until: 2 * HOUR } }
    expect(decideKey(look({ ...missing, now: 2 * HOUR - 1 }))).toMatchObject({ found: { kept }, retryAt: 2 * HOUR })
    expect(decideKey(look({ ...missing, now: 2 * HOUR })).found).toMatchObject({ kept: { hash: hashOf(rotated) } })
    expect(decideKey(look({ ...missing, now: 2 * HOUR })).status).not.toHaveProperty('previous')
  })

  test('and an edited one is no key, whatever else is repaired', () => {
    const secret = withData(first.secret, { key: 'mine', sha256: hashOfKey('mine') })
    const mended = settled({ secret, status: first.status })
    expect(mended.secret.data).toMatchObject({ key: 'mine', sha256: hash })
    expect(mended.verdict.repaired).toEqual(['data.sha256'])
  })
})

describe('what somebody has changed beside the key', () => {
  test.for([
    ['keyId', withData(first.secret, { keyId: 'x' }), ['data.keyId']],
    ['hash', withData(first.secret, { sha256: 'x' }), ['data.sha256']],
    ['tenant', withData(first.secret, { tenant: 'other' }), ['data.tenant']],
    ['a key before it', withData(first.secret, { previousSha256: hashOfKey('x') }), ['data.previousSha256']],
    ['a label', { ...first.secret, labels: {} }, ['labels.app.kubernetes.io/managed-by', 'labels.platen.dev/tenant']],
    ['the owner', { ...first.secret, owners: [] }, ['ownerReferences']],
  ] as const)('is repaired and reported: %s', ([, secret, repaired]) => {
    const step = settled({ secret, status: first.status })
    expect(step.verdict).toMatchObject({ found: { hash }, repaired, isNew: false })
    expect(step.secret).toEqual(first.secret)
  })

  test('is left alone where it is not ours to say', () => {
    const secret = withData({ ...first.secret, labels: { ...first.secret.labels, theirs: 'a' } }, { theirs: 'b' })
    expect(decideKey(look({ secret, status: first.status }))).not.toHaveProperty('write')
  })

  test('is left alone where it cannot be changed', () => {
    const secret = { ...withData(first.secret, { keyId: 'x' }), isImmutable: true }
    const verdict = decideKey(look({ secret, status: first.status }))
    expect(verdict).toMatchObject({ found: { hash }, repaired: [] })
    expect(verdict).not.toHaveProperty('write')
  })
})

describe('a Secret of the name', () => {
  const foreign = { ...first.secret, type: 'Opaque', owners: [] }

  test.for([
    ['nothing is known', {}, undefined],
    ['a key is known', first.status, { hash }],
  ] as const)('that is somebody else’s is never touched, where %s', ([, status, kept]) => {
    const verdict = decideKey(look({ secret: { ...foreign, data: {} }, status, asked: asked(9) }))
    expect(verdict).toEqual({
      found: {
        fault:
          'Secret team-acme/ci-key does not belong to ApiKey team-acme/ci: remove it, or declare another ApiKey with another secretName',
        reason: 'SecretTaken',
        ...(kept && { kept }),
      },
      status,
      isNew: false,
      repaired: [],
    })
  })

  test('without an owner and with another key is somebody else’s, too', () => {
    const secret = { ...withData(first.secret, { key: 'mine' }), owners: [] }
    expect(decideKey(look({ secret, status: first.status })).found).toMatchObject({ reason: 'SecretTaken' })
  })

  test('that an ApiKey of the name has left gets a new key, and its rotations count no more', () => {
    const before = settled({ ...known, asked: asked(9) })
    const heir = { ...resource, metadata: { ...resource.metadata, uid: 'heir' as Uid } }
    const taken = settled({ secret: before.secret, resource: heir, asked: asked(3) })
    expect(taken.verdict.found).toEqual({ hash: hashOf(taken) })
    expect([hash, hashOf(before)]).not.toContain(hashOf(taken))
    expect(taken.secret.owners.map(({ uid }) => uid)).toEqual(['heir'])
    expect(taken.secret.data).not.toHaveProperty('previousSha256')
    expect(taken.status.rotation).toBe(asked(3).text)
    expect(settled({ ...taken, resource: heir, asked: asked(3) }).verdict).not.toHaveProperty('write')
  })
})
