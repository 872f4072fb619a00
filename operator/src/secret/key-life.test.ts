/**
 * The life of a key under every change by others and every crash of the operator: after a decision, after the Secret is written, after
 * the hashes are published, or not at all. The operator restarts from what etcd holds: the Secret and the status.
 */
import assert from 'node:assert/strict'
import { hashOfKey, keyIdOf, newApiKey } from '@platen/contract/domain/api-key.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { FoundKey, KeysInForce } from '@platen/settings/compile/api-key.ts'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { anApiKeyResource, aWrittenSecret } from '../../../test/fixture/resource.ts'
import type { ClusterSecret } from './cluster-secret.ts'
import { decideKey, type KeyStatus } from './decide-key.ts'

const HOUR = 3_600_000

/** How far the operator gets before it dies. */
const STEPS = ['decided', 'written', 'published', 'told'] as const
type Step = (typeof STEPS)[number]

/** What others do to the Secret. */
const DEEDS = ['delete', 'edit key', 'edit both', 'edit the rest', 'back up', 'restore'] as const

type Change =
  | { readonly what: 'settle'; readonly until: Step }
  | { readonly what: 'rotate'; readonly overlapHours: number }
  | { readonly what: 'wait'; readonly hours: number }
  | { readonly what: (typeof DEEDS)[number] }

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...STEPS).map((until) => ({ what: 'settle', until }) as const) },
  { weight: 2, arbitrary: fc.nat(3).map((overlapHours) => ({ what: 'rotate', overlapHours }) as const) },
  { weight: 2, arbitrary: fc.nat(3).map((hours) => ({ what: 'wait', hours }) as const) },
  { weight: 4, arbitrary: fc.constantFrom(...DEEDS).map((what) => ({ what }) as const) },
)

/** The expected state of the key. */
interface Truth {
  readonly keys?: KeysInForce
  /** The last rotation served. */
  readonly served?: Instant
}

/** The world, and what should be true in it. */
interface World {
  now: Instant
  asked: Instant | undefined
  overlapHours: number
  secret: ClusterSecret | undefined
  /** A copy of the Secret, taken when the status contained everything in it. */
  backup: ClusterSecret | undefined
  status: KeyStatus
  truth: Truth
  /** The part of the truth that survives the loss of the Secret: the last status. */
  shown: Truth
  readonly made: Set<KeyHash>
}

const ids = seededIds('life')

test('the hashes in force are those that should be, whoever dies when and whatever is done to the Secret', () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 40 }), (changes) => {
      const world: World = {
        now: 0,
        asked: undefined,
        overlapHours: 1,
        secret: undefined,
        backup: undefined,
        status: {},
        truth: {},
        shown: {},
        made: new Set(),
      }
      for (const each of changes) apply(world, each)
      settle(world, 'told')
      settle(world, 'told')
    }),
    { numRuns: 2000 },
  )
})

function apply(world: World, { what, ...how }: Change): void {
  switch (what) {
    case 'settle':
      return settle(world, 'until' in how ? how.until : 'told')
    case 'rotate':
      world.asked = (world.asked ?? 0) + 1
      world.overlapHours = 'overlapHours' in how ? how.overlapHours : 0
      return undefined
    case 'wait':
      world.now += 'hours' in how ? how.hours * HOUR : 0
      return undefined
    case 'delete':
      world.secret = undefined
      world.truth = world.shown
      return undefined
    case 'edit key':
      return edit(world, { key: 'edited' })
    case 'edit both':
      // Before the status contains a key, nothing can reveal a complete forgery.
      return isShown(world) ? edit(world, { key: 'edited', sha256: hashOfKey('edited') }) : undefined
    case 'edit the rest':
      return edit(world, { keyId: 'edited', tenant: 'edited' })
    case 'back up':
      world.backup = isShown(world) ? world.secret : world.backup
      return undefined
    case 'restore':
      if (world.backup !== undefined) world.truth = world.shown
      world.secret = world.backup ?? world.secret
      return undefined
  }
}

function edit(world: World, data: Readonly<Record<string, string>>): void {
  const { secret } = world
  if (secret !== undefined) world.secret = { ...secret, data: { ...secret.data, ...data } }
}

function isShown({ truth, shown }: World): boolean {
  return truth === shown
}

/** One run of the operator, which reads only the Secret and the status. */
function settle(world: World, until: Step): void {
  const { now, status, secret, asked, truth } = world
  const resource = anApiKeyResource({ spec: { secretName: 'ci-key', overlapHours: world.overlapHours } })
  const verdict = decideKey({
    resource,
    place: { namespace: resource.metadata.namespace, name: 'ci-key' },
    secret,
    status,
    asked: asked === undefined ? undefined : { at: asked, text: new Date(asked).toISOString() },
    now,
    brand: 'acme',
    makeKey: () => newApiKey('acme', 'live', ids),
  })
  const isDue = truth.keys === undefined || (asked !== undefined && asked !== truth.served)
  expect(verdict.isNew).toBe(isDue)
  const next = isDue ? renewed(world, verdict.found) : truth
  if (until === 'decided') return
  world.truth = next
  if (verdict.write !== undefined) world.secret = aWrittenSecret(secret, verdict.write)
  if (until === 'written') return
  check(world, verdict.found)
  if (until === 'published') return
  world.shown = next
  world.status = verdict.status
}

/** The expected state after a due key was made. The key is random, so it comes from the result. */
function renewed({ truth, asked, now, overlapHours, made }: World, found: FoundKey): Truth {
  assert('hash' in found, 'a key that is due is made')
  expect(made).not.toContain(found.hash)
  made.add(found.hash)
  const replaced = truth.keys && overlapHours > 0 && { hash: truth.keys.hash, until: now + overlapHours * HOUR }
  return {
    keys: { hash: found.hash, ...(replaced && { replaced }) },
    ...(asked !== undefined && { served: asked }),
  }
}

function check({ truth, now, secret }: World, found: FoundKey): void {
  assert(truth.keys !== undefined, 'there is a key once it was asked for')
  const { hash, replaced } = truth.keys
  const keys = { hash, ...(replaced !== undefined && now < replaced.until && { replaced }) }
  const { key, ...rest } = secret?.data ?? {}
  if (key === undefined || hashOfKey(key) !== hash) {
    expect(found).toEqual({ fault: expect.any(String), kept: keys })
  } else expect(found).toEqual(keys)
  if (secret === undefined) return
  expect(rest).toEqual({
    keyId: keyIdOf(hash),
    sha256: hash,
    tenant: 'acme',
    ...(keys.replaced && { previousSha256: keys.replaced.hash }),
  })
}
