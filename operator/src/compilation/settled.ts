/** What the resources of one kind came to, by uid, and what of it changed. */
import { isDeepStrictEqual } from 'node:util'
import { openInternPool } from '@platen/contract/intern.ts'
import type { Condition, Resource, Uid } from '@platen/contract/resource.ts'
import type { InForce, Outcome } from '@platen/settings/compile/outcome.ts'
import { type ClaimIndex, openClaimIndex, type WholesOf } from './claim-index.ts'
import type { Replacement } from './content.ts'

export interface Settled<Kind extends Resource, Settings> {
  /** What is in force, as compiling asks for it: also what was before anything was compiled. */
  readonly inForce: InForce<Settings>
  readonly outcomeOf: (uid: Uid) => Outcome<Kind, Settings> | undefined
  readonly withRivals: ClaimIndex['withRivals']
  /** Takes what resources came to now. Equal settings stay the same object. */
  readonly take: (outcomes: readonly Outcome<Kind, Settings>[]) => void
  readonly drop: (uid: Uid) => void
  /** Claims for a resource what it asks for, beside what it has in force. */
  readonly claim: (resource: Kind) => void
  /** What changed since it was last settled. */
  readonly changes: SettledChanges<Settings>
  readonly settle: () => void
}

export interface SettledChanges<Settings> {
  /** Whose settings or conditions are others. */
  readonly uids: ReadonlySet<Uid>
  readonly replacements: ReadonlyMap<Uid, Replacement<Settings>>
}

export interface SettledOptions<Kind extends Resource, Settings> {
  readonly previous: InForce<Settings>
  /** What a resource asks for, and what it has. */
  readonly claimsOf: (asked: Kind, held: Settings | undefined) => readonly string[]
  /** Of claims; none is a part of another where not said. */
  readonly wholesOf?: WholesOf
}

/** Lists of conditions that are kept once, as thousands of resources have the same. */
const SHARED_CONDITIONS_MAX = 1000

/** Nothing is settled yet. */
export function openSettled<Kind extends Resource, Settings>({
  previous,
  claimsOf,
  wholesOf = () => [],
}: SettledOptions<Kind, Settings>): Settled<Kind, Settings> {
  /** Without conditions it is what was before anything was compiled. */
  const inForce = new Map<Uid, Outcome<Kind, Settings> | { readonly settings?: Settings }>(previous)
  const index = openClaimIndex(wholesOf)
  const kept = openInternPool<readonly Condition[]>(SHARED_CONDITIONS_MAX)
  const uids = new Set<Uid>()
  const replacements = new Map<Uid, Replacement<Settings>>()

  const outcomeOf = (uid: Uid) => {
    const found = inForce.get(uid)
    return found !== undefined && 'conditions' in found ? found : undefined
  }
  const replace = (uid: Uid, before: Settings | undefined, after: Settings | undefined) => {
    uids.add(uid)
    if (before !== after)
      replacements.set(uid, { before: replacements.has(uid) ? replacements.get(uid)?.before : before, after })
  }
  return {
    inForce,
    outcomeOf,
    withRivals: index.withRivals,
    take(news) {
      for (const { resource, settings: found, conditions: said } of news) {
        const { uid } = resource.metadata
        const before = outcomeOf(uid)
        const settings = isDeepStrictEqual(before?.settings, found) ? before?.settings : found
        const conditions = kept(JSON.stringify(said), () => said)
        inForce.set(uid, { resource, conditions, ...(settings !== undefined && { settings }) })
        index.set(uid, claimsOf(resource, settings))
        if (before?.settings !== settings || !isDeepStrictEqual(before?.conditions, conditions))
          replace(uid, before?.settings, settings)
      }
    },
    drop(uid) {
      const before = outcomeOf(uid)
      inForce.delete(uid)
      index.set(uid, [])
      if (before !== undefined) replace(uid, before.settings, undefined)
    },
    claim(resource) {
      index.set(resource.metadata.uid, claimsOf(resource, inForce.get(resource.metadata.uid)?.settings))
    },
    changes: { uids, replacements },
    settle() {
      uids.clear()
      replacements.clear()
    },
  }
}
