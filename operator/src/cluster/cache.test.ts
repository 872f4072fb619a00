import { beforeEach, describe, expect, test } from 'vitest'
import { Cache, type ObjectChange } from './cache.ts'
import type { KubeObject } from './object.ts'

interface Note {
  readonly text: string
}

let received: ObjectChange<Note>[]
let unreadable: string[]
let isDeaf: boolean
let cache: Cache<Note>
beforeEach(() => {
  received = []
  unreadable = []
  isDeaf = false
  cache = new Cache<Note>({
    read({ text }) {
      if (typeof text !== 'string') throw new Error('it has no text')
      return { text }
    },
    onChange(change) {
      if (isDeaf) throw new Error('not now')
      received.push(change)
    },
    onUnreadable: (key) => unreadable.push(key),
  })
})

let version = 0
function note(name: string, text?: string, uid = `uid-${name}`): KubeObject {
  version += 1
  return { metadata: { name, namespace: 'team', uid, resourceVersion: `${version}` }, text }
}

function replaceBy(...objects: KubeObject[]): void {
  cache.replace(objects.map((object) => cache.toEntry(object)))
}

/** Returns the changes reported since the last call: `name: before → after`. */
function changes(): string[] {
  return received.splice(0).map(({ key, before, after, isLive }) => {
    return `${key}: ${before?.text ?? '-'} → ${after?.text ?? '-'}${isLive ? '' : ' (listed)'}`
  })
}

describe('what happens', () => {
  test('is reported with the state before it, and once', () => {
    const made = note('a', 'one')
    cache.set(made)
    cache.set(made)
    cache.set(note('a', 'two'))
    cache.remove(made)
    cache.remove(made)
    expect(changes()).toEqual(['team/a: - → one', 'team/a: one → two', 'team/a: two → -'])
    expect([...cache.values()]).toEqual([])
  })

  test('between two lists is reported by the second', () => {
    const kept = note('kept', 'same')
    replaceBy(kept, note('changed', 'one'), note('gone', 'one'), note('made-anew', 'one', 'first'))
    changes()
    replaceBy(kept, note('changed', 'two'), note('new', 'one'), note('made-anew', 'one', 'second'))
    expect(changes()).toEqual([
      'team/changed: one → two (listed)',
      'team/new: - → one (listed)',
      'team/made-anew: one → one (listed)',
      'team/gone: one → - (listed)',
    ])
    expect(Array.from(cache.values(), ({ text }) => text)).toEqual(['same', 'two', 'one', 'one'])
  })
})

describe('what cannot be read', () => {
  test('is left out, and reported once until it can be read', () => {
    cache.set(note('a'))
    cache.set(note('a'))
    replaceBy(note('a'))
    expect({ unreadable, changes: changes(), values: [...cache.values()] }).toEqual({
      unreadable: ['team/a'],
      changes: [],
      values: [],
    })
    cache.set(note('a', 'one'))
    cache.set(note('a'))
    expect({ unreadable, changes: changes() }).toEqual({
      unreadable: ['team/a', 'team/a'],
      changes: ['team/a: - → one'],
    })
  })

  test('stays as it was read last, until it is gone', () => {
    cache.set(note('a', 'one'))
    cache.set(note('a'))
    expect(cache.get('team/a')).toEqual({ text: 'one' })
    replaceBy(note('a'))
    expect(cache.get('team/a')).toEqual({ text: 'one' })
    expect(changes()).toEqual(['team/a: - → one'])
    cache.remove(note('a'))
    expect(changes()).toEqual(['team/a: one → -'])
  })

  test('leaves nothing of another object that had its name', () => {
    cache.set(note('a', 'one', 'first'))
    replaceBy(note('a', undefined, 'second'))
    expect(changes()).toEqual(['team/a: - → one', 'team/a: one → - (listed)'])
  })
})

describe('a change that could not be reported', () => {
  test('has not happened, and is reported by the next attempt', () => {
    cache.set(note('a', 'one'))
    isDeaf = true
    const changed = note('a', 'two')
    expect(() => cache.set(changed)).toThrow('not now')
    expect(() => cache.remove(changed)).toThrow('not now')
    expect(cache.get('team/a')).toEqual({ text: 'one' })
    isDeaf = false
    cache.set(changed)
    expect(changes()).toEqual(['team/a: - → one', 'team/a: one → two'])
  })

  test('takes the whole list with it', () => {
    replaceBy(note('a', 'one'))
    isDeaf = true
    const listed = [note('b', 'one'), note('c', 'one')]
    expect(() => replaceBy(...listed)).toThrow('not now')
    isDeaf = false
    replaceBy(...listed)
    expect(changes()).toEqual([
      'team/a: - → one (listed)',
      'team/b: - → one (listed)',
      'team/c: - → one (listed)',
      'team/a: one → - (listed)',
    ])
  })
})
