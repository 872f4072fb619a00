import { expect, test } from 'vitest'
import { FORMAT, FORMAT_DEFAULT, inFormat, NewerFormat, newerFormat, requireReadable } from './format.ts'
import { decodeClaim } from './idempotency.ts'
import { decodeManifest } from './render.ts'

test('a version writes by default what it and the version before read', () => {
  expect([FORMAT - 1, FORMAT]).toContain(FORMAT_DEFAULT)
})

test.for([
  ['the format of this version', FORMAT, undefined],
  ['the text of it', String(FORMAT), undefined],
  ['the next one', FORMAT + 1, FORMAT + 1],
  ['the text of the next one', String(FORMAT + 1), FORMAT + 1],
  ['nothing', undefined, undefined],
  ['no number', 'new', undefined],
  ['not a number', Number.NaN, undefined],
  ['a text that is too long', '9'.repeat(10), undefined],
  ['a list', [FORMAT + 1], undefined],
] as const)('%s is newer or not', ([, stated, newer]) => {
  expect(newerFormat(stated)).toBe(newer)
})

test('an object states its format from the second on, and reads the same', () => {
  const stored = { id: 'a' }
  expect(inFormat(stored, 1)).toStrictEqual(stored)
  expect(inFormat(stored, 2)).toStrictEqual({ version: 2, id: 'a' })
  expect(() => requireReadable(stored)).not.toThrow()
  expect(() => requireReadable(inFormat(stored, FORMAT))).not.toThrow()
  expect(() => requireReadable(inFormat(stored, FORMAT + 1))).toThrow(new NewerFormat(FORMAT + 1))
})

test.for([
  ['a manifest', decodeManifest],
  ['an idempotency claim', decodeClaim],
] as const)('%s of a newer format is not taken for a damaged one, whatever it has become', ([, decode]) => {
  const newer = Buffer.from(JSON.stringify({ version: FORMAT + 1, everything: 'is different' }))
  expect(() => decode(newer)).toThrow(new NewerFormat(FORMAT + 1))
})
