import { expect, test } from 'vitest'
import { openLruCache, tenantPart } from './lru-cache.ts'

const aCache = () => openLruCache<string>(10, ({ length }) => length)

test('gives back what was set, until it is set anew', () => {
  const kept = aCache()
  expect(kept.get('a')).toBeUndefined()
  expect(kept.set('a', 'one')).toBe('one')
  kept.set('a', 'two')
  expect(kept.get('a')).toBe('two')
})

test('gives up the values used longest ago, and counts each once', () => {
  const kept = aCache()
  kept.set('a', '1234')
  kept.set('b', '1234')
  kept.set('b', '12345')
  kept.get('a')
  kept.set('c', '12')
  expect(['a', 'b', 'c'].map((key) => kept.get(key))).toEqual(['1234', undefined, '12'])
})

test('hands over a value that is larger than all it may keep, and keeps none', () => {
  const kept = aCache()
  kept.set('a', '1')
  expect(kept.set('b', '12345678901')).toBe('12345678901')
  expect([kept.get('a'), kept.get('b')]).toEqual([undefined, undefined])
})

test('counts each value as one by default', () => {
  const kept = openLruCache<string>(2)
  for (const key of ['a', 'b', 'c']) kept.set(key, 'a long value')
  expect([kept.size, kept.get('a'), kept.get('b')]).toEqual([2, undefined, 'a long value'])
})

test('does not mark a value that is only peeked at', () => {
  const kept = openLruCache<string>(2)
  kept.set('a', 'one')
  kept.set('b', 'two')
  expect(kept.peek('a')).toBe('one')
  kept.set('c', 'three')
  expect([kept.peek('a'), kept.peek('b')]).toEqual([undefined, 'two'])
})

test('weighs a value again when it is set again, since it may have grown', () => {
  const kept = openLruCache<string[]>(3, ({ length }) => length)
  const growing = kept.set('a', ['1'])
  kept.set('b', ['1', '2'])
  growing.push('2')
  expect(kept.size).toBe(3)
  kept.set('a', growing)
  expect([kept.size, kept.get('b')]).toEqual([2, undefined])
})

test('keeps the values of each tenant apart, and counts them together', () => {
  const kept = aCache()
  const [acme, other] = ['acme', 'other'].map((tenant) => tenantPart(kept, tenant))
  acme?.set('a', '12345')
  expect([acme?.get('a'), other?.get('a')]).toEqual(['12345', undefined])
  other?.set('a', '123456')
  expect([acme?.get('a'), other?.get('a')]).toEqual([undefined, '123456'])
})
