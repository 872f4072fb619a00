import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { linesOf, readWhole, TooLargeError } from './stream.ts'

async function* piecesOf(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0
  for (const length of lengths) {
    yield bytes.subarray(from, from + length)
    from += length
  }
  yield bytes.subarray(from)
}

const LENGTHS = fc.array(fc.integer({ min: 0, max: 7 }))
const ROOMY = 1000

test('lines are the same however they are cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('', 'a', 'äöü', '{"a":1}', '🖋')), LENGTHS, async (lines, lengths) => {
      const whole = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      expect(await Array.fromAsync(linesOf(piecesOf(whole, lengths), ROOMY))).toEqual(
        lines.filter((line) => line !== ''),
      )
      expect(await readWhole(piecesOf(whole, lengths), ROOMY)).toBe(whole.toString())
    }),
  )
})

test('what was cut off is given as it is', async () => {
  expect(await Array.fromAsync(linesOf(piecesOf(Buffer.from('ab\ncd'), [4]), ROOMY))).toEqual(['ab', 'cd'])
})

test('a line may be as long as there is room, and no longer', async () => {
  const line = (bytes: number) => Array.fromAsync(linesOf(piecesOf(Buffer.alloc(bytes, 'a'), [5, 5]), 20))
  expect(await line(20)).toHaveLength(1)
  await expect(line(21)).rejects.toThrow(TooLargeError)
})

test('a body may be as long as there is room, and no longer', async () => {
  const body = (bytes: number) => readWhole(piecesOf(Buffer.alloc(bytes, 'a'), [5, 5]), 20)
  expect(await body(20)).toHaveLength(20)
  await expect(body(21)).rejects.toThrow(TooLargeError)
})
