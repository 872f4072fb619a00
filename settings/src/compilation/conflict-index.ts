/**
 * An index of the exclusive names that resources want. Out of thousands, it finds the few that decide whether one resource gets its name:
 * those that conflict with it, those that conflict with these, and so on.
 */
import type { Uid } from '@platen/contract/domain/resource.ts'

export interface ConflictIndex {
  readonly set: (uid: Uid, names: readonly string[]) => void
  /** Adds all resources that conflict with these, directly or through others. */
  readonly withConflicting: (uids: Iterable<Uid>) => ReadonlySet<Uid>
}

/** Returns the names that contain a name. */
export type AncestorsOf = (name: string) => readonly string[]

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
      // Iterating a set also visits elements added during the loop.
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

interface Multimap<Key, Value extends string> {
  readonly add: (key: Key, value: Value) => void
  readonly delete: (key: Key, value: Value) => void
  readonly get: (key: Key) => ReadonlySet<Value>
}

/**
 * A map from one key to many values. Most keys have one value, which is stored without a set: with tens of thousands of keys, sets would
 * take most of the memory.
 */
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
