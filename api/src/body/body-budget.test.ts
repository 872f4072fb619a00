import { BODY_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { expect, test } from 'vitest'
import { openBodyBudget } from './body-budget.ts'
import { BODIES_BYTES_MAX, BODIES_OF_ONE_KEY_BYTES_MAX } from './limit.ts'

const codeOf = (act: () => void): unknown => {
  try {
    act()
    return undefined
  } catch (error) {
    return Object(error).code
  }
}

test('a key has room for some of the largest bodies, and for more when they are answered', () => {
  const room = openBodyBudget({ held: () => {} })
  const shares = Array.from({ length: 3 }, () => room.open('a'))
  for (const share of shares) share.charge(BODY_BYTES_MAX)
  expect(codeOf(() => room.open('a').charge(BODIES_OF_ONE_KEY_BYTES_MAX - 3 * BODY_BYTES_MAX + 1))).toBe('RATE_LIMITED')
  expect(codeOf(() => room.open('b').charge(BODY_BYTES_MAX))).toBeUndefined()
  shares[0]?.[Symbol.dispose]()
  shares[0]?.[Symbol.dispose]()
  const next = room.open('a')
  expect(codeOf(() => next.charge(BODY_BYTES_MAX))).toBeUndefined()
  expect(codeOf(() => next.charge(BODY_BYTES_MAX))).toBeUndefined()
  expect(codeOf(() => room.open('a').charge(BODY_BYTES_MAX))).toBe('RATE_LIMITED')
})

test('all keys together have no more than the process has', () => {
  const room = openBodyBudget({ held: () => {} })
  const keys = Array.from({ length: BODIES_BYTES_MAX / BODIES_OF_ONE_KEY_BYTES_MAX }, (_, at) => `key ${at}`)
  for (const key of keys) room.open(key).charge(BODIES_OF_ONE_KEY_BYTES_MAX)
  expect(codeOf(() => room.open('another').charge(1))).toBe('RENDER_UNAVAILABLE')
})
