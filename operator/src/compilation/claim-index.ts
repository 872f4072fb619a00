/**
 * Who claims what only one can have. Of thousands of resources it finds the few that have a say in whether one of them has its claim:
 * those it overlaps with, those they overlap with, and so on.
 */
import type { Uid } from '@platen/contract/resource.ts'

export interface ClaimIndex {
  /** Replaces the claims of a resource, each the name of what is claimed. */
  readonly set: (uid: Uid, claims: readonly string[]) => void
  /** Adds all to these whose claims overlap, as far as that leads. */
  readonly withRivals: (uids: Iterable<Uid>) => ReadonlySet<Uid>
}

/** The names a name is a part of. */
export type WholesOf = (name: string) => readonly string[]

/** An index of nobody's claims. */
export function openClaimIndex(wholesOf: WholesOf): ClaimIndex {
  const claims = openMultimap<Uid, string>()
  const byName = openMultimap<string, Uid>()
  const byPart = openMultimap<string, Uid>()
  return {
    set(uid, next) {
      for (const name of claims.get(uid)) {
        claims.delete(uid, name)
        byName.delete(name, uid)
        for (const whole of wholesOf(name)) byPart.delete(whole, uid)
      }
      for (const name of next) {
        claims.add(uid, name)
        byName.add(name, uid)
        for (const whole of wholesOf(name)) byPart.add(whole, uid)
      }
    },
    withRivals(uids) {
      const found = new Set(uids)
      // A set gives what is added to it while it is walked, too.
      for (const uid of found) {
        for (const name of claims.get(uid)) {
          for (const rival of byPart.get(name)) found.add(rival)
          for (const claimed of [name, ...wholesOf(name)]) for (const rival of byName.get(claimed)) found.add(rival)
        }
      }
      return found
    },
  }
}

export interface Multimap<Key, Value extends string> {
  readonly add: (key: Key, value: Value) => void
  readonly delete: (key: Key, value: Value) => void
  readonly get: (key: Key) => ReadonlySet<Value>
}

/** Many values by one key. Most keys have one, and of tens of thousands of sets with one value each most is the sets. */
export function openMultimap<Key, Value extends string>(): Multimap<Key, Value> {
  const held = new Map<Key, Value | Set<Value>>()
  return {
    add(key, value) {
      const found = held.get(key)
      if (found instanceof Set) found.add(value)
      else if (found === undefined) held.set(key, value)
      else if (found !== value) held.set(key, new Set([found, value]))
    },
    delete(key, value) {
      const found = held.get(key)
      if (found instanceof Set) found.delete(value)
      if (found === value || (found instanceof Set && found.size === 0)) held.delete(key)
    },
    get(key) {
      const found = held.get(key)
      return found instanceof Set ? found : new Set(found === undefined ? [] : [found])
    },
  }
}
