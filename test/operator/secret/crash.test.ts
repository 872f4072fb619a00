/**
 * Keys on a real API server, while the operator dies around any of its writes and starts again from what etcd holds: the Secret, and
 * the status that was written last. What is decided has a property of its own, which goes further (`key-life.test.ts`); this one is of
 * the writes.
 */

import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { KeyStatus } from '@platen/operator/secret/decide-key.ts'
import {
  type ReconciledKeySecret,
  reconcileKeySecret,
  type SecretPorts,
} from '@platen/operator/secret/reconcile-key-secret.ts'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { shared } from '../../fixture/lifetime.ts'
import { anApiKeyResource } from '../../fixture/resource.ts'
import { openVault, type ReadSecret } from './vault.ts'

const HOUR = 3_600_000
const OVERLAP_HOURS = 2

/** Where it dies: before its write reaches the API server, before the answer comes, before the status is written; or not at all. */
const DEATHS = ['before the write', 'after the write', 'before the status', 'never'] as const
type Death = (typeof DEATHS)[number]

type Change = { readonly settle: Death } | { readonly waitHours: number } | 'rotate' | 'delete' | 'edit'

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...DEATHS).map((settle) => ({ settle })) },
  { weight: 2, arbitrary: fc.constant('rotate' as const) },
  fc.integer({ min: 1, max: 3 }).map((waitHours) => ({ waitHours })),
  fc.constantFrom('delete' as const, 'edit' as const),
)

const vault = shared(() => openVault())

/** The keys that should be in force, and the rotations that made them. */
interface Truth {
  readonly hash?: KeyHash
  readonly previous?: { readonly hash: KeyHash; readonly until: Instant }
  readonly served?: number
}

interface Life {
  readonly name: string
  status: KeyStatus
  asked: number
  truth: Truth
  /** What of it the status tells. */
  shown: Truth
  readonly hashes: Set<KeyHash>
}

test('the hashes in force are those that should be, wherever the operator dies', async () => {
  let lives = 0
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 4, maxLength: 16 }), async (changes) => {
      const life: Life = { name: `life-${lives++}`, status: {}, asked: 0, truth: {}, shown: {}, hashes: new Set() }
      for (const each of changes) await apply(life, each)
      await settle(life, 'never')
      await settle(life, 'never')
    }),
    { numRuns: 40 },
  )
})

async function apply(life: Life, each: Change): Promise<void> {
  if (each === 'rotate') life.asked++
  else if (each === 'delete') {
    await vault().remove(life.name)
    life.truth = life.shown
  } else if (each === 'edit') {
    if ((await vault().read(life.name)) !== undefined) await vault().edit(life.name, { key: 'mine', tenant: 'mine' })
  } else if ('settle' in each) await settle(life, each.settle)
  else await vault().ports.clock.advance(each.waitHours * HOUR)
}

/** One run of an operator that knows nothing but what etcd holds. */
async function settle(life: Life, death: Death): Promise<void> {
  const { truth, asked, status, name } = life
  const now = vault().ports.clock.now()
  const isDue = truth.hash === undefined || (asked > 0 && asked !== truth.served)
  const resource = anApiKeyResource({ metadata: { name }, spec: { secretName: name, overlapHours: OVERLAP_HOURS } })
  const rotation = asked === 0 ? undefined : new Date(asked * HOUR).toISOString()
  const { signal } = new AbortController()
  const settled = await reconcileKeySecret({ resource, rotation, status }, dying(death), signal).catch(survive)
  const secret = await vault().read(name)
  if (isDue && death !== 'before the write') life.truth = renewed(life, secret, now)
  if (settled === undefined) return
  expect(settled.isNew).toBe(isDue)
  check(life, settled, { secret, now })
  if (death !== 'never') return
  life.status = settled.status
  life.shown = life.truth
}

class Died extends Error {}

/** What dies in its writes; one that has nothing to write lives on. */
function dying(death: Death): SecretPorts {
  const { client } = vault().ports
  const dyingIn =
    <Args extends readonly unknown[], Answer>(write: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      if (death === 'before the write') throw new Died()
      const answer = await write(...args)
      if (death === 'after the write') throw new Died()
      return answer
    }
  const deadly = { ...client, createSecret: dyingIn(client.createSecret), patchSecret: dyingIn(client.patchSecret) }
  return { ...vault().ports, client: deadly }
}

function survive(error: unknown): undefined {
  if (!(error instanceof Died)) throw error
}

/** A key that was due is in the Secret: another than any before, with the one before it in force for the overlap. */
function renewed({ truth, asked, hashes }: Life, secret: ReadSecret | undefined, now: Instant): Truth {
  const hash = secret?.hash ?? ('none' as KeyHash)
  expect(secret?.data['sha256']).toBe(hash)
  expect(hashes).not.toContain(hash)
  hashes.add(hash)
  return {
    hash,
    ...(truth.hash !== undefined && { previous: { hash: truth.hash, until: now + OVERLAP_HOURS * HOUR } }),
    ...(asked > 0 && { served: asked }),
  }
}

function check(
  { truth: { hash, previous } }: Life,
  { found }: ReconciledKeySecret,
  { secret, now }: { readonly secret: ReadSecret | undefined; readonly now: Instant },
): void {
  const isOverlap = previous !== undefined && now < previous.until
  const keys = { hash, ...(isOverlap && { replaced: previous }) }
  expect(found).toEqual(secret?.hash === hash ? keys : { fault: expect.any(String), kept: keys })
  if (secret === undefined) return
  expect(secret.data).toMatchObject({ sha256: hash, tenant: 'acme' })
  expect(secret.data['previousSha256']).toBe(isOverlap ? previous.hash : undefined)
}
