import { createHash } from 'node:crypto'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { assert, jsonValue, property } from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, digestOf } from './digest.ts'

test.for([
  [{ b: 1, a: [null, true, 'x'] }, '{"a":[null,true,"x"],"b":1}'],
  [{ a: undefined, b: {} }, '{"b":{}}'],
  // By code units (RFC 8785): the first half of the emoji sorts before the ligature.
  [{ '\ufb33': 1, '\u{1f600}': 2, '\u20ac': 3 }, '{"\u20ac":3,"\u{1f600}":2,"\ufb33":1}'],
  [{ a: 1e21, b: -0, c: 0.1 }, '{"a":1e+21,"b":0,"c":0.1}'],
] as const)('%j is spelled %s', ([value, spelling]) => {
  expect(canonicalJson(value)).toBe(spelling)
})

test('means what it was made of', () => {
  const means = property(jsonValue(), (value) => {
    expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
  })
  assert(means)
})

test('the digest is that of the bytes that are stored', () => {
  const source = { version: 1, name: 'Invoice', code: 'invoice' as TemplateCode, options: {} }
  const bytes = '{"code":"invoice","name":"Invoice","options":{},"version":1}'
  expect(digestOf(source)).toBe(createHash('sha256').update(bytes).digest('hex'))
})
