import { BODIES_BYTES_MAX, BODIES_OF_ONE_KEY_BYTES_MAX } from '@platen/contract/api-limit.ts'
import { BODY_BYTES_MAX } from '@platen/contract/limit.ts'
import { expect, test } from 'vitest'
import { openBodyRoom } from './body-room.ts'

const codeOf = (act: () => void): unknown => {
  try {
    act()
    return undefined
  } catch (error) {
    return Object(error).code
  }
}

test('a key has room for some of the largest bodies, and for more when they are answered', () => {
  const room = openBodyRoom()
  const shares = Array.from({ length: 3 }, () => room.share('a'))
  for (const share of shares) share.take(BODY_BYTES_MAX)
  expect(codeOf(() => room.share('a').take(BODIES_OF_ONE_KEY_BYTES_MAX - 3 * BODY_BYTES_MAX + 1))).toBe('RATE_LIMITED')
  expect(codeOf(() => room.share('b').take(BODY_BYTES_MAX))).toBeUndefined()
  shares[0]?.[Symbol.dispose]()
  shares[0]?.[Symbol.dispose]()
  const next = room.share('a')
  expect(codeOf(() => next.take(BODY_BYTES_MAX))).toBeUndefined()
  expect(codeOf(() => next.take(BODY_BYTES_MAX))).toBeUndefined()
  expect(codeOf(() => room.share('a').take(BODY_BYTES_MAX))).toBe('RATE_LIMITED')
})

test('all keys together have no more than the process has', () => {
  const room = openBodyRoom()
  const keys = Array.from({ length: BODIES_BYTES_MAX / BODIES_OF_ONE_KEY_BYTES_MAX }, (_, at) => `key ${at}`)
  for (const key of keys) room.share(key).take(BODIES_OF_ONE_KEY_BYTES_MAX)
  expect(codeOf(() => room.share('another').take(1))).toBe('RENDER_UNAVAILABLE')
})
