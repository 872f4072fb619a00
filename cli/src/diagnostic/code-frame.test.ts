import { expect, test } from 'vitest'
import { codeFrame, type Excerpt } from './code-frame.ts'

const SOURCE = 'one\ntwo\n  three()\nfour\nfive\nsix\n'
const frame = (excerpt: Partial<Excerpt>) => codeFrame({ text: SOURCE, firstLine: 1, line: 3, ...excerpt }).join('\n')

test('shows two lines on each side, and a caret under the column', () => {
  expect(frame({ column: 3 })).toBe(`\
  1 | one
  2 | two
> 3 |   three()
    |   ^
  4 | four
  5 | five`)
})

test('numbers lines as those of the file the text begins in', () => {
  expect(frame({ firstLine: 97, line: 4, column: 4 })).toBe(`\
   98 | two
   99 |   three()
> 100 | four
      |    ^
  101 | five
  102 | six`)
})

test.for([
  ['the first line', { line: 1, column: 1 }, '> 1 | one\n    | ^\n  2 | two\n  3 |   three()'],
  ['the last line', { line: 6, column: 3 }, '  4 | four\n  5 | five\n> 6 | six\n    |   ^'],
  ['a line alone', { line: 6 }, '  4 | four\n  5 | five\n> 6 | six'],
  ['a column past the end', { line: 6, column: 99 }, '  4 | four\n  5 | five\n> 6 | six\n    |    ^'],
  ['an empty line', { text: 'a\n\nb', line: 2, column: 1 }, '  1 | a\n> 2 |\n    | ^\n  3 | b'],
  ['Windows’ line ends', { text: 'a\r\nb\r\n', line: 2, column: 1 }, '  1 | a\n> 2 | b\n    | ^'],
  ['a text without lines', { text: '', line: 1, column: 1 }, '> 1 |\n    | ^'],
  ['a line that is not there', { line: 7, column: 1 }, ''],
  ['line 0', { line: 0 }, ''],
] as const)('shows %s', ([, excerpt, shown]) => {
  expect(frame(excerpt)).toBe(shown)
})

test('puts the caret under characters of other widths', () => {
  expect(frame({ text: '\tx', line: 1, column: 2 })).toBe('> 1 |  x\n    |  ^')
  expect(frame({ text: '日本x', line: 1, column: 3 })).toBe('> 1 | 日本x\n    |     ^')
  expect(frame({ text: 'e\u0301x', line: 1, column: 3 })).toBe('> 1 | e\u0301x\n    |  ^')
})

test('shows no control character of the text', () => {
  const text = 'a\u001b[31mb\u0007c\u009bd\u2028e\u202ef'
  expect(frame({ text, line: 1, column: 9 })).toBe('> 1 | a�[31mb�c�d�e�f\n    |         ^')
})

test('shows the part of a long line that matters', () => {
  const text = `short\n${'x'.repeat(300)}!${'y'.repeat(100_000)}`
  expect(frame({ text, line: 2, column: 301 }).split('\n')).toEqual([
    '  1 |',
    `> 2 | ${'x'.repeat(60)}!${'y'.repeat(39)}`,
    `    | ${' '.repeat(60)}^`,
  ])
  expect(frame({ text, line: 2, column: 5 }).split('\n')[2]).toBe('    |     ^')
})
