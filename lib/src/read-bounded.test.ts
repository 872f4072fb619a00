import { expect, test } from 'vitest'
import { readBounded } from './read-bounded.ts'

/** A body in pieces of five bytes, and how many of them were taken. */
function aBody(length: number) {
  const body = { taken: 0, pieces }
  async function* pieces() {
    for (let at = 0; at < length; at += 5) {
      body.taken += 1
      yield Buffer.alloc(Math.min(5, length - at), 'a')
    }
  }
  return body
}

test.for([0, 4, 20])('a body of %i bytes is read, where 20 are allowed', async (length) => {
  expect(await readBounded(aBody(length).pieces(), 20)).toEqual(Buffer.alloc(length, 'a'))
})

test('a longer body is not read further than its limit', async () => {
  const body = aBody(1000)
  expect(await readBounded(body.pieces(), 20)).toBeUndefined()
  expect(body.taken).toBe(5)
})

test('the fault of a source is thrown', async () => {
  const cut = async function* () {
    yield Buffer.from('a')
    throw new Error('cut off')
  }
  await expect(readBounded(cut(), 20)).rejects.toThrow('cut off')
})
