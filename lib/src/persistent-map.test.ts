import { array, assert, constantFrom, option, property, string, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import { type MappedShards, PersistentMap } from './persistent-map.ts'

const CHANGES = array(tuple(constantFrom('a', 'b', 'c', 'd', 'e'), option(string(), { nil: undefined })))

test('is what a map would be after the same changes, and stays what it was', () => {
  assert(
    property(array(CHANGES), (rounds) => {
      let [map, model] = [PersistentMap.of<string, string>(), new Map<string, string>()]
      for (const changes of rounds) {
        const [before, was] = [map, new Map(model)]
        map = map.with(changes)
        for (const [name, value] of changes) {
          if (value === undefined) model.delete(name)
          else model.set(name, value)
        }
        expect(new Map(map)).toEqual(model)
        expect(new Map(before)).toEqual(was)
        expect([map.size, new Set(map.keys()), map.values().toArray().sort()]).toEqual([
          model.size,
          new Set(model.keys()),
          [...model.values()].sort(),
        ])
        for (const name of 'abcdef') expect([map.get(name), map.has(name)]).toEqual([model.get(name), model.has(name)])
        const each: [string, string][] = []
        map.forEach((value, name) => each.push([name, value]))
        expect(new Map(each)).toEqual(model)
      }
    }),
  )
})

const MANY = Array.from({ length: 10_000 }, (_, number): [string, number] => [`tenant-${number}`, number])

test('shares what is not changed: one change of thousands concerns a few dozen', () => {
  const before = PersistentMap.of(MANY)
  const after = before.with([['tenant-7', -7]])
  const differing = [...before.differingShards(after)]
  expect(differing).toHaveLength(1)
  const [[old, now] = []] = differing
  expect([old?.get('tenant-7'), now?.get('tenant-7')]).toEqual([7, -7])
  expect(old?.size).toBeLessThan(100)
  expect([...after.differingShards(after.with([]))]).toEqual([])
})

test('is made into another by what was made of it before', () => {
  let count = 0
  const double = (value: number) => {
    count++
    return 2 * value
  }
  const made: MappedShards<string, number, number> = new WeakMap()
  const before = PersistentMap.of(MANY)
  expect(before.map(double, made).get('tenant-9')).toBe(18)
  expect(count).toBe(MANY.length)
  const after = before.with([['tenant-9', 1]]).map(double, made)
  expect([after.get('tenant-9'), after.get('tenant-8'), after.size]).toEqual([2, 16, MANY.length])
  expect(count).toBeLessThan(MANY.length + 100)
})
