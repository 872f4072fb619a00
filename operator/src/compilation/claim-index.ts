/**
 * Who claims what only one can have. Of thousands of resources it finds the few that have a say in whether one of them has its claim:
 * those it overlaps with, those they overlap with, and so on.
 */
import type { Uid } from '@platen/contract/resource.ts'

export interface Claim {
  /** What is claimed. */
  readonly name: string
  /** The names it would be a part of, its own among them. */
  readonly within: readonly string[]
}

export interface ClaimIndex {
  /** Replaces the claims of a resource. */
  readonly set: (uid: Uid, claims: readonly Claim[]) => void
  /** Adds all to these whose claims overlap, as far as that leads. */
  readonly withRivals: (uids: Iterable<Uid>) => ReadonlySet<Uid>
}

/** A claim on a name that has no parts. */
export function claimOn(name: string): Claim {
  return { name, within: [name] }
}

/** An index of nobody's claims. */
export function openClaimIndex(): ClaimIndex {
  const claims = new Map<Uid, readonly Claim[]>()
  const byName = openMultimap<string, Uid>()
  const byPart = openMultimap<string, Uid>()
  return {
    set(uid, next) {
      for (const { name, within } of claims.get(uid) ?? []) {
        byName.delete(name, uid)
        for (const whole of within) byPart.delete(whole, uid)
      }
      for (const { name, within } of next) {
        byName.add(name, uid)
        for (const whole of within) byPart.add(whole, uid)
      }
      if (next.length === 0) claims.delete(uid)
      else claims.set(uid, next)
    },
    withRivals(uids) {
      const found = new Set(uids)
      // A set gives what is added to it while it is walked, too.
      for (const uid of found) {
        for (const { name, within } of claims.get(uid) ?? []) {
          for (const rival of byPart.get(name)) found.add(rival)
          for (const whole of within) for (const rival of byName.get(whole)) found.add(rival)
        }
      }
      return found
    },
  }
}

export interface Multimap<Key, Value> {
  readonly add: (key: Key, value: Value) => void
  readonly delete: (key: Key, value: Value) => void
  readonly get: (key: Key) => ReadonlySet<Value>
}

/** Many values by one key. */
export function openMultimap<Key, Value>(): Multimap<Key, Value> {
  const sets = new Map<Key, Set<Value>>()
  const none: ReadonlySet<Value> = new Set()
  return {
    add(key, value) {
      const set = sets.get(key)
      if (set === undefined) sets.set(key, new Set([value]))
      else set.add(value)
    },
    delete(key, value) {
      const set = sets.get(key)
      set?.delete(value)
      if (set?.size === 0) sets.delete(key)
    },
    get: (key) => sets.get(key) ?? none,
  }
}
