/** What the resources of one kind came to, by uid, and what of it changed. */
import { isDeepStrictEqual } from 'node:util'
import type { Resource, Uid } from '@platen/contract/resource.ts'
import type { InForce, Outcome } from '../compile/outcome.ts'
import { type Claim, type ClaimIndex, openClaimIndex } from './claim-index.ts'
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
  readonly claimsOf: (asked: Kind, held: Settings | undefined) => readonly Claim[]
}

/** Nothing is settled yet. */
export function openSettled<Kind extends Resource, Settings>({
  previous,
  claimsOf,
}: SettledOptions<Kind, Settings>): Settled<Kind, Settings> {
  const inForce = new Map(previous)
  const outcomes = new Map<Uid, Outcome<Kind, Settings>>()
  const index = openClaimIndex()
  const uids = new Set<Uid>()
  const replacements = new Map<Uid, Replacement<Settings>>()

  const replace = (uid: Uid, before: Settings | undefined, after: Settings | undefined) => {
    uids.add(uid)
    if (before !== after)
      replacements.set(uid, { before: replacements.has(uid) ? replacements.get(uid)?.before : before, after })
  }
  return {
    inForce,
    outcomeOf: (uid) => outcomes.get(uid),
    withRivals: index.withRivals,
    take(news) {
      for (const outcome of news) {
        const { uid } = outcome.resource.metadata
        const before = outcomes.get(uid)
        const settings = isDeepStrictEqual(before?.settings, outcome.settings) ? before?.settings : outcome.settings
        const { settings: _settings, ...rest } = outcome
        const next = { ...rest, ...(settings !== undefined && { settings }) }
        outcomes.set(uid, next)
        inForce.set(uid, next)
        index.set(uid, claimsOf(outcome.resource, settings))
        if (before?.settings !== settings || !isDeepStrictEqual(before?.conditions, outcome.conditions))
          replace(uid, before?.settings, settings)
      }
    },
    drop(uid) {
      const before = outcomes.get(uid)
      outcomes.delete(uid)
      inForce.delete(uid)
      index.set(uid, [])
      if (before !== undefined) replace(uid, before.settings, undefined)
    },
    claim(resource) {
      const { uid } = resource.metadata
      index.set(uid, claimsOf(resource, inForce.get(uid)?.settings))
    },
    changes: { uids, replacements },
    settle() {
      uids.clear()
      replacements.clear()
    },
  }
}
