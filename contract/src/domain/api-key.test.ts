import { describe, expect, test } from 'vitest'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { environmentReader, hashOfKey, keyIdOf, keyPrefix, newApiKey, parseKeyHash, shownPartOf } from './api-key.ts'
import type { Environment } from './tenant.ts'

const ENVIRONMENTS: readonly Environment[] = ['live', 'test']
const environmentOf = environmentReader('acme')

test.for(ENVIRONMENTS)('a new %s key is one of its environment', (environment) => {
  const ids = seededIds(environment)
  const key = newApiKey('acme', environment, ids)
  expect(key).toMatch(new RegExp(`^acme_${environment}_[0-9A-Za-z]{43}$`))
  expect(environmentOf(key)).toBe(environment)
  expect(newApiKey('acme', environment, ids)).not.toBe(key)
})

test.for([
  ['33 characters', `acme_live_${'a'.repeat(33)}`, 'live'],
  ['128 characters', `acme_live_${'a'.repeat(128)}`, 'live'],
  ['32 characters', `acme_live_${'a'.repeat(32)}`, undefined],
  ['129 characters', `acme_live_${'a'.repeat(129)}`, undefined],
  ['another brand', `other_live_${'a'.repeat(43)}`, undefined],
  ['another environment', `acme_prod_${'a'.repeat(43)}`, undefined],
  ['another letter', `acme_live_${'a'.repeat(42)}-`, undefined],
  ['something before it', ` acme_live_${'a'.repeat(43)}`, undefined],
  ['a line end', `acme_live_${'a'.repeat(43)}\n`, undefined],
] as const)('a key of %s: %s is of %s', ([, text, environment]) => {
  expect(environmentOf(text)).toBe(environment)
})

describe('of a key', () => {
  const key = `acme_live_${'abcdefg'.repeat(6)}`
  const hash = hashOfKey(key)

  test('the hash is read as it is written', () => {
    expect(parseKeyHash(hash)).toBe(hash)
  })

  test.for(['', hash.toUpperCase(), `${hash}0`, hash.slice(1), `sha256:${hash}`, `${hash}\n`])(
    '%j is no hash',
    (text) => {
      expect(parseKeyHash(text)).toBeUndefined()
    },
  )

  test('no more is shown than it takes to recognise it', () => {
    expect(shownPartOf(key, keyPrefix('acme', 'live'))).toBe('acme_live_abcd')
    expect(hash.startsWith(keyIdOf(hash))).toBe(true)
    expect(keyIdOf(hash)).toHaveLength(12)
  })
})
