import { type Arbitrary, assert, constantFrom, dictionary, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { KINDS, type Values } from '../value.ts'
import { changesBetween, differencesIn } from './difference.ts'

const SOME = dictionary(constantFrom('a', 'b', 'c', 'd'), constantFrom('1', '2', ''))
const VALUES: Arbitrary<Values> = record({ tenants: SOME, keys: SOME, templates: SOME }).map(
  ({ tenants, keys, templates }) => ({
    tenants: new Map(Object.entries(tenants)),
    keys: new Map(Object.entries(keys)),
    templates: new Map(Object.entries(templates)),
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
      for (const kind of KINDS) expect(made[kind]).toEqual(after[kind])
    }),
  )
})

test('a kind whose map is the same is not looked at', () => {
  const unread = new Proxy(new Map<string, string>(), {
    get: () => {
      throw new Error('it was looked at')
    },
  })
  const before = { tenants: new Map([['a', '1']]), keys: unread, templates: unread }
  const after = { ...before, tenants: new Map([['b', '1']]) }
  expect(differencesIn(changesBetween(before, after))).toEqual([
    { kind: 'tenants', name: 'b', change: 'added' },
    { kind: 'tenants', name: 'a', change: 'removed' },
  ])
  expect(() => changesBetween(before, { ...after, keys: new Map() })).toThrow('it was looked at')
})
