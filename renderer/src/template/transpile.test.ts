import { expect, test } from 'vitest'
import { transpile } from './transpile.ts'

test('keeps every line of the source where it was', () => {
  const source =
    "import type { Row } from './row'\ninterface Data {\n  a: string\n}\nconst x: number = 1\nthrow new Error(`${x}`)"
  const lines = transpile(source).code.split('\n')
  expect(lines.findIndex((line) => line.includes('throw new Error'))).toBe(5)
})

test('tells the place in the source of a place in the code', () => {
  const { code, locate } = transpile('const total = (rows: readonly number[]): number => rows.missing.length')
  expect(locate(1, code.indexOf('missing') + 1)).toBe('template.tsx:1:57')
})

test.for([
  ['an element that is not closed', 'const a = 1\nconst b = <View', /^template\.tsx:2:\d+: /],
  ['an attribute without a value', 'const b = <View\n  style=}', /^template\.tsx:2:9: Unexpected token$/],
  ['a bracket too many', 'const a = [1]]', /^template\.tsx:1:14: Unexpected token/],
] as const)('names the place of %s', ([, source, message]) => {
  expect(() => transpile(source)).toThrow(
    expect.objectContaining({ code: 'template_error', message: expect.stringMatching(message) }),
  )
})
