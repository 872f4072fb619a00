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

test.for([
  ['an element', { line: 2, element: 'Text' }, '2:3'],
  ['its prop', { line: 2, element: 'Text', prop: 'style' }, '2:9'],
  ['a prop on a later line', { line: 2, element: 'Text', prop: 'wrap' }, '3:3'],
  ['the element where its prop is spread', { line: 2, element: 'Text', prop: 'id' }, '2:3'],
  ['the one of two that has the prop', { line: 5, element: 'View', prop: 'debug' }, '5:20'],
  ['the first of two otherwise', { line: 5, element: 'View' }, '5:1'],
  ['an element of a namespace', { line: 6, element: 'Text' }, '6:1'],
  ['no longer name', { line: 7, element: 'Text' }, '7'],
  ['no name that is a pattern', { line: 2, element: '.*', prop: '(' }, '2'],
  ['nothing past the end', { line: 99, element: 'Text' }, '99'],
] as const)('finds %s', ([, spot, place]) => {
  const { find } = transpile(
    'const a = (<>\n  <Text style={{ wrap: 1 }}\n  wrap={false}>x</Text></>)\nconst b = (<>\n<View></View><View debug />\n<PDF.Text />\n<TextInput />\n</>)',
  )
  expect(find(spot)).toBe(`template.tsx:${place}`)
})
