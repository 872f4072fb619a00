import { PersistentMap } from '@platen/lib/persistent-map.ts'
import { type Arbitrary, assert, constantFrom, dictionary, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { KINDS, type Values } from '../value.ts'
import { changesBetween, differencesIn } from './difference.ts'

const SOME = dictionary(constantFrom('a', 'b', 'c', 'd'), constantFrom('1', '2', ''))
const VALUES: Arbitrary<Values> = record({ tenants: SOME, keys: SOME, templates: SOME }).map(
  ({ tenants, keys, templates }) => ({
    tenants: PersistentMap.of(Object.entries(tenants)),
    keys: PersistentMap.of(Object.entries(keys)),
    templates: PersistentMap.of(Object.entries(templates)),
  }),
)

test('the changes between values make those before those after, and each is called what it is', () => {
  assert(
    property(VALUES, VALUES, (before, after) => {
      const made = Object.fromEntries(KINDS.map((kind) => [kind, new Map(before[kind])]))
      for (const { kind, name, text, change } of changesBetween(before, after)) {
        const known = before[kind].get(name)
        expect(text).not.toBe(known ?? null)
        expect(change).toBe(text === null ? 'removed' : known === undefined ? 'added' : 'changed')
        if (text === null) made[kind]?.delete(name)
        else made[kind]?.set(name, text)
      }
      for (const kind of KINDS) expect(made[kind]).toEqual(new Map(after[kind]))
    }),
  )
})

/** Replaces every shard of a map by one that throws when it is read. */
class UnreadShards extends WeakMap<ReadonlyMap<string, string>, ReadonlyMap<string, string>> {
  readonly #shard = new Proxy(new Map<string, string>(), {
    get: (_shard, property) => {
      if (property === 'size') return 0
      throw new Error('it was looked at')
    },
  })

  override get(): ReadonlyMap<string, string> {
    return this.#shard
  }
}

test('what both share is not looked at', () => {
  const unread = PersistentMap.of<string, string>().map((value) => value, new UnreadShards())
  const before = { tenants: PersistentMap.of([['a', '1']]), keys: unread, templates: unread }
  const after = { ...before, tenants: PersistentMap.of([['c', '1']]) }
  expect(new Set(differencesIn(changesBetween(before, after)))).toEqual(
    new Set([
      { kind: 'tenants', name: 'a', change: 'removed' },
      { kind: 'tenants', name: 'c', change: 'added' },
    ]),
  )
  expect(() => changesBetween(before, { ...after, keys: PersistentMap.of() })).toThrow('it was looked at')
})
