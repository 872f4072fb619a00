/**
 * Who claims what only one can have. Of thousands of resources it finds the few that have a say in whether one of them has its claim:
 * those it overlaps with, those they overlap with, and so on.
 */
import type { Uid } from '@platen/contract/resource.ts'

export interface ConflictIndex {
  /** Replaces the claims of a resource, each the name of what is claimed. */
  readonly set: (uid: Uid, names: readonly string[]) => void
  /** Adds all to these whose claims overlap, as far as that leads. */
  readonly withConflicting: (uids: Iterable<Uid>) => ReadonlySet<Uid>
}

/** The names a name is a part of. */
export type AncestorsOf = (name: string) => readonly string[]

/** An index of nobody's claims. */
export function openConflictIndex(ancestorsOf: AncestorsOf): ConflictIndex {
  const namesOf = openMultimap<Uid, string>()
  const byName = openMultimap<string, Uid>()
  const byDescendant = openMultimap<string, Uid>()
  return {
    set(uid, next) {
      for (const name of namesOf.get(uid)) {
        namesOf.delete(uid, name)
        byName.delete(name, uid)
        for (const ancestor of ancestorsOf(name)) byDescendant.delete(ancestor, uid)
      }
      for (const name of next) {
        namesOf.add(uid, name)
        byName.add(name, uid)
        for (const ancestor of ancestorsOf(name)) byDescendant.add(ancestor, uid)
      }
    },
    withConflicting(uids) {
      const found = new Set(uids)
      // A set gives what is added to it while it is walked, too.
      for (const uid of found) {
        for (const name of namesOf.get(uid)) {
          for (const other of byDescendant.get(name)) found.add(other)
          for (const taken of [name, ...ancestorsOf(name)]) for (const other of byName.get(taken)) found.add(other)
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
